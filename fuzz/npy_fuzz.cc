#include "data/readers/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (const auto array = muster::parse_npy({data, size})) {
    for (std::size_t i = 0; i < array->count; ++i) (void)array->at(i);
  }
  return 0;
}
