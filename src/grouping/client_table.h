// Files that describe clients, a row each -> what form_groups() looks at. For people who group clients without
// training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/rows.h"

namespace muster {

// CSV: a row per client, a column per class, whole numbers from 0. A first row with a cell that is not a number is a
// header. Errors name line, column and value. A client's counts must add up to less than 2^32.
[[nodiscard]] Result<Rows<std::uint32_t>> parse_label_counts(std::string_view text);

// CSV: a row per client; any numbers, also nan and inf (methods decide what they take).
[[nodiscard]] Result<Rows<float>> parse_vectors(std::string_view text);
// NumPy .npy: clients x values; a one-dimensional array is a value per client.
[[nodiscard]] Result<Rows<float>> parse_vectors_npy(std::span<const std::uint8_t> bytes);

// CSV with one column of whole numbers from 0, a row per client.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_sizes(std::string_view text);
// CSV with one column of names or numbers, a row for each of `clients` clients -> numbers from 0, one per name. Names
// 0..n-1 keep theirs. One row more than there are clients means that the first is a header.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_names(std::string_view text, std::uint32_t clients);

// The same from files; errors name the file. Vectors are NPY if the file's name ends in .npy, else CSV.
[[nodiscard]] Result<Rows<std::uint32_t>> read_label_counts(const std::filesystem::path& path);
[[nodiscard]] Result<Rows<float>> read_vectors(const std::filesystem::path& path);
[[nodiscard]] Result<std::vector<std::uint32_t>> read_sizes(const std::filesystem::path& path);
[[nodiscard]] Result<std::vector<std::uint32_t>> read_names(const std::filesystem::path& path, std::uint32_t clients);

}  // namespace muster
