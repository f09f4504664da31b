// Which delimiter and decimal mark a table has, by its first lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/readers/csv_scan.h"

namespace muster {

// What the user said; empty = find it.
struct CsvDialectOptions {
  std::string delimiter;  // "," ";" "tab" "|"
  std::string decimal;    // "point" "comma"
};

struct FoundDialect {
  CsvDialect dialect;
  // False: neither given nor seen in the first rows, so a cell like 1,5 further down may still decide for a comma.
  bool decimal_known = false;
  std::vector<std::string> notes;
};

// The delimiter is the one of , ; tab | by which the first lines have the most equal numbers of cells, at least two;
// of several the one that gives most cells; a comma if none does. The decimal mark is a point in tables that are
// delimited by commas; in others the mark that more cells of the first rows have. Fails, naming the key, on options
// that it does not know. Precondition: `text` is as a TextBuffer has it.
[[nodiscard]] Result<FoundDialect> find_dialect(std::string_view text, const CsvDialectOptions& options);

}  // namespace muster
