// iid: every client gets a uniform random part.
#include <numeric>

#include "data/partitions/laws.h"

namespace muster {

Result<Division> divide_iid(const PartitionTask& task, const DataOptions& options, Stream& stream) {
  Division division;
  MUSTER_ASSIGN(const std::vector<std::uint32_t> sizes, client_sizes(task, options, stream, division.note));
  division.rows.resize(task.labels.size());
  std::iota(division.rows.begin(), division.rows.end(), 0u);
  stream.shuffle(std::span(division.rows));
  division.offsets.reserve(sizes.size() + 1);
  for (const std::uint32_t size : sizes) division.offsets.push_back(division.offsets.back() + size);
  division.rows.resize(division.offsets.back());
  return division;
}

}  // namespace muster
