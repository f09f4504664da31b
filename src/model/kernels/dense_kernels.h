// Products of dense and recurrent layers: rows of activations times a weight matrix kept as panels of outputs.
//
// Packed weights of an `in` x `out` matrix: blocks of `block` inputs; in a block, panels of 32 outputs (the last one 16
// if the padded number of outputs is an odd multiple of 16); in a panel, one line of 32 or 16 outputs per input. So all
// three products of a training step read and write memory in order, and a block of a large matrix stays in the L2 cache
// between the two products of the backward pass.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/kernels/dispatch.h"

namespace muster {

struct DenseShape {
  std::uint32_t in = 0;
  std::uint32_t out = 0;         // as in the flat vector
  std::uint32_t out_padded = 0;  // multiple of 16
  std::uint32_t block = 0;       // inputs per block

  [[nodiscard]] std::size_t packed() const { return std::size_t{in} * out_padded; }
  [[nodiscard]] std::uint32_t blocks() const { return (in + block - 1) / block; }
};

// Strides are in floats. Rows of z, dz and dx are padded to 16 floats, written whole, and zero beyond their width.
struct DenseKernels {
  // z = x w + bias (bias null: z += x w), then ReLU if asked.
  void (*forward)(const DenseShape& shape, std::size_t rows, const float* x, std::size_t x_stride, const float* w,
                  const float* bias, float* z, std::size_t z_stride, bool relu);
  // dx = dz w^T for inputs of blocks [first, last); zero where `mask` (stride as dx) is not positive, unless null.
  // `scratch` holds 32 * out_padded floats.
  void (*backward)(const DenseShape& shape, std::uint32_t first, std::uint32_t last, std::size_t rows, const float* dz,
                   std::size_t dz_stride, const float* w, const float* mask, float* dx, std::size_t dx_stride,
                   float* scratch);
  // dx = dz w^T, or with `add` dx += dz w^T, for a few inputs [from, to) alone. For matrices of one block.
  void (*backward_few)(const DenseShape& shape, std::uint32_t from, std::uint32_t to, std::size_t rows, const float* dz,
                       std::size_t dz_stride, const float* w, bool add, float* dx, std::size_t dx_stride);
  // target += scale * x^T dz for blocks [first, last); `target` is where block `first` begins. If `ahead` is not null
  // it is brought into the cache meanwhile, line by line at the pace of the work.
  void (*update)(const DenseShape& shape, std::uint32_t first, std::uint32_t last, std::size_t rows, const float* x,
                 std::size_t x_stride, const float* dz, std::size_t dz_stride, float scale, float* target,
                 const float* ahead);
  // target += scale * sum of the rows of dz
  void (*update_bias)(std::size_t rows, std::size_t width, const float* dz, std::size_t dz_stride, float scale,
                      float* target);
  // z = lines `lines` of w, + bias, then ReLU if asked. For matrices of one block.
  void (*pick)(const DenseShape& shape, std::size_t rows, const std::uint32_t* lines, const float* w, const float* bias,
               float* z, std::size_t z_stride, bool relu);
  // w^T as panels of 32 inputs (the last 16 if odd), each with one line per output: a packed matrix of one block with
  // inputs and outputs exchanged. `transposed` holds padded(in) * out floats.
  void (*transpose)(const DenseShape& shape, const float* w, float* transposed);
  // Between the flat [in][out] and the packed matrix.
  void (*pack)(const DenseShape& shape, const float* flat, float* packed);
  void (*unpack)(const DenseShape& shape, const float* packed, float* flat);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(DenseKernels, dense_kernels)
