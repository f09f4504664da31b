// The clients and classes of a run: who does well, what is taken for what, who was dropped and why, where time went.
#pragma once

#include <vector>

#include "report/figure.h"
#include "report/run_records.h"

namespace muster {

[[nodiscard]] std::vector<Figure> client_figures(const RunRecords& run);
[[nodiscard]] std::vector<Figure> class_figures(const RunRecords& run);
[[nodiscard]] std::vector<Figure> drop_figures(const RunRecords& run);
[[nodiscard]] std::vector<Figure> time_figures(const RunRecords& run);

}  // namespace muster
