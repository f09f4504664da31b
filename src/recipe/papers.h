// The papers' tables and figures that can be reproduced, and the settings they were made in, as texts. What a text may
// say is in engine/reproduction_target.h.
#pragma once

#include <span>
#include <string_view>

namespace muster {

struct BuiltInPaper {
  std::string_view name;  // of the file: "fedgsp" holds the settings, "fedgsp-table1" a target
  std::string_view toml;
};
[[nodiscard]] std::span<const BuiltInPaper> built_in_papers();

}  // namespace muster
