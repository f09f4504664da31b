#include "model/kernels/winograd_kernels.h"

#include "model/kernels/conv_tiles.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

#define MUSTER_LINE static inline __attribute__((always_inline)) void

// Y = A^T [(G g G^T) * (B^T d B)] A, the matrices from Lavin and Gray (2016). An algorithm states one dimension of each
// transform, on values next to each other and results `step` apart; the slopes are the transposes, for gradients.
//   B^T = 1  0 -1  0    G = 1    0   0     A^T = 1  1  1  0
//         0  1  1  0        1/2  1/2 1/2         0  1 -1 -1
//         0 -1  1  0        1/2 -1/2 1/2
//         0  1  0 -1        0    0   1
struct Two {
  static constexpr int kTile = 2, kSpan = 4;
  MUSTER_LINE input(const Vec* in, Vec* out, int step) {
    out[0] = in[0] - in[2];
    out[step] = in[1] + in[2];
    out[2 * step] = in[2] - in[1];
    out[3 * step] = in[1] - in[3];
  }
  MUSTER_LINE weight(const Vec* in, Vec* out, int step) {
    const Vec ends = 0.5f * (in[0] + in[2]);
    const Vec middle = 0.5f * in[1];
    out[0] = in[0];
    out[step] = ends + middle;
    out[2 * step] = ends - middle;
    out[3 * step] = in[2];
  }
  MUSTER_LINE output(const Vec* in, Vec* out, int step) {
    out[0] = in[0] + in[1] + in[2];
    out[step] = in[1] - in[2] - in[3];
  }
  MUSTER_LINE output_slope(const Vec* in, Vec* out, int step) {
    out[0] = in[0];
    out[step] = in[0] + in[1];
    out[2 * step] = in[0] - in[1];
    out[3 * step] = -in[1];
  }
  MUSTER_LINE weight_slope(const Vec* in, Vec* out, int step) {
    const Vec sum = 0.5f * (in[1] + in[2]);
    out[0] = in[0] + sum;
    out[step] = 0.5f * (in[1] - in[2]);
    out[2 * step] = sum + in[3];
  }
};

//   B^T = 4  0 -5  0  1  0    G = 1/4    0    0      A^T = 1  1  1  1  1  0
//         0 -4 -4  1  1  0       -1/6  -1/6  -1/6          0  1 -1  2 -2  0
//         0  4 -4 -1  1  0       -1/6   1/6  -1/6          0  1  1  4  4  0
//         0 -2 -1  2  1  0        1/24  1/12  1/6          0  1 -1  8 -8  1
//         0  2 -1 -2  1  0        1/24 -1/12  1/6
//         0  4  0 -5  0  1        0     0     1
struct Four {
  static constexpr int kTile = 4, kSpan = 6;
  MUSTER_LINE input(const Vec* in, Vec* out, int step) {
    const Vec even = in[4] - 4.0f * in[2], odd = in[3] - 4.0f * in[1];
    const Vec wide_even = in[4] - in[2], wide_odd = 2.0f * (in[3] - in[1]);
    out[0] = 4.0f * in[0] + (in[4] - 5.0f * in[2]);
    out[step] = even + odd;
    out[2 * step] = even - odd;
    out[3 * step] = wide_even + wide_odd;
    out[4 * step] = wide_even - wide_odd;
    out[5 * step] = 4.0f * in[1] + (in[5] - 5.0f * in[3]);
  }
  MUSTER_LINE weight(const Vec* in, Vec* out, int step) {
    const Vec ends = (-1.0f / 6) * (in[0] + in[2]), middle = (1.0f / 6) * in[1];
    const Vec wide_ends = (1.0f / 24) * in[0] + (1.0f / 6) * in[2], wide_middle = (1.0f / 12) * in[1];
    out[0] = 0.25f * in[0];
    out[step] = ends - middle;
    out[2 * step] = ends + middle;
    out[3 * step] = wide_ends + wide_middle;
    out[4 * step] = wide_ends - wide_middle;
    out[5 * step] = in[2];
  }
  MUSTER_LINE output(const Vec* in, Vec* out, int step) {
    const Vec sum = in[1] + in[2], difference = in[1] - in[2];
    const Vec wide_sum = in[3] + in[4], wide_difference = in[3] - in[4];
    out[0] = in[0] + sum + wide_sum;
    out[step] = difference + 2.0f * wide_difference;
    out[2 * step] = sum + 4.0f * wide_sum;
    out[3 * step] = difference + 8.0f * wide_difference + in[5];
  }
  MUSTER_LINE output_slope(const Vec* in, Vec* out, int step) {
    const Vec even = in[0] + in[2], odd = in[1] + in[3];
    const Vec wide_even = in[0] + 4.0f * in[2], wide_odd = 2.0f * in[1] + 8.0f * in[3];
    out[0] = in[0];
    out[step] = even + odd;
    out[2 * step] = even - odd;
    out[3 * step] = wide_even + wide_odd;
    out[4 * step] = wide_even - wide_odd;
    out[5 * step] = in[3];
  }
  MUSTER_LINE weight_slope(const Vec* in, Vec* out, int step) {
    const Vec sum = (1.0f / 6) * (in[1] + in[2]), wide_sum = in[3] + in[4];
    out[0] = 0.25f * in[0] - sum + (1.0f / 24) * wide_sum;
    out[step] = (1.0f / 6) * (in[2] - in[1]) + (1.0f / 12) * (in[3] - in[4]);
    out[2 * step] = (1.0f / 6) * wide_sum - sum + in[5];
  }
};

