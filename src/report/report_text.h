// A report as text: Markdown, tables for LaTeX, and the rounds of its runs as one table with commas.
#pragma once

#include <string>
#include <vector>

#include "report/compare_runs.h"
#include "report/report.h"

namespace muster {

// Facts, notes, all tables; charts as short tables, or as the pictures that write_plots() left in `plots`, if given.
[[nodiscard]] std::string to_markdown(const Report& report, const std::string& plots = "");
// Its tables, for the package booktabs; with `plots` also the charts, for the package graphicx.
[[nodiscard]] std::string to_latex(const Report& report, const std::string& plots = "");
// A line per round and run, of all rounds; what is not known is an empty cell. Sums are since the run began.
[[nodiscard]] std::string rounds_csv(const std::vector<MethodRuns>& methods);

}  // namespace muster
