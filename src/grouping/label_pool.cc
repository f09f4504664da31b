#include "grouping/label_pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/isa.h"
#include "grouping/label_spread.h"

#define MUSTER_INLINE static inline __attribute__((always_inline))

namespace muster {
namespace {

constexpr std::size_t kBlock = 2048;         // places whose dots stay in the fastest cache while columns pass by
constexpr std::uint64_t kAtMostAdded = 512;  // columns, before dots are computed afresh

template <typename Real>
struct Column {
  const Real* counts;
  Real factor;
};

template <typename Real>
MUSTER_INLINE void add_columns_plain(std::span<const Column<Real>> columns, Real* __restrict dots, std::size_t count) {
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = std::min(count, begin + kBlock);
    std::size_t j = 0;
    for (; j + 4 <= columns.size(); j += 4) {
      const Column<Real> a = columns[j], b = columns[j + 1], c = columns[j + 2], d = columns[j + 3];
      for (std::size_t i = begin; i < end; ++i) {
        dots[i] +=
            (a.factor * a.counts[i] + b.factor * b.counts[i]) + (c.factor * c.counts[i] + d.factor * d.counts[i]);
      }
    }
    for (; j < columns.size(); ++j) {
      const Column<Real> a = columns[j];
      for (std::size_t i = begin; i < end; ++i) dots[i] += a.factor * a.counts[i];
    }
  }
}

struct ScoreInput {
  const float* squares;
  const float* totals;
  const float* dots;
  float group_squares;
  float group_total;
};

// The smallest score of a block. Scores are not negative, so their bits order as they do, and integers have a minimum
// that needs no care for NaN.
MUSTER_INLINE float score_block_plain(const ScoreInput& in, float* __restrict scores, std::size_t count) {
  std::int32_t low = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = 0; i < count; ++i) {
    const float total = in.group_total + in.totals[i];
    scores[i] = (in.group_squares + 2 * in.dots[i] + in.squares[i]) / (total * total);
    low = std::min(low, std::bit_cast<std::int32_t>(scores[i]));
  }
  return std::bit_cast<float>(low);
}

#define MUSTER_VERSION(isa, attributes)                                                                   \
  namespace isa {                                                                                         \
  attributes void add_columns(std::span<const Column<float>> columns, float* dots, std::size_t count) {   \
    add_columns_plain(columns, dots, count);                                                              \
  }                                                                                                       \
  attributes void add_columns(std::span<const Column<double>> columns, double* dots, std::size_t count) { \
    add_columns_plain(columns, dots, count);                                                              \
  }                                                                                                       \
  attributes float score_block(const ScoreInput& in, float* scores, std::size_t count) {                  \
    return score_block_plain(in, scores, count);                                                          \
  }                                                                                                       \
  }
MUSTER_VERSION(baseline, )
#if defined(__x86_64__)
MUSTER_VERSION(avx2, MUSTER_FOR_AVX2)
MUSTER_VERSION(avx512, MUSTER_FOR_AVX512)
#define MUSTER_CALL(function, ...)                               \
  (current_isa() == Isa::kAvx512 ? avx512::function(__VA_ARGS__) \
   : current_isa() == Isa::kAvx2 ? avx2::function(__VA_ARGS__)   \
                                 : baseline::function(__VA_ARGS__))
#else
#define MUSTER_CALL(function, ...) baseline::function(__VA_ARGS__)
#endif

}  // namespace

template <typename Real>
LabelPool<Real>::LabelPool(const RowsView<std::uint32_t>& labels, std::span<const std::uint32_t> clients)
    : classes_(labels.width),
      size_(static_cast<std::uint32_t>(clients.size())),
      stride_(clients.size()),
      counts_(classes_ * stride_),
      clients_(clients.begin(), clients.end()),
      totals_(stride_),
      squares_(stride_),
      dots_(stride_) {
  for (std::size_t i = 0; i < stride_; ++i) {
    const auto row = labels.row(clients[i]);
    for (std::size_t y = 0; y < classes_; ++y) counts_[y * stride_ + i] = static_cast<Real>(row[y]);
    const LabelSpread spread = spread_of(row);
    totals_[i] = static_cast<Real>(spread.total);
    squares_[i] = static_cast<Real>(spread.squares);
  }
}

template <typename Real>
Place LabelPool<Real>::place_of(std::uint32_t rank) const {
  Place place = 0;
  for (;; ++place) {
    if (squares_[place] == std::numeric_limits<Real>::infinity()) continue;
    if (rank-- == 0) return place;
  }
}

template <typename Real>
void LabelPool<Real>::remove(Place place) {
  squares_[place] = std::numeric_limits<Real>::infinity();
  --size_;
  if (std::size_t{size_} * 8 < clients_.size() * 7) compact();
}

template <typename Real>
void LabelPool<Real>::compact() {
  std::vector<Place> kept;
  kept.reserve(size_);
  for (Place place = 0; place < places(); ++place) {
    if (squares_[place] < std::numeric_limits<Real>::infinity()) kept.push_back(place);
  }
  const auto close_up = [&](auto* values) {
    for (std::size_t i = 0; i < kept.size(); ++i) values[i] = values[kept[i]];
  };
  for (std::size_t y = 0; y < classes_; ++y) close_up(counts_.data() + y * stride_);
  close_up(clients_.data());
  clients_.resize(size_);
  for (std::vector<Real>* values : {&totals_, &squares_, &dots_}) {
    close_up(values->data());
    values->resize(size_);
  }
}

template <typename Real>
void LabelPool<Real>::begin_group() {
  std::ranges::fill(dots_, Real{0});
  roundings_ = 0;
}

template <typename Real>
void LabelPool<Real>::join(std::span<const std::uint32_t> client, std::span<const std::uint64_t> group) {
  const bool afresh = roundings_ > kAtMostAdded;
  if (afresh) begin_group();
  std::vector<Column<Real>> columns;
  for (std::size_t y = 0; y < classes_; ++y) {
    const auto factor = afresh ? static_cast<Real>(group[y]) : static_cast<Real>(client[y]);
    if (factor != 0) columns.push_back({counts_.data() + y * stride_, factor});
  }
  roundings_ += columns.size() + 3;  // both factors and their product as well
  MUSTER_CALL(add_columns, columns, dots_.data(), dots_.size());
}

template class LabelPool<float>;
template class LabelPool<double>;

float score_joins(const LabelPool<float>& pool, float squares, float total, std::vector<float>& scores,
                  std::vector<float>& lows) {
  const std::size_t count = pool.places();
  scores.resize(count);
  lows.clear();
  float low = std::numeric_limits<float>::infinity();
  for (std::size_t begin = 0; begin < count; begin += kScoreBlock) {
    const ScoreInput in{.squares = pool.squares().data() + begin,
                        .totals = pool.totals().data() + begin,
                        .dots = pool.dots().data() + begin,
                        .group_squares = squares,
                        .group_total = total};
    lows.push_back(MUSTER_CALL(score_block, in, scores.data() + begin, std::min(kScoreBlock, count - begin)));
    low = std::min(low, lows.back());
  }
  return low;
}

}  // namespace muster
