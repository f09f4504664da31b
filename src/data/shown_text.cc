#include "data/shown_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace muster {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<std::uint8_t>(text[i]);
}

// C0, DEL and C1 (U+0080 to U+009F), the line separators U+2028 and U+2029, and marks that turn the direction of
// writing.
bool is_control(std::string_view character) {
  const std::uint8_t first = byte_at(character, 0);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  if (character.size() == 2) return (first == 0xc2 && byte_at(character, 1) < 0xa0) || character == "\xd8\x9c";
  if (character.size() != 3 || first != 0xe2) return false;
  const std::uint8_t second = byte_at(character, 1);
  const std::uint8_t third = byte_at(character, 2);
  if (second == 0x80) return (third >= 0xa8 && third <= 0xae) || third == 0x8e || third == 0x8f;
  return second == 0x81 && third >= 0xa6 && third <= 0xa9;
}

}  // namespace

std::size_t utf8_character(std::string_view text) {
  if (text.empty()) return 0;
  const std::uint8_t first = byte_at(text, 0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
  }
  // Longer than needed, a surrogate, or beyond U+10FFFF.
  const std::uint8_t second = byte_at(text, 1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return size;
}

std::string shown_text(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = utf8_character(text.substr(i));
    const std::string_view character = text.substr(i, std::max<std::size_t>(size, 1));
    if (size > 0 && !is_control(character)) {
      shown += character;
    } else if (character == "\n") {
      shown += "\\n";
    } else if (character == "\t") {
      shown += "\\t";
    } else if (character == "\r") {
      shown += "\\r";
    } else {
      for (std::size_t k = 0; k < character.size(); ++k) shown += fmt::format("\\x{:02x}", byte_at(character, k));
    }
    i += character.size();
  }
  return shown;
}

}  // namespace muster
