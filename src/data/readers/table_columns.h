// The header of a table -> what each column is for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/readers/table.h"

namespace muster {

struct TableColumns {
  std::vector<std::string> names;  // "" = unnamed, never used
  std::optional<std::size_t> label;
  std::optional<std::size_t> client;
  std::optional<std::size_t> split;
  std::optional<std::size_t> text;    // the one feature, if its texts are to be cut into tokens
  std::vector<std::size_t> features;  // ascending
  std::vector<bool> categorical;      // per column: asked for by name
  std::vector<std::string> notes;
};

// Names as the first record has them. Fails on a name that comes twice.
[[nodiscard]] Result<std::vector<std::string>> column_names(const std::vector<std::string>& header);

// Fails, with the nearest name, on options that name a column which is not there, and if no feature is left.
[[nodiscard]] Result<TableColumns> assign_columns(const std::vector<std::string>& header, const TableOptions& options);

}  // namespace muster
