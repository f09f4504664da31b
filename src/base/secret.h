// Secret: text that is wiped from memory when nobody needs it any more, and files that only their owner can read.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

class Secret {
 public:
  Secret() = default;
  // Takes room for `size` bytes, and never more: growing would leave a copy behind.
  explicit Secret(std::size_t size) : text_(size, '\0') {}
  explicit Secret(std::string_view text) : text_(text) {}
  ~Secret();
  Secret(Secret&& other) noexcept { text_.swap(other.text_); }
  Secret& operator=(Secret&& other) noexcept {
    text_.swap(other.text_);
    return *this;
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] char* data() { return text_.data(); }

 private:
  std::string text_;
};

// Creates the file with mode 0600 and flushes it to disk; fails if it exists.
[[nodiscard]] Status write_secret(const std::filesystem::path& path, const Secret& secret);
// Fails, naming file and mode, if others than the owner may read or write it.
[[nodiscard]] Result<Secret> read_secret(const std::filesystem::path& path);

}  // namespace muster
