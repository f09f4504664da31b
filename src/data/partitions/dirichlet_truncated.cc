// dirichlet-truncated: the split of Group-FEL's code. n_k ~ U{samples-min..samples-max} (20..200), q_k ~ Dir(alpha *
// 1); client k takes floor(n_k * q_kc) unused samples of class c, or as many as are left. What rounding cuts off is
// nobody's.
#include <algorithm>
#include <cmath>

#include "data/partitions/laws.h"

namespace muster {

Result<Division> divide_dirichlet_truncated(const PartitionTask& task, const DataOptions& options, Stream& stream) {
  MUSTER_ASSIGN(const double alpha, dirichlet_alpha(options));
  const auto [low, high] = truncated_bounds_of(options);
  if (low > high) return usage_error("data.samples-min: {}, want at most samples-max = {}", low, high);

  ClassPools pools(task.labels, task.classes, stream);
  Division division;
  division.rows.reserve(std::min<std::uint64_t>(task.labels.size(), std::uint64_t{task.clients} * high));
  division.offsets.reserve(task.clients + std::size_t{1});
  const std::vector<double> concentration(task.classes, std::max(alpha, kSmallestAlpha));
  std::vector<double> mix(task.classes);
  std::uint32_t short_clients = 0;
  for (std::uint32_t k = 0; k < task.clients; ++k) {
    const std::uint32_t size = low + stream.below(std::max(1u, high - low + 1));
    if (std::isfinite(alpha)) {
      stream.dirichlet(concentration, mix);
    } else {
      std::ranges::fill(mix, 1.0 / task.classes);
    }
    bool short_of_samples = false;
    for (std::uint32_t c = 0; c < task.classes; ++c) {
      const auto count = static_cast<std::uint32_t>(size * mix[c]);
      short_of_samples |= pools.take(c, count, division.rows) < count;
    }
    short_clients += short_of_samples ? 1 : 0;
    division.close_client();
  }
  if (short_clients > 0)
    division.note = fmt::format("{} clients met an empty class and hold fewer samples", short_clients);
  return division;
}

}  // namespace muster
