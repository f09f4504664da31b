#include "data/feature_sums.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace muster {
namespace {

// Whether any value is missing: most tables have none, and need no second look at each value.
bool has_missing(std::span<const float> values) {
  for (const float value : values) {
    if (std::isnan(value)) return true;
  }
  return false;
}
bool has_missing(std::span<const std::uint8_t>) {
  return false;
}

// The sums of one client's rows at a time, in their order; the memory is used again.
class ClientSums {
 public:
  explicit ClientSums(std::size_t slots) : sums_(slots), total_(slots), mean_(slots), squares_(slots) {}

  // The first pass for the mean, the second for squares about it. Valid until the next call.
  template <bool kMissing, typename T>
  std::span<const FeatureSums> of(std::span<const T> values, std::size_t width, std::span<const std::uint32_t> rows) {
    const std::size_t slots = sums_.size();
    std::ranges::fill(total_, 0.0);
    std::ranges::fill(squares_, 0.0);
    for (FeatureSums& slot : sums_) slot.count = kMissing ? 0 : rows.size() * (width / slots);
    for (const std::uint32_t row : rows) {
      const T* const first = values.data() + row * width;
      for (std::size_t i = 0; i < width; i += slots) {
        for (std::size_t s = 0; s < slots; ++s) {
          const auto value = static_cast<double>(first[i + s]);
          if (kMissing && std::isnan(value)) continue;
          total_[s] += value;
          if (kMissing) ++sums_[s].count;
        }
      }
    }
    for (std::size_t s = 0; s < slots; ++s) {
      sums_[s].sum = total_[s];
      mean_[s] = sums_[s].count > 0 ? sums_[s].mean() : 0;
    }
    for (const std::uint32_t row : rows) {
      const T* const first = values.data() + row * width;
      for (std::size_t i = 0; i < width; i += slots) {
        for (std::size_t s = 0; s < slots; ++s) {
          const double distance = static_cast<double>(first[i + s]) - mean_[s];
          if (kMissing && std::isnan(distance)) continue;
          squares_[s] += distance * distance;
        }
      }
    }
    for (std::size_t s = 0; s < slots; ++s) sums_[s].squares = squares_[s];
    return sums_;
  }

 private:
  std::vector<FeatureSums> sums_;
  std::vector<double> total_;
  std::vector<double> mean_;
  std::vector<double> squares_;
};

template <typename T>
std::vector<FeatureSums> sum_clients(std::span<const T> values, std::size_t width, std::size_t slots,
                                     const OwnedRows& owned) {
  std::vector<FeatureSums> all(slots);
  ClientSums client(slots);
  const bool missing = has_missing(values);
  for (std::size_t k = 0; k + 1 < owned.offsets.size(); ++k) {
    const std::span rows =
        std::span(owned.rows).subspan(owned.offsets[k], owned.offsets[k + 1] - std::size_t{owned.offsets[k]});
    merge(missing ? client.of<true>(values, width, rows) : client.of<false>(values, width, rows), all);
  }
  return all;
}

}  // namespace

FeatureSums merged(const FeatureSums& a, const FeatureSums& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const double apart = b.mean() - a.mean();
  const auto of_a = static_cast<double>(a.count);
  const auto of_b = static_cast<double>(b.count);
  return {.count = a.count + b.count,
          .sum = a.sum + b.sum,
          .squares = a.squares + b.squares + apart * apart * (of_a * of_b / (of_a + of_b))};
}

void merge(std::span<const FeatureSums> from, std::vector<FeatureSums>& into) {
  if (into.empty()) into.resize(from.size());
  MUSTER_CHECK(into.size() == from.size(), "{} sums, {} more", into.size(), from.size());
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = merged(into[i], from[i]);
}

OwnedRows owned_rows(std::size_t rows, std::span<const std::uint32_t> owners, std::size_t owner_count,
                     const std::vector<bool>& is_test) {
  const auto trains = [&](std::size_t row) { return is_test.empty() || !is_test[row]; };
  OwnedRows owned;
  owned.offsets.assign((owners.empty() ? 1 : owner_count) + 1, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    if (trains(row)) ++owned.offsets[(owners.empty() ? 0 : owners[row]) + 1];
  }
  std::partial_sum(owned.offsets.begin(), owned.offsets.end(), owned.offsets.begin());
  owned.rows.resize(owned.offsets.back());
  std::vector<std::uint32_t> next(owned.offsets.begin(), owned.offsets.end() - 1);
  for (std::size_t row = 0; row < rows; ++row) {
    if (trains(row)) owned.rows[next[owners.empty() ? 0 : owners[row]]++] = static_cast<std::uint32_t>(row);
  }
  return owned;
}

std::vector<FeatureSums> sums_of(std::span<const float> values, std::size_t width, std::size_t slots,
                                 const OwnedRows& owned) {
  return sum_clients(values, width, slots, owned);
}

std::vector<FeatureSums> sums_of(std::span<const std::uint8_t> values, std::size_t width, std::size_t slots,
                                 const OwnedRows& owned) {
  return sum_clients(values, width, slots, owned);
}

std::vector<FeatureSums> by_channel(std::span<const FeatureSums> features, std::size_t channels) {
  std::vector<FeatureSums> sums(channels);
  for (std::size_t i = 0; i < features.size(); ++i) sums[i % channels] = merged(sums[i % channels], features[i]);
  return sums;
}

void standardise(std::span<const FeatureSums> sums, double epsilon, std::vector<float>& scale,
                 std::vector<float>& offset) {
  scale.assign(sums.size(), 0.0f);
  offset.assign(sums.size(), 0.0f);
  for (std::size_t s = 0; s < sums.size(); ++s) {
    if (sums[s].count == 0) {
      scale[s] = 1.0f;
      continue;
    }
    const double mean = sums[s].mean();
    const double deviation = std::sqrt(sums[s].squares / static_cast<double>(sums[s].count));
    // Rounding leaves a constant column of large numbers with a deviation of this order instead of 0.
    if (deviation <= 1e-12 * std::abs(mean)) continue;
    const auto factor = static_cast<float>(1 / (deviation + epsilon));
    const auto shift = static_cast<float>(-mean / (deviation + epsilon));
    // A deviation that no float can be divided by is none either.
    if (!std::isfinite(factor) || !std::isfinite(shift)) continue;
    scale[s] = factor;
    offset[s] = shift;
  }
}

}  // namespace muster
