// Where a recipe would have somebody learn how many samples a client has, although secure sums hide it.
#pragma once

#include <optional>
#include <string>

#include "recipe/recipe.h"

namespace muster {

// A choice for which clients tell how many samples they have, or something that gives it away.
struct TellsSamples {
  std::string key;
  std::string value;
  std::string why;
  std::string want;  // instead
};

// The first of them; none: nothing but secure.samples decides.
[[nodiscard]] std::optional<TellsSamples> tells_samples(const Recipe& recipe);

}  // namespace muster
