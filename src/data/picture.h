// A partition as a picture: clients across, classes down, the darker the larger a class's share of the client's
// samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/canvas.h"
#include "data/federated_data.h"

namespace muster {

// Label counts of a partition, a row per client.
struct LabelTable {
  std::uint32_t clients = 0;
  std::uint32_t classes = 0;
  std::vector<std::uint32_t> counts;  // clients x classes
  std::string title;
  std::vector<std::string> client_names = {};  // empty, or one per client; "" = it has none
  std::vector<std::string> class_names = {};   // empty, or one per class

  [[nodiscard]] std::uint32_t count(std::uint32_t client, std::uint32_t label) const {
    return counts[std::size_t{client} * classes + label];
  }
};
[[nodiscard]] LabelTable label_table(const FederatedData& data, std::vector<std::string> class_names = {});

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

// Title, both axes with names or numbers, a cell per client and class that it holds, a colour scale. Of more clients
// than there is room for, a column is the mean of neighbours. Borrows `table`.
[[nodiscard]] Drawing draw_labels(const LabelTable& table);
// The same as a file's content.
[[nodiscard]] std::string draw_svg(const LabelTable& table);
[[nodiscard]] Result<std::string> draw_png(const LabelTable& table);

// A header and a line of counts per client: what `muster group --labels` reads. Named classes head their columns, others
// are c0, c1, ...; named clients have a first column `client`.
[[nodiscard]] std::string write_label_csv(const LabelTable& table);

}  // namespace muster
