// Register tiles that convolutions are made of: a product of a few pixels with vectors of weights, and its counterpart
// that sums weight gradients over pixels. For kernel files only.
#pragma once

#include "model/kernels/simd.h"

namespace muster::MUSTER_ISA_SPACE {

constexpr int smaller(int a, int b) {
  return a < b ? a : b;
}
constexpr int larger(int a, int b) {
  return a > b ? a : b;
}

// How many pixels (or weight rows) a tile of V vectors may hold in registers, leaving V + 1 for operands.
constexpr int tile_limit(int vectors) {
  return smaller(16, vectors == 1 ? kRegisters - 4 : (kRegisters - vectors - 1) / vectors);
}
constexpr int kWidest = kRegisters >= 32 ? 4 : 2;

// The vectors of the next tile when this many channels are left.
inline int vectors_for(int channels) {
  for (int vectors = kWidest; vectors > 1; vectors /= 2) {
    if (channels >= vectors * kLanes) return vectors;
  }
  return 1;
}

// Cuts `total` into the fewest parts of at most `limit`, as equal as possible.
struct Cuts {
  int count, base, extra;
  Cuts(int total, int limit) : count((total + limit - 1) / limit), base(0), extra(0) {
    if (count > 0) {
      base = total / count;
      extra = total % count;
    }
  }
  int operator[](int i) const { return base + (i < extra); }
};

// The sum one tile takes: `rows` kernel rows of `parts` runs of `depth` input values.
struct Reach {
  int rows = 1, parts = 1, depth = 0;
  std::size_t row_step = 0, part_step = 0;  // in the input
  std::size_t weight_row = 0;               // between kernel rows; runs and values follow each other
  std::size_t pixel_step = 0;               // between the input pixels of neighbouring outputs
  std::size_t weight_step = 0;              // between the weights of neighbouring input values
  std::size_t out_step = 0;
};

// The pixels over which weight gradients are summed: `height` rows of `width` pixels.
struct Field {
  int height, width;
  std::size_t x_row, x_pixel, dy_row, dy_pixel;
};

// out[P pixels][V vectors] = start (or out itself, if null) + input * weights.
using ProductTile = void (*)(const Reach&, const float* x, const float* w, const float* start, float* out);
// dw[K values][V vectors] += x^T dy over the field.
using GradientTile = void (*)(const Field&, const float* x, const float* dy, float* dw, std::size_t dw_step);

// Tiles of `vectors` vectors, indexed by pixels (or values) up to tile_limit(vectors).
const ProductTile* product_tiles(int vectors);
const GradientTile* gradient_tiles(int vectors);

}  // namespace muster::MUSTER_ISA_SPACE