// A transform in both dimensions, square of kIn to square of kOut: columns as they are read, rows as they are written.
template <int kIn, int kOut, auto kLine, typename Read, typename Write>
inline __attribute__((always_inline)) void transform(const Read& read, const Write& write) {
  Vec half[kOut * kIn];
#pragma GCC unroll 6
  for (int j = 0; j < kIn; ++j) {
    Vec column[kIn];
#pragma GCC unroll 6
    for (int i = 0; i < kIn; ++i) column[i] = read(i, j);
    kLine(column, half + j, kIn);
  }
#pragma GCC unroll 6
  for (int i = 0; i < kOut; ++i) {
    Vec row[kOut];
    kLine(half + kIn * i, row, 1);
#pragma GCC unroll 6
    for (int j = 0; j < kOut; ++j) write(i, j, row[j]);
  }
}
#define MUSTER_AT(...) [&](__VA_ARGS__) __attribute__((always_inline))

// Small images have too few large tiles to pay for reading the larger spectrum.
constexpr int kFewestTiles = 16;
bool takes_four(const WinogradShape& s) {
  return s.height % 4 == 0 && s.width % 4 == 0 && (s.height / 4) * (s.width / 4) >= kFewestTiles;
}
int points(const WinogradShape& s) {
  return takes_four(s) ? Four::kSpan * Four::kSpan : Two::kSpan * Two::kSpan;
}

// Tiles worked on together, in whole rows of tiles, and how their points lie in the scratch: [point][tile][channels], a
// line apart so that points do not fall into the same cache sets.
struct Strip {
  int columns, rows;
  std::size_t in_point, out_point;
  Strip(const WinogradShape& s, int tile, int wanted) : columns(s.width / tile), rows(0) {
    rows = smaller(s.height / tile, larger(1, wanted / columns));
    const std::size_t tiles = static_cast<std::size_t>(rows) * columns;
    in_point = tiles * s.in_channels + 16;
    out_point = tiles * s.out_channels + 16;
  }
};
constexpr int kForwardTiles = 16;
constexpr int kGradientTiles = 64;

std::size_t scratch_floats(const WinogradShape& s) {
  const Strip strip(s, takes_four(s) ? Four::kTile : Two::kTile, kGradientTiles);
  return static_cast<std::size_t>(points(s)) * (strip.in_point + strip.out_point);
}

// Tile rows [row, row + rows) of the input, transformed.
template <typename F>
void transform_input(const WinogradShape& s, const Strip& strip, int row, int rows, Images in, float* to_points) {
  for (int r = 0; r < rows; ++r) {
    for (int t = 0; t < strip.columns; ++t) {
      const float* from = in.data + (F::kTile * (row + r) - 1) * static_cast<std::ptrdiff_t>(in.row) +
                          (F::kTile * t - 1) * static_cast<std::ptrdiff_t>(in.pixel);
      float* to = to_points + static_cast<std::size_t>(r * strip.columns + t) * s.in_channels;
      for (int c = 0; c < s.in_channels; c += kLanes) {
        transform<F::kSpan, F::kSpan, F::input>(
            MUSTER_AT(int i, int j) { return load(from + i * in.row + j * in.pixel + c); },
            MUSTER_AT(int i, int j, Vec v) { store(to + (i * F::kSpan + j) * strip.in_point + c, v); });
      }
    }
  }
}

template <typename F>
void spectrum_by(const WinogradShape& s, const float* weights, float* to) {
  const std::size_t count = static_cast<std::size_t>(s.in_channels) * s.out_channels;
  for (std::size_t at = 0; at < count; at += kLanes) {
    transform<3, F::kSpan, F::weight>(
        MUSTER_AT(int i, int j) { return load(weights + (3 * i + j) * count + at); },
        MUSTER_AT(int i, int j, Vec u) { store(to + (i * F::kSpan + j) * count + at, u); });
  }
}

