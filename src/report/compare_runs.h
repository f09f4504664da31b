// Several runs -> what is shown of them side by side: curves with bands over the seeds of a method, what it took to
// reach targets, and in what the methods differ.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/comparison_table.h"
#include "report/comparison_file.h"
#include "report/describe.h"

namespace muster {

// Runs that differ in their seeds alone.
struct MethodRuns {
  std::string label;
  std::vector<RunRecords> runs;
};

// Runs of one recipe but for its name, summary and seed belong together; in the order in which they are given. Methods
// of the same name are told apart by what differs in their recipes.
[[nodiscard]] std::vector<MethodRuns> by_method(std::vector<RunRecords> runs);

// The figures that `muster compare` prints, of these runs as they are now; the task is theirs if none is
// given. Precondition: there is a method, and each has a run.
[[nodiscard]] ComparisonTable table_of(const std::vector<MethodRuns>& methods, ComparisonTableOptions options = {});

[[nodiscard]] Report report_of(const std::string& title, const std::vector<MethodRuns>& methods,
                               const ComparisonTableOptions& table = {}, const DescribeOptions& options = {});

// The runs of a comparison's file, and the report of them.
[[nodiscard]] Result<std::vector<MethodRuns>> read_methods(const ComparedRuns& compared);
[[nodiscard]] Report report_of(const ComparedRuns& compared, const std::vector<MethodRuns>& methods);

// The same as one JSON document, of the folders as they are now; of a single run it is describe_run(). Fails if one is
// no run's folder, or there is none.
[[nodiscard]] Result<nlohmann::json> describe_comparison(std::span<const std::filesystem::path> folders,
                                                         const DescribeOptions& options = {});

}  // namespace muster
