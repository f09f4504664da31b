// Bytes of a text file -> UTF-8 text that is fit for parsers: a byte order mark is taken off, UTF-16 and Windows-1252
// (which Latin-1 is a part of) are converted, lines that end in CR alone end in LF.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/preparation.h"

namespace muster {

// Text that a parser may read without looking for the end at each step: unless empty it ends in '\n', and bytes of
// value 0 follow that may be read.
class TextBuffer {
 public:
  static constexpr std::size_t kPadding = 16;

  // Room for `capacity` bytes, not initialised.
  explicit TextBuffer(std::size_t capacity)
      : bytes_(std::make_unique_for_overwrite<char[]>(capacity + 1 + kPadding)), capacity_(capacity) {}

  [[nodiscard]] char* data() { return bytes_.get(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  // The first `size` bytes are the text, without the first `skipped` ones. Precondition: skipped <= size <= capacity.
  void finish(std::size_t size, std::size_t skipped = 0);
  [[nodiscard]] std::string_view text() const { return {bytes_.get() + begin_, end_ - begin_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

struct DecodedText {
  TextBuffer buffer;
  TextEncoding encoding = TextEncoding::kUtf8;
  std::vector<std::string> notes;
};

// Fails on what cannot be text of these kinds.
[[nodiscard]] Result<DecodedText> decode_text(std::string_view bytes);
// The same for a file, unpacked if it is packed with gzip. Errors name the file.
[[nodiscard]] Result<DecodedText> read_text(const std::filesystem::path& path);

}  // namespace muster
