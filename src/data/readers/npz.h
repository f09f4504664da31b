// NumPy's .npz with the arrays x (N x ...) and y (N), and perhaps client (N) and split (N; 0 train, 1 test) -> samples.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/raw_data.h"
#include "data/readers/table.h"

namespace muster {

// The labels are the array named by options.label; under its default name "label" an array "y" will do.
// u1 rows stay bytes, all others become floats. Rows of up to three dimensions keep their shape (two: height, width).
[[nodiscard]] Result<RawData> parse_npz(std::span<const std::uint8_t> bytes, const TableOptions& options);
[[nodiscard]] Result<RawData> read_npz(const std::filesystem::path& path, const TableOptions& options);

// The arrays of new rows: x, and where they are there the array `label` (or y), `client` and `split`; "" = not looked
// for.
struct NpzRows {
  Samples samples;  // storage, shape and values
  std::size_t rows = 0;
  std::optional<std::vector<double>> labels;
  std::optional<std::vector<double>> clients;
  std::vector<bool> is_test;  // empty: no row is marked
};
[[nodiscard]] Result<NpzRows> parse_npz_rows(std::span<const std::uint8_t> bytes, const std::string& label,
                                             const std::string& client, const std::string& split = "");

}  // namespace muster
