#include "base/check.h"
#include "data/prepared_rows.h"

// A preparation and a table, apart by a byte 0: what is accepted is written and read back as the same, and rows that
// are read with it have its shape.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = std::min(text.find('\0'), text.size());
  const auto preparation = parse_preparation(text.substr(0, cut));
  if (!preparation) return 0;
  const std::string written = to_json(*preparation);
  const auto back = parse_preparation(written);
  MUSTER_CHECK(back.ok(), "{} is refused: {}", written, back.error().message);
  MUSTER_CHECK(to_json(*back) == written, "{} becomes {}", written, to_json(*back));
  if (preparation->columns.empty() || cut == text.size()) return 0;
  const auto rows = prepare_table(text.substr(cut + 1), *preparation);
  if (!rows) return 0;
  const std::size_t count = rows->samples.size();
  MUSTER_CHECK(rows->samples.floats.size() == count * preparation->shape.size(), "{} floats of {} rows",
               rows->samples.floats.size(), count);
  MUSTER_CHECK(rows->lines.size() == count, "{} lines of {} rows", rows->lines.size(), count);
  for (const std::int32_t label : rows->samples.labels) {
    MUSTER_CHECK(!rows->has_labels || static_cast<std::size_t>(label) < preparation->classes.size(), "label {}", label);
  }
  return 0;
}
