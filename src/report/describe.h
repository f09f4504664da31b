// Run folders -> what is shown of them. Whatever the folders hold, what comes back is bounded: curves have at most
// `most_points` points, tables and matrices a few hundred rows, names 120 characters.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/report.h"
#include "report/run_records.h"

namespace muster {

struct DescribeOptions {
  std::uint32_t most_points = 1000;  // of a curve; at least 10
};

// What the report tells of one of its runs.
[[nodiscard]] ReportedRun reported(const RunRecords& run, const std::string& method);

[[nodiscard]] Report report_of(const RunRecords& run, const DescribeOptions& options = {});

// The same as one JSON document (docs/report.md), of the run's folder as it is now. Fails if it is no run's.
[[nodiscard]] Result<nlohmann::json> describe_run(const std::filesystem::path& folder,
                                                  const DescribeOptions& options = {});

}  // namespace muster