template <typename F>
void forward_by(const WinogradShape& s, Images in, const float* weights, const float* bias, Images out,
                float* scratch) {
  constexpr int kPoints = F::kSpan * F::kSpan;
  const Strip strip(s, F::kTile, kForwardTiles);
  float* v = scratch;
  float* m = scratch + kPoints * strip.in_point;
  static const float zeros[kWidest * kLanes] = {};
  Reach reach;
  reach.depth = s.in_channels;
  reach.pixel_step = static_cast<std::size_t>(s.in_channels);
  reach.weight_step = reach.out_step = static_cast<std::size_t>(s.out_channels);
  const std::size_t weight_point = reach.pixel_step * reach.weight_step;
  for (int row = 0; row < s.height / F::kTile; row += strip.rows) {
    const int rows = smaller(strip.rows, s.height / F::kTile - row);
    transform_input<F>(s, strip, row, rows, in, v);
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
        float* to = out.data + static_cast<std::size_t>(F::kTile * (row + r)) * out.row +
                    static_cast<std::size_t>(F::kTile * t) * out.pixel;
        for (int o = 0; o < s.out_channels; o += kLanes) {
          const Vec start = bias ? load(bias + o) : Vec{};
          transform<F::kSpan, F::kTile, F::output>(
              MUSTER_AT(int i, int j) { return load(from + (i * F::kSpan + j) * strip.out_point + o); },
              MUSTER_AT(int i, int j, Vec y) { store(to + i * out.row + j * out.pixel + o, y + start); });
        }
      }
    }
  }
}

template <typename F>
void backward_weights_by(const WinogradShape& s, Images in, Images dy, float* to, float* dbias, float* scratch) {
  constexpr int kPoints = F::kSpan * F::kSpan;
  const Strip strip(s, F::kTile, kGradientTiles);
  float* v = scratch;
  float* m = scratch + kPoints * strip.in_point;
  const std::size_t in_step = static_cast<std::size_t>(s.in_channels);
  const std::size_t out_step = static_cast<std::size_t>(s.out_channels);
  for (int row = 0; row < s.height / F::kTile; row += strip.rows) {
    const int rows = smaller(strip.rows, s.height / F::kTile - row);
    transform_input<F>(s, strip, row, rows, in, v);
    for (int o = 0; o < s.out_channels; o += kLanes) {
      Vec sum{};
      for (int r = 0; r < rows; ++r) {
        for (int t = 0; t < strip.columns; ++t) {
          const float* from = dy.data + static_cast<std::size_t>(F::kTile * (row + r)) * dy.row +
                              static_cast<std::size_t>(F::kTile * t) * dy.pixel + o;
          float* slopes = m + static_cast<std::size_t>(r * strip.columns + t) * out_step + o;
          transform<F::kTile, F::kSpan, F::output_slope>(
              MUSTER_AT(int i, int j) {
                const Vec d = load(from + i * dy.row + j * dy.pixel);
                sum += d;
                return d;
              },
              MUSTER_AT(int i, int j, Vec p) { store(slopes + (i * F::kSpan + j) * strip.out_point, p); });
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

template <typename F>
void add_weights_by(const WinogradShape& s, const float* from, float* dweights) {
  const std::size_t count = static_cast<std::size_t>(s.in_channels) * s.out_channels;
  for (std::size_t at = 0; at < count; at += kLanes) {
    transform<F::kSpan, 3, F::weight_slope>(
        MUSTER_AT(int i, int j) { return load(from + (i * F::kSpan + j) * count + at); },
        MUSTER_AT(int i, int j, Vec g) {
          float* to = dweights + (3 * i + j) * count + at;
          store(to, load(to) + g);
        });
  }
}
#undef MUSTER_AT
#undef MUSTER_LINE

void spectrum(const WinogradShape& s, const float* weights, float* to) {
  return takes_four(s) ? spectrum_by<Four>(s, weights, to) : spectrum_by<Two>(s, weights, to);
}

void forward(const WinogradShape& s, Images in, const float* weights, const float* bias, Images out, float* scratch) {
  return takes_four(s) ? forward_by<Four>(s, in, weights, bias, out, scratch)
                       : forward_by<Two>(s, in, weights, bias, out, scratch);
}

void backward_weights(const WinogradShape& s, Images in, Images dy, float* to, float* dbias, float* scratch) {
  return takes_four(s) ? backward_weights_by<Four>(s, in, dy, to, dbias, scratch)
                       : backward_weights_by<Two>(s, in, dy, to, dbias, scratch);
}

void add_weights(const WinogradShape& s, const float* from, float* dweights) {
  return takes_four(s) ? add_weights_by<Four>(s, from, dweights) : add_weights_by<Two>(s, from, dweights);
}

}  // namespace

const WinogradKernels& winograd_kernels() {
  static constexpr WinogradKernels table{points, scratch_floats, spectrum, forward, backward_weights, add_weights};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
