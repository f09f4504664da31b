// Every row of one matrix with every row of another: inner products, and sums of absolute or squared differences.
// Rows are taken in a block of columns at a time, so that float sums stay short; the blocks' sums are added in double.
// What a pair of rows gives depends on the two alone, neither on their order nor on where they stand.
#pragma once

#include <cstddef>

#include "model/kernels/dispatch.h"

namespace muster {

struct PairBlock {
  std::size_t a_rows = 0;
  const float* a = nullptr;
  std::size_t b_rows = 0;
  const float* b = nullptr;
  std::size_t stride = 0;  // floats from row to row, in a and in b
  std::size_t width = 0;   // columns of the block, a multiple of 16; short rows are padded with zeros
  double* sums = nullptr;  // added to: a row per row of a, a column per row of b
  std::size_t sums_stride = 0;
};

struct PairKernels {
  void (*products)(const PairBlock& block);
  void (*absolute_differences)(const PairBlock& block);
  void (*squared_differences)(const PairBlock& block);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(PairKernels, pair_kernels)
