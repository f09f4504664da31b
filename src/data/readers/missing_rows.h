// Rows with a missing cell, taken out of a table that was scanned: data.missing = "drop", in training and of new rows.
#pragma once

#include <cstdint>
#include <functional>

#include "data/readers/csv_scan.h"

namespace muster {

struct DroppedRows {
  std::size_t rows = 0;
  std::uint64_t first_line = 0;  // of the first; 0 = none
};

// Leaves the rows whose cells are all there, in their order; what the scan tells of missing cells is forgotten. Text
// columns for which `passed_over` holds are not looked at. A number that is none is as good as missing: whoever calls
// this refuses such cells.
DroppedRows drop_missing_rows(
    CsvScan& scan,
    const std::function<bool(const ScannedTexts&)>& passed_over = [](const ScannedTexts&) { return false; });

}  // namespace muster
