// rotations and rotated-copies: equal blocks of clients see their images turned by 0, 1, 2, 3 quarter turns (2
// rotations: upright and upside down). `rotations` divides the rows once (AutoCFL); `rotated-copies` divides them once
// per rotation (IFCA).
#include "data/partitions/laws.h"

namespace muster {
namespace {

Result<std::uint32_t> rotation_count(const PartitionTask& task, const DataOptions& options) {
  const std::uint32_t count = rotations_of(options);
  if (count != 1 && count != 2 && count != 4) return usage_error("data.rotations: {}, want 1, 2 or 4", count);
  if (task.clients % count != 0) {
    return usage_error("data.clients: {}, want a multiple of rotations = {}", task.clients, count);
  }
  return count;
}

void plant(std::uint32_t rotations, Division& division) {
  const std::uint32_t block = division.clients() / rotations;
  for (std::uint32_t k = 0; k < division.clients(); ++k) {
    division.planted.push_back(k / block);
    division.quarter_turns.push_back(static_cast<std::uint8_t>(k / block * (4 / rotations)));
  }
}

}  // namespace

Result<Division> divide_rotations(const PartitionTask& task, const DataOptions& options, Stream& stream) {
  MUSTER_ASSIGN(const std::uint32_t rotations, rotation_count(task, options));
  MUSTER_ASSIGN(Division division, divide_iid(task, options, stream));
  plant(rotations, division);
  return division;
}

Result<Division> divide_rotated_copies(const PartitionTask& task, const DataOptions& options, Stream& stream) {
  MUSTER_ASSIGN(const std::uint32_t rotations, rotation_count(task, options));
  if (task.labels.size() * rotations > 0xffffffffu) {
    return usage_error("data.rotations: {} copies of {} samples are more than an index holds", rotations,
                       task.labels.size());
  }
  PartitionTask copy = task;
  copy.clients = task.clients / rotations;
  DataOptions equal = options;
  equal.samples_min.reset();
  equal.samples_max.reset();
  Division division;
  division.rows.reserve(task.labels.size() * rotations);
  for (std::uint32_t r = 0; r < rotations; ++r) {
    MUSTER_ASSIGN(const Division part, divide_iid(copy, equal, stream));
    for (std::uint32_t k = 0; k < part.clients(); ++k) {
      division.rows.insert(division.rows.end(), part.of(k).begin(), part.of(k).end());
      division.close_client();
    }
  }
  plant(rotations, division);
  return division;
}

}  // namespace muster
