// Whatever stands in the files of a run's folder, the store reads it or leaves it out.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "recipe/recipe_text.h"
#include "store/run_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)muster::parse_round(text);
  if (const auto grouping = muster::parse_grouping(text)) {
    MUSTER_CHECK(grouping->bytes == size, "{} of {} bytes", grouping->bytes, size);
  }
  (void)muster::parse_client(text);
  (void)muster::check_tag(text);
  if (const auto stamps = muster::parse_stamps(text)) {
    const auto again = muster::parse_stamps(muster::to_text(*stamps));
    MUSTER_CHECK(again && *again == *stamps, "stamps are not read as they are written: {}", text);
  }
  if (const auto keys = muster::recipe_keys_of(text)) {
    for (const auto& [key, value] : *keys) (void)muster::recipe_value(value);
  }
  (void)muster::recipe_value(text);
  return 0;
}
