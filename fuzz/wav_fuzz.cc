#include <cmath>

#include "base/check.h"
#include "data/readers/speech.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const muster::SpeechOptions options{.rate = 8000, .length = 64};
  if (const auto wave = muster::parse_wav({data, size}, options)) {
    MUSTER_CHECK(wave->size() == options.length, "{} samples", wave->size());
    for (const float value : *wave) MUSTER_CHECK(std::abs(value) <= 1, "{}", value);
  }
  return 0;
}
