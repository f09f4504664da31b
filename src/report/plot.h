// A figure as a picture for papers, as SVG and PNG: the same charts as in the browser, drawn here, on white.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "data/canvas.h"
#include "report/report.h"

namespace muster {

// Over the x axis of that number, where there are several. `figure` is borrowed. Precondition: it is not a table.
[[nodiscard]] Drawing draw_figure(const Figure& figure, std::size_t x_axis = 0);

struct PlotFile {
  std::string name;  // without its ending: "accuracy-by-round"
  const Figure* figure;
  std::size_t x_axis;
};
// Every chart of the report, curves once for each of their x axes. Borrows `report`.
[[nodiscard]] std::vector<PlotFile> plots_of(const Report& report);

// All of them into the folder, which is made, as NAME.svg and NAME.png. The number of plots.
[[nodiscard]] Result<std::size_t> write_plots(const Report& report, const std::filesystem::path& folder);

// Round numbers from at or below `low` to at or above `high`, about `most` of them.
[[nodiscard]] std::vector<double> axis_ticks(double low, double high, std::size_t most);

}  // namespace muster
