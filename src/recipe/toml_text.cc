#include "recipe/toml_text.h"

#include <cmath>
#include <sstream>

namespace muster {
namespace {

// Recipes nest three deep. toml++ recurses once per level of a value, and tables are destroyed recursively.
constexpr int kDeepest = 16;

// Walks over the text as a TOML reader does, as far as strings, comments and brackets are concerned, and returns the
// first line that nests too deep; 0 if there is none. What it takes for something else than toml++ does is an error to
// toml++ at that place, so nothing behind it is read.
std::size_t too_deep_line(std::string_view text) {
  std::size_t line = 1;
  int brackets = 0;
  int dots = 0;  // of the key that is being read
  const auto skip_string = [&](std::size_t at) {
    const char quote = text[at];
    const std::string triple(3, quote);
    const bool escapes = quote == '"';
    const bool long_form = text.substr(at, 3) == triple;
    at += long_form ? 3 : 1;
    while (at < text.size()) {
      if (text[at] == '\\' && escapes) {
        if (at + 1 < text.size() && text[at + 1] == '\n') ++line;
        at += 2;
        continue;
      }
      if (long_form && text.substr(at, 3) == triple) {
        at += 3;
        while (at < text.size() && text[at] == quote) ++at;  // up to two quotes may stand before the closing ones
        return at;
      }
      if (!long_form && (text[at] == quote || text[at] == '\n')) return at + (text[at] == quote ? 1 : 0);
      if (text[at] == '\n') ++line;
      ++at;
    }
    return at;
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = skip_string(at);
      continue;
    }
    ++at;
    switch (c) {
      case '#':
        while (at < text.size() && text[at] != '\n') ++at;
        break;
      case '\n':
        ++line;
        dots = 0;
        break;
      case '[':
      case '{':
        ++brackets;
        dots = 0;
        break;
      case ']':
      case '}':
        brackets -= brackets > 0 ? 1 : 0;
        dots = 0;
        break;
      case '=':
      case ',':
        dots = 0;
        break;
      case '.':
        ++dots;
        break;
      default:
        break;
    }
    if (brackets > kDeepest || dots > kDeepest) return line;
  }
  return 0;
}

std::string one_short_line(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string line;
  for (const char c : text) {
    if (line.size() >= kLongest) {
      while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xc0) == 0x80) line.pop_back();
      if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0xc0) line.pop_back();
      return line + "...";
    }
    line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return line;
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, std::string_view origin) {
  const auto error_at = [&](std::size_t line, std::string_view what) {
    return origin.empty() ? usage_error("{}", what) : usage_error("{}:{}: {}", origin, line, what);
  };
  if (const std::size_t line = too_deep_line(text); line > 0) {
    return error_at(
        line, fmt::format("nested too deep; a recipe has sections, keys and values, want at most {} levels", kDeepest));
  }
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return error_at(error.source().begin.line, one_short_line(error.description()));
  }
}

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string toml_number(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string shown_value(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& n) {
    if constexpr (toml::is_string<decltype(n)>) {
      text << '"' << n.get() << '"';
    } else if constexpr (toml::is_table<decltype(n)>) {
      text << "a table";
    } else if constexpr (toml::is_floating_point<decltype(n)>) {
      text << toml_number(n.get());
    } else {
      text << n;
    }
  });
  return one_short_line(text.str());
}

std::string shown_name(std::string_view name) {
  return one_short_line(name);
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const unsigned first = byte(at);
    const std::size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    if (length == 0) return false;
    std::uint32_t point = length == 1 ? first : first & (0x7fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
      if (byte(at + i) >> 6 != 2) return false;
      point = point << 6 | (byte(at + i) & 0x3f);
    }
    constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kLeast[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return false;
    at += length;
  }
  return true;
}

}  // namespace muster
