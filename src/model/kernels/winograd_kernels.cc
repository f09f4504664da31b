#include "model/kernels/winograd_kernels.h"

#include "model/kernels/conv_tiles.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

// Y = A^T [(G g G^T) * (B^T d B)] A with, from Lavin and Gray (2016),
//   B^T = 1  0 -1  0    G = 1    0   0     A^T = 1  1  1  0
//         0  1  1  0        1/2  1/2 1/2         0  1 -1 -1
//         0 -1  1  0        1/2 -1/2 1/2
//         0  1  0 -1        0    0   1
constexpr int kPoints = 16;

// One dimension of each transform, on values `in` apart and results `out` apart.
inline __attribute__((always_inline)) void input_line(const Vec* in, int in_step, Vec* out, int out_step) {
  out[0] = in[0] - in[2 * in_step];
  out[out_step] = in[in_step] + in[2 * in_step];
  out[2 * out_step] = in[2 * in_step] - in[in_step];
  out[3 * out_step] = in[in_step] - in[3 * in_step];
}
inline __attribute__((always_inline)) void weight_line(const Vec* in, int in_step, Vec* out, int out_step) {
  const Vec ends = 0.5f * (in[0] + in[2 * in_step]);
  const Vec middle = 0.5f * in[in_step];
  out[0] = in[0];
  out[out_step] = ends + middle;
  out[2 * out_step] = ends - middle;
  out[3 * out_step] = in[2 * in_step];
}
inline __attribute__((always_inline)) void output_line(const Vec* in, int in_step, Vec* out, int out_step) {
  out[0] = in[0] + in[in_step] + in[2 * in_step];
  out[out_step] = in[in_step] - in[2 * in_step] - in[3 * in_step];
}
// The transposes, for gradients.
inline __attribute__((always_inline)) void slope_line(const Vec* in, int in_step, Vec* out, int out_step) {
  out[0] = in[0];
  out[out_step] = in[0] + in[in_step];
  out[2 * out_step] = in[0] - in[in_step];
  out[3 * out_step] = -in[in_step];
}
inline __attribute__((always_inline)) void weight_slope_line(const Vec* in, int in_step, Vec* out, int out_step) {
  const Vec sum = 0.5f * (in[in_step] + in[2 * in_step]);
  out[0] = in[0] + sum;
  out[out_step] = 0.5f * (in[in_step] - in[2 * in_step]);
  out[2 * out_step] = sum + in[3 * in_step];
}

// Tiles worked on together, in whole rows of tiles, and how their points lie in the scratch: [point][tile][channels], a
// line apart so that points do not fall into the same cache sets.
struct Strip {
  int columns, rows;
  std::size_t in_point, out_point;
  Strip(const WinogradShape& s, int wanted) : columns(s.width / 2), rows(0) {
    rows = smaller(s.height / 2, larger(1, wanted / columns));
    const std::size_t tiles = static_cast<std::size_t>(rows) * columns;
    in_point = tiles * s.in_channels + 16;
    out_point = tiles * s.out_channels + 16;
  }
};
constexpr int kForwardTiles = 16;
constexpr int kGradientTiles = 64;

std::size_t scratch_floats(const WinogradShape& s) {
  const Strip strip(s, kGradientTiles);
  return kPoints * (strip.in_point + strip.out_point);
}

// Tile rows [row, row + rows) of the input, transformed.
void transform_input(const WinogradShape& s, const Strip& strip, int row, int rows, Images in, float* points) {
  for (int r = 0; r < rows; ++r) {
    for (int t = 0; t < strip.columns; ++t) {
      const float* from = in.data + (2 * (row + r) - 1) * static_cast<std::ptrdiff_t>(in.row) +
                          (2 * t - 1) * static_cast<std::ptrdiff_t>(in.pixel);
      float* to = points + static_cast<std::size_t>(r * strip.columns + t) * s.in_channels;
      for (int c = 0; c < s.in_channels; c += kLanes) {
        Vec d[16], half[16], v[16];
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) d[i] = load(from + (i / 4) * in.row + (i % 4) * in.pixel + c);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) input_line(d + i, 4, half + i, 4);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) input_line(half + 4 * i, 1, v + 4 * i, 1);
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) store(to + i * strip.in_point + c, v[i]);
      }
    }
  }
}

void spectrum(int in_channels, int out_channels, const float* weights, float* to) {
  const std::size_t count = static_cast<std::size_t>(in_channels) * out_channels;
  for (std::size_t at = 0; at < count; at += kLanes) {
    Vec g[9], half[12], u[16];
    for (int i = 0; i < 9; ++i) g[i] = load(weights + i * count + at);
    for (int i = 0; i < 3; ++i) weight_line(g + i, 3, half + i, 3);
    for (int i = 0; i < 4; ++i) weight_line(half + 3 * i, 1, u + 4 * i, 1);
    for (int i = 0; i < 16; ++i) store(to + i * count + at, u[i]);
  }
}

