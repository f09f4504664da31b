// The [dp] section of a recipe: client-level differential privacy.
#pragma once

#include <optional>

namespace muster {

struct PrivacyOptions {
  std::optional<double> clip;     // longest change of a client; not set: no privacy
  double noise_multiplier = 1;    // deviation of the noise on the sum of changes, as a multiple of `clip`
  std::optional<double> epsilon;  // the run stops before it would be exceeded
  double delta = 1e-5;            // at which epsilon is told

  [[nodiscard]] bool on() const { return clip.has_value(); }
};

}  // namespace muster
