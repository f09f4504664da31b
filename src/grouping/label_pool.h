// The clients that are not yet in a group, laid out so that their inner products with a growing group are fast: label
// counts class by class, |h|^2 and n of each client, and <b, h> for the group's counts b, kept up as members join.
// Numbers are approximate if they do not fit Real; how far off they can be is known (roundings()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rows.h"

namespace muster {

// A client's place among the stored ones; ascending places are ascending clients. remove() renumbers places.
using Place = std::uint32_t;

template <typename Real>  // float or double
class LabelPool {
 public:
  // `clients` ascending, none without label counts.
  LabelPool(const RowsView<std::uint32_t>& labels, std::span<const std::uint32_t> clients);

  [[nodiscard]] std::uint32_t size() const { return size_; }
  // Places in use, some of which may be vacant: then their squares are infinite.
  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(clients_.size()); }
  [[nodiscard]] std::uint32_t client(Place place) const { return clients_[place]; }
  // The place of the client with `rank` smaller ones in the pool. Precondition: rank < size().
  [[nodiscard]] Place place_of(std::uint32_t rank) const;
  void remove(Place place);

  [[nodiscard]] std::span<const Real> totals() const { return totals_; }
  [[nodiscard]] std::span<const Real> squares() const { return squares_; }
  [[nodiscard]] std::span<const Real> dots() const { return dots_; }

  // Begins a group without members: all inner products are 0.
  void begin_group();
  // A client with these counts joins; `group` are the counts of the group with it.
  void join(std::span<const std::uint32_t> client, std::span<const std::uint64_t> group);
  // Every dot is exact up to so many relative roundings of Real.
  [[nodiscard]] std::uint64_t roundings() const { return roundings_; }

 private:
  void compact();

  std::size_t classes_;
  std::uint32_t size_;
  std::size_t stride_;        // of counts_, the first number of places
  std::vector<Real> counts_;  // [class][place]
  std::vector<std::uint32_t> clients_;
  std::vector<Real> totals_, squares_, dots_;
  std::uint64_t roundings_ = 0;
};

extern template class LabelPool<float>;
extern template class LabelPool<double>;

// scores[i] = (squares + 2 dots[i] + squares[i]) / (total + totals[i])^2 for a group of `squares` and `total`; the
// smallest score of each kScoreBlock places goes to `lows`, the smallest of all is returned.
inline constexpr std::size_t kScoreBlock = 512;
float score_joins(const LabelPool<float>& pool, float squares, float total, std::vector<float>& scores,
                  std::vector<float>& lows);

}  // namespace muster
