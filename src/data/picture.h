// A partition as a picture: clients across, classes down, the darker the larger a class's share of the client's
// samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/federated_data.h"

namespace muster {

// Label counts of a partition, a row per client.
struct LabelTable {
  std::uint32_t clients = 0;
  std::uint32_t classes = 0;
  std::vector<std::uint32_t> counts;  // clients x classes
  std::string title;

  [[nodiscard]] std::uint32_t count(std::uint32_t client, std::uint32_t label) const {
    return counts[std::size_t{client} * classes + label];
  }
};
[[nodiscard]] LabelTable label_table(const FederatedData& data);

// What is drawn: the clients in up to `columns` columns of neighbours, each column's class shares (0 if it has no
// samples).
struct HeatMap {
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;
  std::vector<float> shares;  // columns x rows, column by column
  [[nodiscard]] float share(std::uint32_t column, std::uint32_t row) const {
    return shares[std::size_t{column} * rows + row];
  }
};
[[nodiscard]] HeatMap heat_map(const LabelTable& table, std::uint32_t most_columns);

// The picture as a file's content. The SVG has a title, axes and a colour scale; the PNG is the bare map with the
// largest whole-pixel cells that keep it near 1,200 pixels wide, white grid lines where cells are large enough.
[[nodiscard]] std::string draw_svg(const LabelTable& table);
[[nodiscard]] Result<std::string> draw_png(const LabelTable& table);

// A header "c0,c1,..." and a line of counts per client: what `muster group --labels` reads.
[[nodiscard]] std::string write_label_csv(const LabelTable& table);

}  // namespace muster
