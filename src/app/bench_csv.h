// `bench csv`: how fast a table of numbers is read, against a plain reader in the same run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace muster {

struct CsvBenchOptions {
  std::size_t rows = 1'000'000;
  std::uint32_t columns = 50;                   // of numbers; a label comes on top
  std::function<void(const std::string&)> say;  // progress for people
};

struct CsvBench {
  std::uint64_t bytes = 0;
  double seconds = 0;  // of one core, from opening the file to samples
  double bytes_per_s = 0;
  double rows_per_s = 0;
  double reference_bytes_per_s = 0;  // getline and strtof, without any check
  double ratio = 0;
  std::size_t wrong = 0;  // numbers and labels that are not those written
};

// Writes a table to a temporary file, reads it, and compares every number with the one written.
[[nodiscard]] Result<CsvBench> run_csv_bench(const CsvBenchOptions& options);

}  // namespace muster
