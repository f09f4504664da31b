// The files of the page, as they are embedded in the binary.
#pragma once

#include <span>
#include <string_view>

namespace muster {

struct PageAsset {
  std::string_view name;
  const char* type;
  std::string_view text;
};

// What is served below /assets/.
[[nodiscard]] std::span<const PageAsset> page_assets();
// The document that all addresses of the page have in common.
[[nodiscard]] std::string_view page_html();

}  // namespace muster
