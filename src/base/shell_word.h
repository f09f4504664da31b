// A text as a word of a shell's command line.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// In quotes where it has to be.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace muster
