#include <algorithm>

#include "check_samples.h"
#include "data/readers/idx.h"

// The first byte says where the images end and the labels begin.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (size == 0) return 0;
  const std::span<const std::uint8_t> all(data + 1, size - 1);
  if (const auto array = parse_idx(all)) {
    for (std::size_t i = 0; i < array->count; ++i) (void)array->at(i);
  }
  (void)parse_qmnist_labels(all);
  const std::size_t cut = std::min<std::size_t>(data[0], all.size());
  for (const bool transposed : {false, true}) {
    const IdxOptions options{.classes = transposed ? 10u : 0u, .transposed = transposed};
    const std::vector<std::uint8_t> images(data + 1, data + 1 + cut);
    if (const auto samples = parse_idx_samples(images, all.subspan(cut), options)) check_samples(*samples);
  }
  return 0;
}
