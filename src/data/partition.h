// Partitions: laws that divide labelled rows among clients. In: labels (and the source's own clients), options, a
// random stream. Out: a Division, the rows of each client as one flat index. Knows nothing of files or features.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "data/federated_data.h"

namespace muster {

// Who owns which row. A law never gives a row to two clients, except `rotated-copies`, whose copies are turned.
struct Division {
  std::vector<std::uint32_t> offsets{
      0};  // clients + 1 entries; client k owns rows[offsets[k]] .. rows[offsets[k + 1] - 1]
  std::vector<std::uint32_t> rows;
  std::vector<std::uint8_t> quarter_turns;  // one per client; empty = all upright
  std::vector<std::uint32_t> planted;       // ground-truth cluster of each client; empty = none
  std::vector<std::uint32_t> owners;        // the source's own client behind each client; empty = none
  std::string note;                         // what the law had to do that its parameters do not say; usually ""

  [[nodiscard]] std::uint32_t clients() const { return static_cast<std::uint32_t>(offsets.size() - 1); }
  [[nodiscard]] std::uint32_t size(std::uint32_t client) const { return offsets[client + 1] - offsets[client]; }
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t client) const {
    return {rows.data() + offsets[client], size(client)};
  }
  // Everything appended to `rows` since the last call belongs to the next client.
  void close_client() { offsets.push_back(static_cast<std::uint32_t>(rows.size())); }
};

// What is to be divided. The spans outlive the call.
struct PartitionTask {
  std::span<const std::int32_t> labels;  // each in [0, classes)
  std::uint32_t classes = 0;
  std::span<const std::uint32_t> owners;  // the source's client of each row, below owner_count; empty if it has none
  std::uint32_t owner_count = 0;
  std::uint32_t clients = 0;  // >= 1
};

struct PartitionLaw {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string> keys;  // recipe keys it reads
  std::uint32_t default_clients = 100;
  // Clients differ by a planted cluster (labels, rotation): their local tests must be divided by the same law.
  bool plants = false;
  // A row may go to several clients, so a test part must be held out before the division, not after it.
  bool replicates = false;
  Result<Division> (*divide)(const PartitionTask& task, const DataOptions& options, Stream& stream) = nullptr;

  [[nodiscard]] bool has_key(std::string_view key) const { return std::ranges::find(keys, key) != keys.end(); }
};

// What holds where an option is not set.
[[nodiscard]] inline double alpha_of(const DataOptions& options) {
  return options.alpha.value_or(0.5);
}
[[nodiscard]] inline std::uint32_t rotations_of(const DataOptions& options) {
  return options.rotations.value_or(4);
}

// Samples of a client under dirichlet-truncated.
struct SampleBounds {
  std::uint32_t least = 0;
  std::uint32_t most = 0;
};
[[nodiscard]] inline SampleBounds truncated_bounds_of(const DataOptions& options) {
  const std::uint32_t least = options.samples_min.value_or(20);
  return {.least = least, .most = options.samples_max.value_or(std::max(200u, least))};
}
// AutoCFL's four sets, stretched to any number of classes: for ten "0-2,3-6,4-9,0-9".
[[nodiscard]] std::string label_groups_of(const DataOptions& options, std::uint32_t classes);

// Every law, in the order in which `muster list` shows them.
[[nodiscard]] std::span<const PartitionLaw> partition_laws();
// Fails, with the nearest name, if there is no such law.
[[nodiscard]] Result<const PartitionLaw*> find_partition_law(std::string_view name);

// Option `imbalance`: of every 20 clients, 3 keep 10 %, 3 keep 30 % and 3 keep 60 % of their rows, each with its mix of
// classes (to within one row per class). Which clients, is drawn from `stream`.
void reduce_shares(std::span<const std::int32_t> labels, Stream& stream, Division& division);

}  // namespace muster
