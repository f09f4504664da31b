#include "app/print_field.h"

#include <fmt/format.h>

#include "data/wrapped_text.h"

namespace muster {

void print_field(std::string_view label, std::string_view text) {
  constexpr std::size_t kIndent = 13;
  for (const std::string& line : wrapped(text, kTerminalColumns - kIndent)) {
    fmt::print("  {:<10} {}\n", std::exchange(label, ""), line);
  }
}

}  // namespace muster
