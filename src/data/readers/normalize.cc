#include "data/readers/normalize.h"

#include "data/feature_sums.h"

namespace muster {

std::vector<FeatureSums> slot_sums(const RawData& data, std::size_t slots) {
  const Samples& train = data.train;
  if (!data.sums.empty()) return slots == data.sums.size() ? data.sums : by_channel(data.sums, slots);
  const OwnedRows owned = owned_rows(train.size(), data.train_clients, data.client_names.size(), {});
  return train.storage == Samples::Storage::kBytes ? sums_of(train.bytes, train.shape.size(), slots, owned)
                                                   : sums_of(train.floats, train.shape.size(), slots, owned);
}

// Channels are stored fastest, so both kinds are a fixed stride through the values.
std::size_t normalize_slots(const Shape& shape, NormalizePer per) {
  return per == NormalizePer::kFeature ? shape.size() : shape.channels;
}

double normalize_epsilon(Samples::Storage storage) {
  return storage == Samples::Storage::kBytes ? 1e-3 : 0.0;
}

void normalize(RawData& data, NormalizePer per, double epsilon) {
  Samples& train = data.train;
  if (train.storage == Samples::Storage::kTokens || train.size() == 0) return;
  standardise(slot_sums(data, normalize_slots(train.shape, per)), epsilon, train.scale, train.offset);
  data.test.scale = train.scale;
  data.test.offset = train.offset;
}

NormalizePer normalize_default(const Shape& shape) {
  return shape.height == 1 && shape.width == 1 ? NormalizePer::kFeature : NormalizePer::kChannel;
}

}  // namespace muster
