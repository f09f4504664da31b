// classes-per-client: the law of FedProx's MNIST split (1,000 clients, 2 classes), for any numbers. Client u owns
// classes (u + j) mod F, j = 0..c-1, with 5 samples of each; the rest of every class goes to its owners in proportion
// to lognormal(0, 2) draws, rounded down.
#include <algorithm>
#include <cmath>

#include "data/partitions/laws.h"

namespace muster {

Result<Division> divide_classes_per_client(const PartitionTask& task, const DataOptions& options, Stream& stream) {
  const std::uint32_t owned = options.classes_per_client;
  if (owned < 1 || owned > task.classes) {
    return usage_error("data.classes-per-client: {}, want 1..{} (the classes of the source)", owned, task.classes);
  }
  ClassPools pools(task.labels, task.classes, stream);
  const auto class_of = [&](std::uint32_t client, std::uint32_t slot) { return (client + slot) % task.classes; };

  constexpr std::uint32_t kFirstShare = 5;
  std::vector<double> weights(std::size_t{task.clients} * owned);
  std::vector<double> weight_sums(task.classes, 0.0);
  std::vector<std::uint32_t> owners(task.classes, 0);
  for (std::uint32_t k = 0; k < task.clients; ++k) {
    for (std::uint32_t j = 0; j < owned; ++j) {
      const double weight = std::exp(2.0 * stream.normal());
      weights[std::size_t{k} * owned + j] = weight;
      weight_sums[class_of(k, j)] += weight;
      ++owners[class_of(k, j)];
    }
  }
  std::vector<std::uint32_t> first(task.classes, 0);
  std::vector<double> rest(task.classes, 0.0);
  std::uint32_t unowned = 0;
  for (std::uint32_t c = 0; c < task.classes; ++c) {
    if (owners[c] == 0) {
      unowned += pools.left(c) > 0 ? 1 : 0;
      continue;
    }
    first[c] = std::min(kFirstShare, pools.left(c) / owners[c]);
    rest[c] = pools.left(c) - static_cast<double>(first[c]) * owners[c];
  }

  Division division;
  division.rows.reserve(task.labels.size());
  division.offsets.reserve(task.clients + std::size_t{1});
  for (std::uint32_t k = 0; k < task.clients; ++k) {
    for (std::uint32_t j = 0; j < owned; ++j) {
      const std::uint32_t c = class_of(k, j);
      const double share = rest[c] * weights[std::size_t{k} * owned + j] / weight_sums[c];
      pools.take(c, first[c] + static_cast<std::uint32_t>(share), division.rows);
    }
    division.close_client();
  }
  if (unowned > 0) division.note = fmt::format("{} classes belong to no client", unowned);
  return division;
}

}  // namespace muster
