#include "model/kernels/pair_kernels.h"

#include "model/kernels/simd.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

// Sums of a tile of pairs stay in registers, next to the tile's rows of a and one row of b.
constexpr int kTileA = kRegisters == 32 ? 4 : 3;
constexpr int kTileB = kRegisters == 32 ? 6 : 3;

struct Product {
  static inline __attribute__((always_inline)) Vec add(Vec sum, Vec x, Vec y) { return sum + x * y; }
};
struct AbsoluteDifference {
  static inline __attribute__((always_inline)) Vec add(Vec sum, Vec x, Vec y) {
    return sum + reinterpret_cast<Vec>(reinterpret_cast<VecInt>(x - y) & 0x7fffffff);
  }
};
struct SquaredDifference {
  static inline __attribute__((always_inline)) Vec add(Vec sum, Vec x, Vec y) { return sum + (x - y) * (x - y); }
};

template <typename Term>
inline __attribute__((always_inline)) void add_tile(const PairBlock& block, std::size_t i, std::size_t j) {
  // A tile over the edge computes its last row again: every pair goes the same way, so equal rows give equal sums.
  const float* a[kTileA];
  const float* b[kTileB];
  for (std::size_t r = 0; r < kTileA; ++r) a[r] = block.a + (i + r < block.a_rows ? i + r : i) * block.stride;
  for (std::size_t s = 0; s < kTileB; ++s) b[s] = block.b + (j + s < block.b_rows ? j + s : j) * block.stride;
  Vec sums[kTileA][kTileB]{};
  for (std::size_t c = 0; c < block.width; c += kLanes) {
    Vec x[kTileA];
#pragma GCC unroll 8
    for (int r = 0; r < kTileA; ++r) x[r] = load(a[r] + c);
#pragma GCC unroll 8
    for (int s = 0; s < kTileB; ++s) {
      const Vec y = load(b[s] + c);
#pragma GCC unroll 8
      for (int r = 0; r < kTileA; ++r) sums[r][s] = Term::add(sums[r][s], x[r], y);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kTileA; ++r) {
#pragma GCC unroll 8
    for (int s = 0; s < kTileB; ++s) {
      const float sum = add_lanes(sums[r][s]);
      const std::size_t row = i + static_cast<std::size_t>(r);
      const std::size_t column = j + static_cast<std::size_t>(s);
      if (row < block.a_rows && column < block.b_rows) block.sums[row * block.sums_stride + column] += sum;
    }
  }
}

template <typename Term>
void add_pairs(const PairBlock& block) {
  for (std::size_t i = 0; i < block.a_rows; i += kTileA) {
    for (std::size_t j = 0; j < block.b_rows; j += kTileB) add_tile<Term>(block, i, j);
  }
}

}  // namespace

const PairKernels& pair_kernels() {
  static constexpr PairKernels table{add_pairs<Product>, add_pairs<AbsoluteDifference>, add_pairs<SquaredDifference>};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
