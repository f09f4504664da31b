// SecretNoise: Gaussian noise for private sums that only whoever holds a key can repeat. It depends on the sum that it
// is for: a round that is made again with the same answers has the same noise, and so reveals nothing more; with other
// answers it has other noise, or the difference of the two would have none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "aggregate/aggregator.h"
#include "aggregate/privacy_options.h"
#include "secure/secret_stream.h"

namespace muster {

class SecretNoise {
 public:
  // `merge`: which of the run's sums it is.
  SecretNoise(const NoiseKey& key, std::uint32_t merge, std::span<const double> sum);

  // Standard normal (Box and Muller, from 53 bits each).
  [[nodiscard]] double normal();
  // Of merge and sum, under the key: equal ones are the same release. Tells nothing about the sum.
  [[nodiscard]] std::uint64_t release() const { return release_; }

 private:
  SecretStream stream_;
  std::uint64_t release_ = 0;
  double spare_ = 0;
  bool has_spare_ = false;
};

// Where the noise of private sums comes from. `leaves` is called before a noisy sum is used.
struct NoiseSource {
  std::shared_ptr<const NoiseKey> key;  // null: the recipe's seed
  std::function<void(std::uint32_t merge, std::uint64_t release)> leaves = {};
};

// As that of aggregator.h, whose noise is from the seed.
std::unique_ptr<Aggregator> make_private_sum(std::unique_ptr<Aggregator> inside, const PrivacyOptions& options,
                                             const AggregatorSizes& sizes, NoiseSource noise);

}  // namespace muster
