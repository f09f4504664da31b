// The laws behind partition.h, one per file, and what they share: shuffled pools of rows per class, and client sizes.
#pragma once

#include "data/partition.h"

namespace muster {

Result<Division> divide_natural(const PartitionTask&, const DataOptions&, Stream&);
Result<Division> divide_iid(const PartitionTask&, const DataOptions&, Stream&);
Result<Division> divide_dirichlet(const PartitionTask&, const DataOptions&, Stream&);
Result<Division> divide_dirichlet_classes(const PartitionTask&, const DataOptions&, Stream&);
Result<Division> divide_dirichlet_truncated(const PartitionTask&, const DataOptions&, Stream&);
Result<Division> divide_classes_per_client(const PartitionTask&, const DataOptions&, Stream&);
Result<Division> divide_shards(const PartitionTask&, const DataOptions&, Stream&);
Result<Division> divide_label_groups(const PartitionTask&, const DataOptions&, Stream&);
Result<Division> divide_rotations(const PartitionTask&, const DataOptions&, Stream&);
Result<Division> divide_rotated_copies(const PartitionTask&, const DataOptions&, Stream&);

// The rows of each class in random order, handed out without replacement.
class ClassPools {
 public:
  ClassPools(std::span<const std::int32_t> labels, std::uint32_t classes, Stream& stream);

  [[nodiscard]] std::uint32_t classes() const { return static_cast<std::uint32_t>(next_.size()); }
  [[nodiscard]] std::uint32_t left(std::uint32_t label) const { return ends_[label] - next_[label]; }
  // Appends up to `count` rows of the class to `out`; gives how many there were.
  std::uint32_t take(std::uint32_t label, std::uint32_t count, std::vector<std::uint32_t>& out);
  // All rows, class after class, in the shuffled order.
  [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_; }

 private:
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> next_;  // per class, a position in rows_
  std::vector<std::uint32_t> ends_;
};

// Sizes of the clients: `rows` divided as equally as possible (the first get one more), or drawn from
// U{samples-min..samples-max} when these are set; draws that exceed `rows` together are shrunk towards the minimum and
// `note` says so.
Result<std::vector<std::uint32_t>> client_sizes(const PartitionTask& task, const DataOptions& options, Stream& stream,
                                                std::string& note);

// options.alpha or 0.5; fails on a negative value or NaN. Infinity is fine.
Result<double> dirichlet_alpha(const DataOptions& options);

// Concentrations below this act like it: the logarithm of a smaller draw would overflow.
inline constexpr double kSmallestAlpha = 1e-100;

}  // namespace muster
