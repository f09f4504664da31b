// Standardisation: mean and deviation of the training part -> the scale and offset that gather() applies.
#pragma once

#include "data/raw_data.h"

namespace muster {

enum class NormalizePer {
  kFeature,  // each position of a sample on its own
  kChannel,  // all positions of a channel together, as is usual for images
};

// Sets scale and offset of train and test so that a gathered value is (x - mean) / (deviation + epsilon), x being the
// stored number (bytes: 0..255) and mean and deviation those of the training part. A feature that never varies in
// training becomes 0 in both parts, so that a first surprise in the test part cannot be blown up by 1 / epsilon.
// Mean and deviation come of data.sums where the reader gave them, else of sums over the clients of the source, in
// their order (feature_sums.h). The default epsilon is FedProx's. Does nothing for tokens or without training samples.
void normalize(RawData& data, NormalizePer per, double epsilon = 1e-3);

// The sums that this goes by, one per slot.
[[nodiscard]] std::vector<FeatureSums> slot_sums(const RawData& data, std::size_t slots);
[[nodiscard]] std::size_t normalize_slots(const Shape& shape, NormalizePer per);

// FedProx adds 0.001 to a deviation in grey levels; a user's own features may be that small, and get none.
[[nodiscard]] double normalize_epsilon(Samples::Storage storage);

// What suits the shape: features for flat rows {1, 1, n}, channels for images and waveforms.
[[nodiscard]] NormalizePer normalize_default(const Shape& shape);

}  // namespace muster
