// Whatever stands in a file of costs, it is refused or read, and then written as it was read.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "record/cost_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const auto costs = parse_cost_file({reinterpret_cast<const char*>(data), size});
  if (!costs) return 0;
  const auto again = parse_cost_file(to_text(*costs));
  MUSTER_CHECK(again && *again == *costs, "{} operations are not read as they are written", costs->operations.size());
  (void)operation_curve(*costs, "secure-sum", 1e6);
  return 0;
}
