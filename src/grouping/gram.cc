#include "grouping/gram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "model/kernels/pair_kernels.h"

namespace muster {
namespace {

constexpr std::uint32_t kMostClients = 20'000;  // 3.2 GB for a matrix of all pairs

constexpr std::size_t kBlock = 1024;             // columns; longer float sums would lose digits
constexpr std::size_t kLine = 16;                // floats in a cache line, and the kernels' unit
constexpr std::size_t kStride = kBlock + kLine;  // a power of two would put all rows in the same cache sets
constexpr std::uint32_t kStrip = 12;             // rows per kernel call: a multiple of every kernel's tile
constexpr std::uint32_t kBand = 120;             // rows that stay in the L2 cache meanwhile
constexpr std::size_t kSmall = 1u << 22;         // terms that are summed in double in a few milliseconds

double product(double x, double y) {
  return x * y;
}
double absolute_difference(double x, double y) {
  return std::abs(x - y);
}
double squared_difference(double x, double y) {
  return (x - y) * (x - y);
}

using Term = double (*)(double, double);
using Kernel = decltype(PairKernels::products);

// Eight sums side by side: one alone would wait for each addition.
template <Term term, typename T>
double sum_in_double(std::span<const T> x, std::span<const T> y) {
  constexpr std::size_t kSums = 8;
  std::array<double, kSums> sums{};
  std::size_t c = 0;
  for (; c + kSums <= x.size(); c += kSums) {
    for (std::size_t s = 0; s < kSums; ++s) sums[s] += term(x[c + s], y[c + s]);
  }
  for (; c < x.size(); ++c) sums[0] += term(x[c], y[c]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

void mirror(Rows<double>& square) {
  constexpr std::uint32_t kTile = 16;  // both sides of a tile stay in the cache
  const std::uint32_t count = square.count();
  for (std::uint32_t i0 = 0; i0 < count; i0 += kTile) {
    for (std::uint32_t j0 = 0; j0 <= i0; j0 += kTile) {
      for (std::uint32_t i = i0; i < std::min(i0 + kTile, count); ++i) {
        for (std::uint32_t j = j0; j < std::min(j0 + kTile, i); ++j) square.row(j)[i] = square.row(i)[j];
      }
    }
  }
}

std::vector<double> mean_of(const RowsView<float>& rows, std::size_t begin, std::size_t width) {
  std::vector<double> mean(width);
  for (std::uint32_t i = 0; i < rows.count(); ++i) {
    const std::span<const float> row = rows.row(i).subspan(begin, width);
    for (std::size_t c = 0; c < width; ++c) mean[c] += row[c];
  }
  for (double& value : mean) value /= rows.count();
  return mean;
}

template <Term term>
Rows<double> pairs_in_double(const RowsView<float>& rows, Centring centring) {
  const std::uint32_t count = rows.count();
  Rows<double> sums(count, count);
  if (centring == Centring::kNone) {
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t j = 0; j <= i; ++j) sums.row(i)[j] = sum_in_double<term>(rows.row(i), rows.row(j));
    }
  } else {
    const std::vector<double> mean = mean_of(rows, 0, rows.width);
    Rows<double> centred(count, rows.width);
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < rows.width; ++c) centred.row(i)[c] = rows.row(i)[c] - mean[c];
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t j = 0; j <= i; ++j) {
        sums.row(i)[j] = sum_in_double<term>(centred.view().row(i), centred.view().row(j));
      }
    }
  }
  return sums;
}

Rows<double> pairs_in_blocks(const RowsView<float>& rows, Kernel kernel, Centring centring) {
  const std::uint32_t count = rows.count();
  Rows<double> sums(count, count);
  std::vector<float> storage(count * kStride + kLine);
  float* const panel = storage.data() + (kLine - reinterpret_cast<std::uintptr_t>(storage.data()) / 4 % kLine) % kLine;
  for (std::size_t begin = 0; begin < rows.width; begin += kBlock) {
    const std::size_t width = std::min(kBlock, rows.width - begin);
    const std::size_t padded = (width + kLine - 1) / kLine * kLine;
    const std::vector<double> mean = centring == Centring::kMean ? mean_of(rows, begin, width) : std::vector<double>();
    for (std::uint32_t i = 0; i < count; ++i) {
      const float* const from = rows.row(i).data() + begin;
      float* const to = panel + i * kStride;
      if (centring == Centring::kMean) {
        for (std::size_t c = 0; c < width; ++c) to[c] = static_cast<float>(from[c] - mean[c]);
      } else {
        std::copy_n(from, width, to);
      }
      std::fill(to + width, to + padded, 0.0f);
    }
    for (std::uint32_t j = 0; j < count; j += kBand) {
      for (std::uint32_t i = j; i < count; i += kStrip) {
        const std::uint32_t a_rows = std::min(kStrip, count - i);
        kernel({.a_rows = a_rows,
                .a = panel + i * kStride,
                .b_rows = std::min(kBand, i + a_rows - j),
                .b = panel + j * kStride,
                .stride = kStride,
                .width = padded,
                .sums = sums.row(i).data() + j,
                .sums_stride = count});
      }
    }
  }
  return sums;
}

template <Term term>
Rows<double> pairs(const RowsView<float>& rows, Kernel kernel, Centring centring) {
  const std::uint32_t count = rows.count();
  Rows<double> sums;
  if (std::size_t{count} * (count + 1) / 2 * rows.width <= kSmall) {
    sums = pairs_in_double<term>(rows, centring);
  } else {
    sums = pairs_in_blocks(rows, kernel, centring);
    bool finite = true;
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t j = 0; j <= i; ++j) finite = finite && std::isfinite(sums.row(i)[j]);
    }
    if (!finite) sums = pairs_in_double<term>(rows, centring);
  }
  mirror(sums);
  return sums;
}

}  // namespace

Status check_pairs(const char* method, std::uint32_t clients) {
  if (clients <= kMostClients) return {};
  return usage_error(
      "grouping.method: {} compares every pair of an edge's clients and would run out of memory with {}, want at most "
      "{}",
      method, clients, kMostClients);
}

Rows<double> gram(const RowsView<float>& rows, Centring centring) {
  return pairs<product>(rows, pair_kernels().products, centring);
}

Rows<double> l1_distances(const RowsView<float>& rows) {
  return pairs<absolute_difference>(rows, pair_kernels().absolute_differences, Centring::kNone);
}

Rows<double> l2_distances(const RowsView<float>& rows) {
  Rows<double> distances = pairs<squared_difference>(rows, pair_kernels().squared_differences, Centring::kNone);
  for (double& value : distances.values) value = std::sqrt(value);
  return distances;
}

void normalize_gram(Rows<double>& gram) {
  const std::uint32_t count = gram.count();
  std::vector<double> squares(count);
  for (std::uint32_t i = 0; i < count; ++i) squares[i] = gram.row(i)[i];
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t j = 0; j < count; ++j) {
      // The root of the product, not the product of roots: it is exact for equal rows.
      const double lengths = std::sqrt(squares[i] * squares[j]);
      double& entry = gram.row(i)[j];
      entry = i == j ? 1.0 : lengths > 0 ? std::clamp(entry / lengths, -1.0, 1.0) : 0.0;
    }
  }
}

double mean_length(const RowsView<float>& rows) {
  double squares = 0;
  for (const double value : mean_of(rows, 0, rows.width)) squares += value * value;
  return std::sqrt(squares);
}

}  // namespace muster
