#include "check_samples.h"
#include "data/readers/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (const auto parsed = muster::parse_npz({data, size}, {})) muster::check_raw_data(*parsed);
  return 0;
}
