#include "check_samples.h"
#include "data/readers/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool fill_missing : {false, true}) {
    const TableOptions options{.fill_missing = fill_missing};
    if (const auto parsed = parse_csv(text, options)) check_raw_data(*parsed);
  }
  return 0;
}
