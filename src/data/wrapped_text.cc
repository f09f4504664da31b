#include "data/wrapped_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "data/shown_text.h"

namespace muster {
namespace {

// East Asian Wide and Fullwidth (Unicode TR 11), and pictures.
constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 10> kWide{{{0x1100, 0x115f},
                                                                         {0x2e80, 0xa4cf},
                                                                         {0xac00, 0xd7a3},
                                                                         {0xf900, 0xfaff},
                                                                         {0xfe30, 0xfe6f},
                                                                         {0xff00, 0xff60},
                                                                         {0xffe0, 0xffe6},
                                                                         {0x1f300, 0x1f64f},
                                                                         {0x1f900, 0x1f9ff},
                                                                         {0x20000, 0x3fffd}}};

std::size_t columns_of(std::string_view character) {
  std::uint32_t code = static_cast<std::uint8_t>(character[0]);
  if (character.size() > 1) code &= 0x7fu >> character.size();
  for (std::size_t i = 1; i < character.size(); ++i)
    code = code << 6 | (static_cast<std::uint8_t>(character[i]) & 0x3fu);
  return std::ranges::any_of(kWide, [&](const auto& range) { return code >= range.first && code <= range.second; }) ? 2
                                                                                                                    : 1;
}

// The first character, at least a byte.
std::string_view character_of(std::string_view text) {
  return text.substr(0, std::max<std::size_t>(utf8_character(text), 1));
}

// Where the word that begins at `at` ends. A number and its unit stay together.
std::size_t end_of_word(std::string_view text, std::size_t at) {
  constexpr std::size_t kLongestUnit = 3;
  const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  const std::size_t end = std::min(text.find(' ', at), text.size());
  if (end == at || end + 1 >= text.size() || !digit(end - 1) || digit(end + 1)) return end;
  const std::size_t next = std::min(text.find(' ', end + 1), text.size());
  return next > end + 1 && next - end - 1 <= kLongestUnit ? next : end;
}

}  // namespace

std::size_t shown_columns(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = character_of(text.substr(at));
    columns += columns_of(character);
    at += character.size();
  }
  return columns;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines(1);
  std::size_t taken = 0;
  const auto begin_line = [&] {
    lines.emplace_back();
    taken = 0;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t blank = end_of_word(text, at);
    const std::string_view word = text.substr(at, blank - at);
    const std::size_t needed = shown_columns(word);
    if (taken > 0 && taken + 1 + needed > columns) {
      begin_line();
    } else if (at > 0 && taken + 1 < columns) {  // the blank before it, also of several
      lines.back() += ' ';
      ++taken;
    }
    for (std::size_t i = 0; i < word.size();) {
      const std::string_view character = character_of(word.substr(i));
      if (taken + columns_of(character) > columns) begin_line();
      lines.back() += character;
      taken += columns_of(character);
      i += character.size();
    }
    at = blank + 1;
  }
  return lines;
}

}  // namespace muster
