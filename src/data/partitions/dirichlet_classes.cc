// dirichlet-classes: the split of FedSeq's code. Class by class, its samples are spread over the clients that hold
// fewer than N/K so far, in proportions ~ Dir(alpha * 1), cut at floor(cumulative share * n_c). Of 100 such splits the
// one with the smallest deviation of client sizes is kept. alpha = 0: sorted by class and cut into K shards.
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/partitions/laws.h"

namespace muster {
namespace {

constexpr std::uint32_t kDraws = 100;

// One split as counts[client * classes + class], drawn from `stream`. Gives the variance of client sizes.
class Spread {
 public:
  Spread(const PartitionTask& task, const ClassPools& pools, double alpha)
      : clients_(task.clients),
        full_(static_cast<double>(task.labels.size()) / task.clients),
        alpha_(std::max(alpha, kSmallestAlpha)),
        pools_(pools),
        sizes_(task.clients),
        counts_(std::size_t{task.clients} * task.classes) {}

  double draw(Stream stream) {
    std::ranges::fill(sizes_, 0);
    std::ranges::fill(counts_, 0);
    for (std::uint32_t c = 0; c < pools_.classes(); ++c) spread_class(c, stream);
    double variance = 0;
    for (const std::uint32_t size : sizes_) variance += (size - full_) * (size - full_);
    return variance / clients_;
  }

  [[nodiscard]] std::uint32_t count(std::uint32_t client, std::uint32_t label) const {
    return counts_[std::size_t{client} * pools_.classes() + label];
  }

 private:
  void spread_class(std::uint32_t label, Stream& stream) {
    const std::uint32_t rows = pools_.left(label);
    if (rows == 0) return;
    // Zeroing the full clients of a Dirichlet draw and renormalising is a Dirichlet draw over the others. There is
    // always another: were all full, all N samples would have been given.
    open_.clear();
    for (std::uint32_t k = 0; k < clients_; ++k) {
      if (sizes_[k] < full_) open_.push_back(k);
    }
    shares_.assign(open_.size(), 1.0 / static_cast<double>(open_.size()));
    if (std::isfinite(alpha_)) {
      concentration_.assign(open_.size(), alpha_);
      stream.dirichlet(concentration_, shares_);
    }
    double cumulative = 0;
    std::uint32_t given = 0;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      cumulative += shares_[i];
      const std::uint32_t until =
          i + 1 == open_.size() ? rows : std::min(rows, static_cast<std::uint32_t>(cumulative * rows));
      counts_[std::size_t{open_[i]} * pools_.classes() + label] = until - given;
      sizes_[open_[i]] += until - given;
      given = until;
    }
  }

  std::uint32_t clients_;
  double full_;
  double alpha_;
  const ClassPools& pools_;
  std::vector<std::uint32_t> sizes_;
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> open_;
  std::vector<double> concentration_;
  std::vector<double> shares_;
};

Division sorted_shards(const PartitionTask& task, const ClassPools& pools, Stream& stream) {
  std::vector<std::uint32_t> order(task.clients);
  for (std::uint32_t k = 0; k < task.clients; ++k) order[k] = k;
  stream.shuffle(std::span(order));
  Division division;
  division.rows.reserve(task.labels.size());
  const std::uint64_t rows = task.labels.size();
  for (const std::uint64_t shard : order) {
    const std::uint64_t begin = rows * shard / task.clients;
    const std::uint64_t end = rows * (shard + 1) / task.clients;
    for (std::uint64_t i = begin; i < end; ++i) division.rows.push_back(pools.rows()[i]);
    division.close_client();
  }
  return division;
}

}  // namespace

Result<Division> divide_dirichlet_classes(const PartitionTask& task, const DataOptions& options, Stream& stream) {
  MUSTER_ASSIGN(const double alpha, dirichlet_alpha(options));
  ClassPools pools(task.labels, task.classes, stream);
  if (alpha == 0) return sorted_shards(task, pools, stream);

  // Only the seed of the best draw is kept; it is drawn once more at the end.
  Spread spread(task, pools, alpha);
  const std::uint64_t seed = stream.next64();
  const auto stream_of = [&](std::uint32_t draw) {
    return Stream({.seed = seed, .purpose = Purpose::kPartition, .id = draw});
  };
  std::uint32_t best = 0;
  double best_variance = std::numeric_limits<double>::infinity();
  for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
    if (const double variance = spread.draw(stream_of(draw)); variance < best_variance) {
      best_variance = variance;
      best = draw;
    }
  }
  spread.draw(stream_of(best));

  Division division;
  division.rows.reserve(task.labels.size());
  for (std::uint32_t k = 0; k < task.clients; ++k) {
    for (std::uint32_t c = 0; c < task.classes; ++c) pools.take(c, spread.count(k, c), division.rows);
    division.close_client();
  }
  return division;
}

}  // namespace muster
