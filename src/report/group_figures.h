// The groups of a run: their classes, sizes and quality, who moved when they were formed again, and how far apart the
// clients were that they were formed of.
#pragma once

#include <vector>

#include "report/figure.h"
#include "report/run_records.h"

namespace muster {

[[nodiscard]] std::vector<Figure> group_figures(const RunRecords& run, std::size_t most_points);

}  // namespace muster
