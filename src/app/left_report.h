// The pages that runs and comparisons leave behind, for whoever looks at their folders later.
#pragma once

#include <filesystem>

#include "engine/comparison_table.h"

namespace muster {

// report.html in the run's folder. A page that cannot be written costs nobody the run: it is a note, unless `quiet`. Of
// records that are large it would cost memory and time: none is left, and `muster report` makes it.
void leave_report(const std::filesystem::path& run, bool quiet);

// The same of the runs of a comparison, where they have none of their last state, and NAME.html beside the comparison's
// file. Whether that page was written.
bool leave_report(const std::filesystem::path& file, const ComparisonTable& table, bool quiet);

}  // namespace muster
