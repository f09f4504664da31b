// Rows of a file that the model was not trained on -> the numbers it would have seen had they been there: the reading
// side of a Preparation. Knows nothing of models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/preparation.h"
#include "data/samples.h"

namespace muster {

struct PreparedRows {
  // Storage, scale and offset are as in training, so gather() gives the floats that training would have seen. The
  // labels are those of the file; all 0 if it has none.
  Samples samples;
  bool has_labels = false;
  std::vector<std::string> clients;  // one per row; empty if the file has no client column
  std::vector<std::uint64_t> lines;  // of each row in its file, the header being line 1; of an array: its index from 0
  std::vector<bool> is_test;         // where the split is read: rows that are marked as tests; empty if none is
  std::vector<std::string> notes;    // what the user should know, a line each
};

// What rows are read for: new ones to predict, whose column of splits does not matter, or those of a client that trains
// on them, who must have labels.
enum class RowsFor { kPrediction, kTraining };

// A table (csv, perhaps packed with gzip) for a preparation that has columns, else an .npz with an array x and perhaps
// y. Columns are found by name, in any order; others are passed over, with one note. The delimiter, decimal mark and
// encoding may differ from those of the training rows. Fails, naming the file, the line and the column, on a column
// that is not there, a cell that is not a number, a missing cell that has nothing to stand in for it, and an unknown
// category, class or, of an array, shape. Where training left out rows with missing cells they are left out here too,
// with one note.
[[nodiscard]] Result<PreparedRows> prepare_rows(const std::filesystem::path& path, const Preparation& preparation,
                                                RowsFor use = RowsFor::kPrediction);
// The same for a table in memory; errors do not name a file.
[[nodiscard]] Result<PreparedRows> prepare_table(std::string_view text, const Preparation& preparation,
                                                 RowsFor use = RowsFor::kPrediction);
// The same for an .npz in memory.
[[nodiscard]] Result<PreparedRows> prepare_arrays(std::span<const std::uint8_t> bytes, const Preparation& preparation,
                                                  RowsFor use = RowsFor::kPrediction);

}  // namespace muster
