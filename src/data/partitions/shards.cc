// shards: McMahan et al. 2017. Rows sorted by class are cut into K * c equal shards; each client gets c at random, so
// about c classes.
#include "data/partitions/laws.h"

namespace muster {

Result<Division> divide_shards(const PartitionTask& task, const DataOptions& options, Stream& stream) {
  const std::uint32_t per_client = options.classes_per_client;
  const std::uint64_t rows = task.labels.size();
  const std::uint64_t shards = std::uint64_t{task.clients} * per_client;
  if (per_client < 1 || shards > rows) {
    return usage_error(
        "data.classes-per-client: {} shards for each of {} clients, want at least 1 and at most {} in all "
        "(the training samples)",
        per_client, task.clients, rows);
  }
  const ClassPools sorted(task.labels, task.classes, stream);
  std::vector<std::uint32_t> order(shards);
  for (std::uint32_t i = 0; i < shards; ++i) order[i] = i;
  stream.shuffle(std::span(order));

  Division division;
  division.rows.reserve(rows);
  division.offsets.reserve(task.clients + std::size_t{1});
  for (std::uint32_t k = 0; k < task.clients; ++k) {
    for (std::uint32_t j = 0; j < per_client; ++j) {
      const std::uint64_t shard = order[std::size_t{k} * per_client + j];
      const auto begin = static_cast<std::size_t>(rows * shard / shards);
      const auto end = static_cast<std::size_t>(rows * (shard + 1) / shards);
      division.rows.insert(division.rows.end(), sorted.rows().begin() + static_cast<std::ptrdiff_t>(begin),
                           sorted.rows().begin() + static_cast<std::ptrdiff_t>(end));
    }
    division.close_client();
  }
  return division;
}

}  // namespace muster