void forward(const WinogradShape& s, Images in, const float* weights, const float* bias, Images out, float* scratch) {
  const Strip strip(s, kForwardTiles);
  float* v = scratch;
  float* m = scratch + kPoints * strip.in_point;
  static const float zeros[kWidest * kLanes] = {};
  Reach reach;
  reach.depth = s.in_channels;
  reach.pixel_step = static_cast<std::size_t>(s.in_channels);
  reach.weight_step = reach.out_step = static_cast<std::size_t>(s.out_channels);
  const std::size_t weight_point = reach.pixel_step * reach.weight_step;
  for (int row = 0; row < s.height / 2; row += strip.rows) {
    const int rows = smaller(strip.rows, s.height / 2 - row);
    transform_input(s, strip, row, rows, in, v);
    for (int point = 0; point < kPoints; ++point) {
      for (int o = 0, vectors = 0; o < s.out_channels; o += vectors * kLanes) {
        vectors = vectors_for(s.out_channels - o);
        const ProductTile* tiles = product_tiles(vectors);
        const Cuts cuts(rows * strip.columns, tile_limit(vectors));
        const float* from = v + point * strip.in_point;
        float* to = m + point * strip.out_point + o;
        for (int i = 0; i < cuts.count; ++i) {
          tiles[cuts[i]](reach, from, weights + point * weight_point + o, zeros, to);
          from += cuts[i] * reach.pixel_step;
          to += cuts[i] * reach.out_step;
        }
      }
    }
    for (int r = 0; r < rows; ++r) {
      for (int t = 0; t < strip.columns; ++t) {
        const float* from = m + static_cast<std::size_t>(r * strip.columns + t) * s.out_channels;
        float* to =
            out.data + static_cast<std::size_t>(2 * (row + r)) * out.row + static_cast<std::size_t>(2 * t) * out.pixel;
        for (int o = 0; o < s.out_channels; o += kLanes) {
          Vec p[16], half[8], y[4];
          const Vec start = bias ? load(bias + o) : Vec{};
#pragma GCC unroll 16
          for (int i = 0; i < 16; ++i) p[i] = load(from + i * strip.out_point + o);
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) output_line(p + i, 4, half + i, 4);
#pragma GCC unroll 2
          for (int i = 0; i < 2; ++i) output_line(half + 4 * i, 1, y + 2 * i, 1);
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) store(to + (i / 2) * out.row + (i % 2) * out.pixel + o, y[i] + start);
        }
      }
    }
  }
}

void backward_weights(const WinogradShape& s, Images in, Images dy, float* to, float* dbias, float* scratch) {
  const Strip strip(s, kGradientTiles);
  float* v = scratch;
  float* m = scratch + kPoints * strip.in_point;
  const std::size_t in_step = static_cast<std::size_t>(s.in_channels);
  const std::size_t out_step = static_cast<std::size_t>(s.out_channels);
  for (int row = 0; row < s.height / 2; row += strip.rows) {
    const int rows = smaller(strip.rows, s.height / 2 - row);
    transform_input(s, strip, row, rows, in, v);
    for (int o = 0; o < s.out_channels; o += kLanes) {
      Vec sum{};
      for (int r = 0; r < rows; ++r) {
        for (int t = 0; t < strip.columns; ++t) {
          const float* from = dy.data + static_cast<std::size_t>(2 * (row + r)) * dy.row +
                              static_cast<std::size_t>(2 * t) * dy.pixel + o;
          float* points = m + static_cast<std::size_t>(r * strip.columns + t) * out_step + o;
          Vec d[4], half[8], p[16];
          for (int i = 0; i < 4; ++i) d[i] = load(from + (i / 2) * dy.row + (i % 2) * dy.pixel);
          sum += (d[0] + d[1]) + (d[2] + d[3]);
          for (int i = 0; i < 2; ++i) slope_line(d + i, 2, half + i, 2);
          for (int i = 0; i < 4; ++i) slope_line(half + 2 * i, 1, p + 4 * i, 1);
#pragma GCC unroll 16
          for (int i = 0; i < 16; ++i) store(points + i * strip.out_point, p[i]);
        }
      }
      if (dbias) store(dbias + o, load(dbias + o) + sum);
    }
    const Field field{1, rows * strip.columns, 0, in_step, 0, out_step};
    for (int point = 0; point < kPoints; ++point) {
      for (int o = 0, vectors = 0; o < s.out_channels; o += vectors * kLanes) {
        vectors = vectors_for(s.out_channels - o);
        const GradientTile* tiles = gradient_tiles(vectors);
        const Cuts cuts(s.in_channels, tile_limit(vectors));
        const float* x = v + point * strip.in_point;
        float* sums = to + point * in_step * out_step + o;
        for (int i = 0; i < cuts.count; ++i) {
          tiles[cuts[i]](field, x, m + point * strip.out_point + o, sums, out_step);
          x += cuts[i];
          sums += cuts[i] * out_step;
        }
      }
    }
  }
}

void add_weights(int in_channels, int out_channels, const float* from, float* dweights) {
  const std::size_t count = static_cast<std::size_t>(in_channels) * out_channels;
  for (std::size_t at = 0; at < count; at += kLanes) {
    Vec u[16], half[12], g[9];
    for (int i = 0; i < 16; ++i) u[i] = load(from + i * count + at);
    for (int i = 0; i < 4; ++i) weight_slope_line(u + i, 4, half + i, 4);
    for (int i = 0; i < 3; ++i) weight_slope_line(half + 4 * i, 1, g + 3 * i, 1);
    for (int i = 0; i < 9; ++i) store(dweights + i * count + at, load(dweights + i * count + at) + g[i]);
  }
}

}  // namespace

const WinogradKernels& winograd_kernels() {
  static constexpr WinogradKernels table{scratch_floats, spectrum, forward, backward_weights, add_weights};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
