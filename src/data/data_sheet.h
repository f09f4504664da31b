// DataSheet: what a client with data of its own tells of them when it joins: counts, names and sums, never a sample. Of
// the sheets of all clients comes what they have in common (data/agreement.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/feature_sums.h"
#include "data/preparation.h"

namespace muster {

struct DataOptions;

// A column of a table that is used as a feature.
struct SheetColumn {
  std::string name;
  PreparedColumn::Kind kind = PreparedColumn::Kind::kNumber;
  std::vector<std::string> categories = {};  // kOneHot: those of this client, sorted
  // Training rows of each category; only where missing cells are filled with the most frequent one.
  std::vector<std::uint64_t> counts = {};
  bool operator==(const SheetColumn&) const = default;
};

struct DataSheet {
  std::uint32_t rows = 0;           // that the file does not mark as tests
  std::uint32_t test_rows = 0;      // that it does
  std::vector<std::string> labels;  // of all rows, sorted
  // Of a table.
  std::vector<SheetColumn> columns;
  // Of arrays.
  Shape shape;
  bool bytes = false;
  // Over the rows that are no tests, where features are standardised or missing cells filled: of each column of numbers
  // the cells that are there; of arrays each feature, or channel of images.
  std::vector<FeatureSums> sums;
  bool operator==(const DataSheet&) const = default;
};

// Limits of what a peer may tell.
inline constexpr std::size_t kMostSheetColumns = 16384;
inline constexpr std::size_t kMostSheetNames = 65536;     // labels, and categories of all columns together
inline constexpr std::size_t kMostSheetNameBytes = 1024;  // of one name
inline constexpr std::uint64_t kMostSheetValues = std::uint64_t{1} << 24;  // of one sample

// Refuses what no client could have read from a file: counts of 0 rows, names that are empty, too long or twice, sums
// that are not finite or of another number, squares below 0; and what does not tell what the options want. Knows
// nothing of other clients.
[[nodiscard]] Status check_sheet(const DataSheet& sheet, const DataOptions& options);

// What a client tells that hides how many rows it has: that there are some, and whether some are tests. Where sums are
// told the sheet is refused.
[[nodiscard]] DataSheet without_counts(DataSheet sheet);

// A name that a client tells, fit for a message: the first 100 bytes of it.
[[nodiscard]] std::string shown_briefly(const std::string& name);

// Changes with everything that the sheet tells.
[[nodiscard]] std::uint64_t fingerprint(const DataSheet& sheet);

// What stands in for missing cells: the mean of those that are there; the most frequent category, the first of several.
// None where no cell is there.
[[nodiscard]] std::optional<double> fill_of(const FeatureSums& sums);
[[nodiscard]] std::optional<double> fill_of(const std::vector<std::uint64_t>& category_counts);

// Sums of the columns of numbers -> of all features, filled cells included; empty for features that are one-hot.
// `train_rows`: of all whose cells the sums are of.
[[nodiscard]] std::vector<FeatureSums> feature_sums(const std::vector<PreparedColumn>& columns,
                                                    const std::vector<FeatureSums>& numbers, std::uint64_t train_rows);

// Reads the client's own file, options.path, as the other options say.
[[nodiscard]] Result<DataSheet> read_data_sheet(const DataOptions& options);

}  // namespace muster
