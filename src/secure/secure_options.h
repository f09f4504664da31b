// The [secure] section of a recipe: how members of a group are summed without anybody seeing what one of them sends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

inline constexpr std::string_view kHiddenSamples = "hidden";
inline constexpr std::string_view kToldSamples = "told";

struct SecureOptions {
  double threshold = 2.0 / 3;                 // share of those who hold a member's secrets that open them; above a half
  std::uint32_t neighbours = 0;               // of a member, who hold them; an even number; 0: all others of its group
  std::optional<std::uint32_t> bits;          // of a word: 32 | 64; not set: 32 where that is fine enough
  std::optional<std::uint32_t> most_samples;  // of one member, by which words are laid out; not set: 65,536
  std::string samples;  // hidden | told: whether anybody learns how many a member has; "": not decided, told

  [[nodiscard]] bool hides_samples() const { return samples == kHiddenSamples; }
};

}  // namespace muster
