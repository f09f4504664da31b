// A delimited text file with a header row -> samples. Every column is a feature except the label and, where present,
// the client and the split column; columns of text become a feature per value. Delimiter, decimal mark and encoding
// are found, quoted fields are as in RFC 4180.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "data/data_sheet.h"
#include "data/raw_data.h"
#include "data/readers/table.h"

namespace muster {

// A text column with more values than this is refused unless TableOptions::categorical names it.
inline constexpr std::size_t kMostCategories = 50;

// Errors name the line (the header is line 1) and the column. A split cell is 0, 1, train or test. The categories of a
// column are those of all rows, sorted: numbers by value, words by bytes. Fill values come from training rows alone.
[[nodiscard]] Result<RawData> parse_csv(std::string_view text, const TableOptions& options);
[[nodiscard]] Result<RawData> read_csv(const std::filesystem::path& path, const TableOptions& options);
// What a client tells of the table when it joins others with tables of their own.
[[nodiscard]] Result<DataSheet> read_csv_sheet(const std::filesystem::path& path, const TableOptions& options);

}  // namespace muster
