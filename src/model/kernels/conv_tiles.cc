#include "model/kernels/conv_tiles.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

template <int P, int V>
void product_tile(const Reach& reach, const float* x, const float* w, const float* start, float* out) {
  // Three pixels share a base pointer, through the addressing mode base + {0, 1, 2} * step.
  constexpr int kBases = (P + 2) / 3;
  constexpr int kUnroll = 4;
  const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(reach.pixel_step);
  const std::ptrdiff_t ws = static_cast<std::ptrdiff_t>(reach.weight_step);
  Vec acc[P][V];
  for (int p = 0; p < P; ++p) {
    for (int v = 0; v < V; ++v) acc[p][v] = load((start ? start : out + p * reach.out_step) + v * kLanes);
  }
  for (int r = 0; r < reach.rows; ++r) {
    const float* wp = w + r * reach.weight_row;
    for (int s = 0; s < reach.parts; ++s) {
      const float* base[kBases];
      for (int b = 0; b < kBases; ++b) base[b] = x + r * reach.row_step + s * reach.part_step + 3 * b * step;
      int k = 0;
      for (; k + kUnroll <= reach.depth; k += kUnroll) {
#pragma GCC unroll 4
        for (int u = 0; u < kUnroll; ++u) {
          Vec weight[V];
#pragma GCC unroll 4
          for (int v = 0; v < V; ++v) weight[v] = load(wp + v * kLanes);
#pragma GCC unroll 16
          for (int p = 0; p < P; ++p) {
            const Vec value = splat(base[p / 3][(p % 3) * step + u]);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) acc[p][v] += value * weight[v];
          }
          wp += ws;
        }
        for (int b = 0; b < kBases; ++b) base[b] += kUnroll;
      }
      for (; k < reach.depth; ++k) {
        Vec weight[V];
        for (int v = 0; v < V; ++v) weight[v] = load(wp + v * kLanes);
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) {
          const Vec value = splat(base[p / 3][(p % 3) * step]);
          for (int v = 0; v < V; ++v) acc[p][v] += value * weight[v];
        }
        wp += ws;
        for (int b = 0; b < kBases; ++b) base[b] += 1;
      }
    }
  }
  for (int p = 0; p < P; ++p) {
    for (int v = 0; v < V; ++v) store(out + p * reach.out_step + v * kLanes, acc[p][v]);
  }
}

template <int K, int V>
void gradient_tile(const Field& field, const float* x, const float* dy, float* dw, std::size_t dw_step) {
  Vec acc[K][V];
  for (int k = 0; k < K; ++k) {
    for (int v = 0; v < V; ++v) acc[k][v] = load(dw + k * dw_step + v * kLanes);
  }
  for (int y = 0; y < field.height; ++y) {
    const float* xp = x + y * field.x_row;
    const float* dp = dy + y * field.dy_row;
    for (int i = 0; i < field.width; ++i) {
      Vec slope[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) slope[v] = load(dp + v * kLanes);
#pragma GCC unroll 16
      for (int k = 0; k < K; ++k) {
        const Vec value = splat(xp[k]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[k][v] += value * slope[v];
      }
      xp += field.x_pixel;
      dp += field.dy_pixel;
    }
  }
  for (int k = 0; k < K; ++k) {
    for (int v = 0; v < V; ++v) store(dw + k * dw_step + v * kLanes, acc[k][v]);
  }
}

template <int P, int V>
constexpr ProductTile product_or_null() {
  if constexpr (P <= tile_limit(V)) {
    return product_tile<P, V>;
  } else {
    return nullptr;
  }
}
template <int K, int V>
constexpr GradientTile gradient_or_null() {
  if constexpr (K <= tile_limit(V)) {
    return gradient_tile<K, V>;
  } else {
    return nullptr;
  }
}

#define MUSTER_TILES(tile, V)                                                                                  \
  {                                                                                                            \
    nullptr, tile<1, V>(), tile<2, V>(), tile<3, V>(), tile<4, V>(), tile<5, V>(), tile<6, V>(), tile<7, V>(), \
        tile<8, V>(), tile<9, V>(), tile<10, V>(), tile<11, V>(), tile<12, V>(), tile<13, V>(), tile<14, V>(), \
        tile<15, V>(), tile<16, V>()                                                                           \
  }
// Indexed by log2 of the vectors, then by pixels (or values).
constexpr ProductTile kProductTiles[3][17] = {MUSTER_TILES(product_or_null, 1), MUSTER_TILES(product_or_null, 2),
                                              MUSTER_TILES(product_or_null, kWidest)};
constexpr GradientTile kGradientTiles[3][17] = {MUSTER_TILES(gradient_or_null, 1), MUSTER_TILES(gradient_or_null, 2),
                                                MUSTER_TILES(gradient_or_null, kWidest)};
#undef MUSTER_TILES

constexpr int log_of(int vectors) {
  return vectors == 4 ? 2 : vectors - 1;
}

}  // namespace

const ProductTile* product_tiles(int vectors) {
  return kProductTiles[log_of(vectors)];
}
const GradientTile* gradient_tiles(int vectors) {
  return kGradientTiles[log_of(vectors)];
}

}  // namespace muster::MUSTER_ISA_SPACE
