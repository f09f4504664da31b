// What `muster compare` leaves behind, beside its runs: one file that lists them, so that the comparison has a name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/comparison_table.h"

namespace muster {

// "compare-fedavg-fedgsp-0123abcd": of the methods and, by a hash, of their runs, so that the same comparison keeps its
// name.
[[nodiscard]] std::string comparison_name(const ComparisonTable& table);

// Writes NAME.json to `out`, what `muster compare --json` prints. Returns its path.
[[nodiscard]] Result<std::filesystem::path> write_comparison(const std::filesystem::path& out,
                                                             const ComparisonTable& table);

struct ComparedRuns {
  struct Method {
    std::string label;
    std::vector<std::filesystem::path> folders;
  };
  std::string name;
  std::string task;             // "" = not told
  std::string command;          // that makes it again; "" = not told
  std::vector<Method> methods;  // at least one, each with a run
  std::vector<double> targets;
  std::uint32_t tail = 10;  // as ComparisonTableOptions has it
};

// The runs are looked for beside the file. Fails if it is no comparison, or names no runs; whether these are there is
// not looked at.
[[nodiscard]] Result<ComparedRuns> read_comparison(const std::filesystem::path& file);

}  // namespace muster
