// CSV (RFC 4180: quoted fields, CRLF or LF; an UTF-8 byte order mark is skipped) with a header row -> samples. Every
// column is a numeric feature except the label and, where present, the client and the split column.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "data/raw_data.h"
#include "data/readers/table.h"

namespace muster {

// Errors name the line (the header is line 1) and the column. A split cell is 0, 1, train or test.
[[nodiscard]] Result<RawData> parse_csv(std::string_view text, const TableOptions& options);
[[nodiscard]] Result<RawData> read_csv(const std::filesystem::path& path, const TableOptions& options);

}  // namespace muster
