#include <array>

#include "check_samples.h"
#include "data/prepared_rows.h"
#include "data/readers/csv.h"

namespace muster {
namespace {

// Rows that were trained on can be read again with the preparation they gave: the same rows, the same numbers.
void check_prepared(std::string_view text, RawData data) {
  Preparation& preparation = data.preparation;
  preparation.shape = data.train.shape;
  preparation.classes = data.class_names;
  for (std::size_t c = preparation.classes.size(); c < data.train.classes; ++c) {
    preparation.classes.push_back(fmt::format("{}", c));
  }
  const auto back = parse_preparation(to_json(preparation));
  MUSTER_CHECK(back.ok() && *back == preparation, "{} is not read back", to_json(preparation));
  const auto rows = prepare_table(text, preparation);
  if (!rows || data.test.size() > 0) return;  // dropped rows and other decimal marks are errors there
  MUSTER_CHECK(rows->samples.floats == data.train.floats, "{} floats", rows->samples.floats.size());
  MUSTER_CHECK(!rows->has_labels || rows->samples.labels == data.train.labels, "{} labels",
               rows->samples.labels.size());
}

}  // namespace
}  // namespace muster

// The first byte chooses the options.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  TableOptions options;
  options.missing = std::array{MissingCells::kError, MissingCells::kMean, MissingCells::kDrop}[data[0] % 3];
  if (data[0] & 0x04) options.categorical = {"a"};
  if (data[0] & 0x08) options.drop = {"b"};
  if (data[0] & 0x10) options.dialect.delimiter = std::string(1, ';');
  if (data[0] & 0x20) options.features = {"a"};
  auto parsed = parse_csv(text, options);
  if (!parsed) return 0;
  check_raw_data(*parsed);
  check_prepared(text, *std::move(parsed));
  return 0;
}
