#include "data/readers/missing_rows.h"

#include <algorithm>
#include <cmath>

namespace muster {

DroppedRows drop_missing_rows(CsvScan& scan, const std::function<bool(const ScannedTexts&)>& passed_over) {
  const std::size_t width = scan.number_columns.size();
  std::vector<const ScannedTexts*> texts;
  for (const ScannedTexts& column : scan.text_columns) {
    if (!passed_over(column)) texts.push_back(&column);
  }
  DroppedRows dropped;
  std::size_t kept = 0;
  for (std::size_t row = 0; row < scan.rows; ++row) {
    const float* const from = scan.numbers.data() + row * width;
    const bool missing = std::any_of(from, from + width, [](float value) { return std::isnan(value); }) ||
                         std::ranges::any_of(texts, [&](const ScannedTexts* column) {
                           return column->ids[row] == ScannedTexts::kMissing;
                         });
    if (missing) {
      if (dropped.rows++ == 0) dropped.first_line = scan.lines[row];
      continue;
    }
    std::copy(from, from + width, scan.numbers.data() + kept * width);
    for (ScannedTexts& column : scan.text_columns) column.ids[kept] = column.ids[row];
    scan.lines[kept++] = scan.lines[row];
  }
  scan.numbers.resize(kept * width);
  scan.lines.resize(kept);
  scan.rows = kept;
  for (ScannedNumbers& column : scan.number_columns) {
    column.missing = 0;
    column.first_missing.reset();
  }
  for (ScannedTexts& column : scan.text_columns) {
    column.ids.resize(kept);
    column.first_missing.reset();
  }
  return dropped;
}

}  // namespace muster
