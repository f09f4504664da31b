#include "model/kernels/lanes_kernels.h"

#include "model/kernels/simd.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

constexpr int kSamples = 16;
// Out channels and pixels of a tile.
constexpr int kMaxChannels = kRegisters >= 32 ? 6 : 3;
constexpr int kMaxPixels = 4;

constexpr int smaller(int a, int b) {
  return a < b ? a : b;
}
constexpr int larger(int a, int b) {
  return a > b ? a : b;
}

constexpr int kind_of(int kernel_width) {
  return kernel_width == 5 ? 0 : kernel_width == 3 ? 1 : 2;
}

// See Pair. With fewer registers too many of a pair's sums would wait in memory.
constexpr bool in_pairs(int kernel_width) {
  return kRegisters >= 32 && kind_of(kernel_width) < 2;
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

// What a tile sums over: channels, kernel rows and taps of a plane.
struct Reach {
  int channels, rows, taps;
  std::ptrdiff_t channel_step, row_step;
  std::size_t weight_channel, weight_row, weight_tap;
  std::size_t out_channel;
};

// How a tile meets the plane: forward, tap k of pixel j reads pixel j + k; backward it reads j - k, where at the edges
// of the image some taps of some pixels fall outside and are left out at compile time.
enum class Side { kForward, kInside, kLeft, kRight };

template <Side S, int K, int B, int W>
void tile(const Reach& reach, const float* x, const float* w, const float* start, float* out) {
  constexpr int kSign = S == Side::kForward ? 1 : -1;
  const int taps = K > 0 ? K : reach.taps;
  Vec acc[B][W];
  for (int b = 0; b < B; ++b) {
    for (int j = 0; j < W; ++j) acc[b][j] = start ? splat(start[b]) : Vec{};
  }
  for (int c = 0; c < reach.channels; ++c) {
    const float* xp = x + c * reach.channel_step;
    const float* wp = w + c * reach.weight_channel;
    for (int r = 0; r < reach.rows; ++r, xp += reach.row_step, wp += reach.weight_row) {
      const float* wt = wp;
#pragma GCC unroll 5
      for (int k = 0; k<taps; ++k, wt += K> 0 ? B : reach.weight_tap) {
        Vec value[W];
#pragma GCC unroll 4
        for (int j = 0; j < W; ++j) {
          const bool outside = (S == Side::kLeft && j < k) || (S == Side::kRight && k <= K - 1 - W + j);
          value[j] = outside ? Vec{} : load(xp + (j + kSign * k) * kSamples);
        }
#pragma GCC unroll 6
        for (int b = 0; b < B; ++b) {
          const Vec weight = splat(wt[b]);
#pragma GCC unroll 4
          for (int j = 0; j < W; ++j) {
            if (S == Side::kLeft && j < k) continue;
            if (S == Side::kRight && k <= K - 1 - W + j) continue;
            acc[b][j] += weight * value[j];
          }
        }
      }
    }
  }
  for (int b = 0; b < B; ++b) {
    for (int j = 0; j < W; ++j) store(out + b * reach.out_channel + j * kSamples, acc[b][j]);
  }
}

using Tile = void (*)(const Reach&, const float*, const float*, const float*, float*);

template <Side S, int K, int B, int W>
constexpr Tile tile_or_null() {
  constexpr bool kEdge = S == Side::kLeft || S == Side::kRight;
  if constexpr (B <= kMaxChannels && (kEdge || !in_pairs(K))) {
    return tile<S, K, B, W>;
  } else {
    return nullptr;
  }
}
#define MUSTER_TILE_ROW(S, K, B)                                                                 \
  {                                                                                              \
    nullptr, tile_or_null<S, K, B, 1>(), tile_or_null<S, K, B, 2>(), tile_or_null<S, K, B, 3>(), \
        tile_or_null<S, K, B, 4>()                                                               \
  }
#define MUSTER_TILES(S, K)                                                                                      \
  {                                                                                                             \
    {}, MUSTER_TILE_ROW(S, K, 1), MUSTER_TILE_ROW(S, K, 2), MUSTER_TILE_ROW(S, K, 3), MUSTER_TILE_ROW(S, K, 4), \
        MUSTER_TILE_ROW(S, K, 5), MUSTER_TILE_ROW(S, K, 6)                                                      \
  }
// Indexed by kind of kernel width (5, 3, any), out channels, pixels.
constexpr Tile kForwardTiles[3][7][5] = {MUSTER_TILES(Side::kForward, 5), MUSTER_TILES(Side::kForward, 3),
                                         MUSTER_TILES(Side::kForward, 0)};
constexpr Tile kInsideTiles[3][7][5] = {MUSTER_TILES(Side::kInside, 5), MUSTER_TILES(Side::kInside, 3),
                                        MUSTER_TILES(Side::kInside, 0)};
#undef MUSTER_TILES
#undef MUSTER_TILE_ROW
#define MUSTER_EDGES(S, K)                                                                                   \
  {                                                                                                          \
    nullptr, tile_or_null<S, K, 1, K - 1>(), tile_or_null<S, K, 2, K - 1>(), tile_or_null<S, K, 3, K - 1>(), \
        tile_or_null<S, K, 4, K - 1>(), tile_or_null<S, K, 5, K - 1>(), tile_or_null<S, K, 6, K - 1>()       \
  }
// The K - 1 leftmost and rightmost pixels. Indexed by kind of kernel width (5, 3), out channels.
constexpr Tile kLeftTiles[2][7] = {MUSTER_EDGES(Side::kLeft, 5), MUSTER_EDGES(Side::kLeft, 3)};
constexpr Tile kRightTiles[2][7] = {MUSTER_EDGES(Side::kRight, 5), MUSTER_EDGES(Side::kRight, 3)};
#undef MUSTER_EDGES

// Two neighbouring pixels of a row at once, by Winograd's algorithm for the taps g0 to g2 and for g3, g4. From the
// inputs d0 to d5 (d0 to d3 for three taps) seven products come instead of ten (four instead of six):
//   p0 = (d0 - d2) g0    p1 = (d1 + d2) (g0 + g1 + g2) / 2    p2 = (d2 - d1) (g0 - g1 + g2) / 2    p3 = (d1 - d3) g2
//   p4 = (d3 - d4) g3    p5 = d4 (g3 + g4)                                                         p6 = (d4 - d5) g4
//   y0 = (p0 + p4) + (p1 + p5) + p2,    y1 = (p1 + p5) - p2 - (p3 + p6)
// so that four sums per pair of pixels take them all. A last odd pixel is y0 alone: without p3, p6, d3 (three taps) or
// d5.
template <int K>
struct Pair {
  static_assert(K == 5 || K == 3);
  static constexpr int kPoints = K == 5 ? 7 : 4;
  static constexpr int kSums = 4;
  static constexpr int kSum[7] = {0, 1, 2, 3, 0, 1, 3};
  static constexpr bool needs(int point, int pixels) { return pixels == 2 || kSum[point] != 3; }

  // The inputs' side of the products.
  template <int W>
  static inline __attribute__((always_inline)) void inputs(const float* x, Vec* p) {
    const Vec d1 = load(x + kSamples);
    const Vec d2 = load(x + 2 * kSamples);
    p[0] = load(x) - d2;
    p[1] = d1 + d2;
    p[2] = d2 - d1;
    if constexpr (K == 3) {
      if constexpr (W == 2) p[3] = d1 - load(x + 3 * kSamples);
    } else {
      const Vec d3 = load(x + 3 * kSamples);
      const Vec d4 = load(x + 4 * kSamples);
      if constexpr (W == 2) p[3] = d1 - d3;
      p[4] = d3 - d4;
      p[5] = d4;
      if constexpr (W == 2) p[6] = d4 - load(x + 5 * kSamples);
    }
  }
  // The weights' side. g and p: one channel's, `g_step` and `p_step` apart.
  static void weights(const float* g, std::ptrdiff_t g_step, float* p, std::size_t p_step) {
    const float ends = g[0] + g[2 * g_step];
    p[0] = g[0];
    p[p_step] = 0.5f * (ends + g[g_step]);
    p[2 * p_step] = 0.5f * (ends - g[g_step]);
    p[3 * p_step] = g[2 * g_step];
    if constexpr (K == 5) {
      p[4 * p_step] = g[3 * g_step];
      p[5 * p_step] = g[3 * g_step] + g[4 * g_step];
      p[6 * p_step] = g[4 * g_step];
    }
  }
  // The gradient of taps from that of the weights' side; of p3 and p6 its negative is given.
  static void gradient(const float* p, float* g) {
    g[0] = p[0] + 0.5f * (p[1] + p[2]);
    g[1] = 0.5f * (p[1] - p[2]);
    g[2] = 0.5f * (p[1] + p[2]) - p[3];
    if constexpr (K == 5) {
      g[3] = p[4] + p[5];
      g[4] = p[5] - p[6];
    }
  }
};

constexpr int points_of(int kernel_width) {
  return kernel_width == 5 ? Pair<5>::kPoints : Pair<3>::kPoints;
}

// Out channels of a weight-gradient tile, whose other side is the kernel's width or the points of a pair.
constexpr int max_gradient(int kernel_width) {
  return kRegisters < 32 ? 2 : kernel_width == 5 ? 3 : 5;
}

// Floats of a kernel row: forward, and in the gradient's sums.
constexpr int row_floats(int kernel_width) {
  return in_pairs(kernel_width) ? points_of(kernel_width) : kernel_width;
}
// Backward, pixels near the edges still need the taps.
constexpr int turned_row_floats(int kernel_width) {
  return in_pairs(kernel_width) ? kernel_width + points_of(kernel_width) : kernel_width;
}

// W (1 or 2) pixels of B out channels; their inputs begin at x.
template <int K, int B, int W>
inline __attribute__((always_inline)) void pair_tile(const Reach& reach, const float* x, const float* w,
                                                     const float* start, float* out) {
  Vec sum[B][Pair<K>::kSums] = {};
  for (int c = 0; c < reach.channels; ++c) {
    const float* xp = x + c * reach.channel_step;
    const float* wp = w + c * reach.weight_channel;
    for (int r = 0; r < reach.rows; ++r, xp += reach.row_step, wp += reach.weight_row) {
      Vec value[Pair<K>::kPoints];
      Pair<K>::template inputs<W>(xp, value);
#pragma GCC unroll 7
      for (int p = 0; p < Pair<K>::kPoints; ++p) {
        if (!Pair<K>::needs(p, W)) continue;
#pragma GCC unroll 6
        for (int b = 0; b < B; ++b) sum[b][Pair<K>::kSum[p]] += splat(wp[p * B + b]) * value[p];
      }
    }
  }
#pragma GCC unroll 6
  for (int b = 0; b < B; ++b) {
    const Vec middle = start ? sum[b][1] + splat(start[b]) : sum[b][1];
    float* to = out + b * reach.out_channel;
    store(to, sum[b][0] + sum[b][2] + middle);
    if (W == 2) store(to + kSamples, middle - sum[b][2] - sum[b][3]);
  }
}

template <int K, int B>
void pair_row(const Reach& reach, int pixels, const float* x, const float* w, const float* start, float* out) {
  int j = 0;
  for (; j + 2 <= pixels; j += 2) pair_tile<K, B, 2>(reach, x + j * kSamples, w, start, out + j * kSamples);
  if (j < pixels) pair_tile<K, B, 1>(reach, x + j * kSamples, w, start, out + j * kSamples);
}

using PairRow = void (*)(const Reach&, int, const float*, const float*, const float*, float*);
template <int K, int B>
constexpr PairRow pair_row_or_null() {
  if constexpr (in_pairs(K) && B <= kMaxChannels) {
    return pair_row<K, B>;
  } else {
    return nullptr;
  }
}
#define MUSTER_ROWS(K)                                                                                               \
  {                                                                                                                  \
    nullptr, pair_row_or_null<K, 1>(), pair_row_or_null<K, 2>(), pair_row_or_null<K, 3>(), pair_row_or_null<K, 4>(), \
        pair_row_or_null<K, 5>(), pair_row_or_null<K, 6>()                                                           \
  }
// Indexed by kind of kernel width (5, 3), out channels.
constexpr PairRow kPairRows[2][7] = {MUSTER_ROWS(5), MUSTER_ROWS(3)};
#undef MUSTER_ROWS

void pair_weights(int kernel_width, const float* g, std::ptrdiff_t g_step, float* p, std::size_t p_step) {
  kernel_width == 5 ? Pair<5>::weights(g, g_step, p, p_step) : Pair<3>::weights(g, g_step, p, p_step);
}

void pair_gradient(int kernel_width, const float* p, float* g) {
  kernel_width == 5 ? Pair<5>::gradient(p, g) : Pair<3>::gradient(p, g);
}

std::size_t packed_floats(const LanesShape& s) {
  return static_cast<std::size_t>(s.kernel_height) * turned_row_floats(s.kernel_width) * s.in_channels * s.out_channels;
}

constexpr int padded(int channels) {
  return (channels + 15) / 16 * 16;
}

// [block of out channels][in channels][kernel height][kernel width, or points of a pair][out channels of the block]
void pack(const LanesShape& s, const float* weights, float* packed) {
  const Cuts blocks(s.out_channels, kMaxChannels);
  const std::size_t step = static_cast<std::size_t>(padded(s.out_channels));
  const std::size_t tap = s.in_channels * step;
  for (int i = 0, o = 0; i < blocks.count; o += blocks[i], ++i) {
    const std::size_t block = static_cast<std::size_t>(blocks[i]);
    for (int c = 0; c < s.in_channels; ++c) {
      for (int r = 0; r < s.kernel_height; ++r) {
        const float* from = weights + r * s.kernel_width * tap + c * step + o;
        if (in_pairs(s.kernel_width)) {
          for (std::size_t b = 0; b < block; ++b) {
            pair_weights(s.kernel_width, from + b, static_cast<std::ptrdiff_t>(tap), packed + b, block);
          }
        } else {
          for (int k = 0; k < s.kernel_width; ++k) {
            for (std::size_t b = 0; b < block; ++b) packed[k * block + b] = from[k * tap + b];
          }
        }
        packed += row_floats(s.kernel_width) * block;
      }
    }
  }
}

// The same with in and out channels exchanged: [kernel width] always, then the points of pairs of the taps backwards.
void pack_turned(const LanesShape& s, const float* weights, float* packed) {
  const Cuts blocks(s.in_channels, kMaxChannels);
  const std::size_t step = static_cast<std::size_t>(padded(s.out_channels));
  const std::size_t tap = s.in_channels * step;
  for (int i = 0, c = 0; i < blocks.count; c += blocks[i], ++i) {
    const std::size_t block = static_cast<std::size_t>(blocks[i]);
    for (int o = 0; o < s.out_channels; ++o) {
      for (int r = 0; r < s.kernel_height; ++r) {
        const float* from = weights + r * s.kernel_width * tap + c * step + o;
        for (int k = 0; k < s.kernel_width; ++k, packed += block) {
          for (std::size_t b = 0; b < block; ++b) packed[b] = from[k * tap + b * step];
        }
        if (!in_pairs(s.kernel_width)) continue;
        const float* last = from + (s.kernel_width - 1) * tap;
        for (std::size_t b = 0; b < block; ++b) {
          pair_weights(s.kernel_width, last + b * step, -static_cast<std::ptrdiff_t>(tap), packed + b, block);
        }
        packed += points_of(s.kernel_width) * block;
      }
    }
  }
}

void forward(const LanesShape& s, const float* in, const float* packed, const float* bias, int first, int last,
             float* out, std::size_t out_channel) {
  const Cuts blocks(s.out_channels, kMaxChannels);
  const Cuts widths(s.out_width, kMaxPixels);
  const std::size_t in_row = static_cast<std::size_t>(s.in_width) * kSamples;
  Reach reach;
  reach.channels = s.in_channels;
  reach.rows = s.kernel_height;
  reach.taps = s.kernel_width;
  reach.row_step = static_cast<std::ptrdiff_t>(in_row);
  reach.channel_step = s.in_height * reach.row_step;
  reach.out_channel = out_channel;
  for (int lane = 0; lane < kSamples; lane += kLanes) {
    const float* w = packed;
    for (int i = 0, o = 0; i < blocks.count; o += blocks[i], ++i) {
      reach.weight_tap = static_cast<std::size_t>(blocks[i]);
      reach.weight_row = reach.weight_tap * row_floats(s.kernel_width);
      reach.weight_channel = reach.weight_row * s.kernel_height;
      const Tile* tiles = kForwardTiles[kind_of(s.kernel_width)][blocks[i]];
      for (int y = first; y < last; ++y) {
        const float* x = in + y * in_row + lane;
        float* to = out + o * out_channel + static_cast<std::size_t>(y - first) * s.out_width * kSamples + lane;
        if (in_pairs(s.kernel_width)) {
          kPairRows[kind_of(s.kernel_width)][blocks[i]](reach, s.out_width, x, w, bias ? bias + o : nullptr, to);
          continue;
        }
        for (int j = 0; j < widths.count; ++j) {
          tiles[widths[j]](reach, x, w, bias ? bias + o : nullptr, to);
          x += widths[j] * kSamples;
          to += widths[j] * kSamples;
        }
      }
      w += static_cast<std::size_t>(s.in_channels) * reach.weight_channel;
    }
  }
}

void backward_data(const LanesShape& s, const float* dout, const float* packed_turned, float* din) {
  const Cuts blocks(s.in_channels, kMaxChannels);
  const int kind = kind_of(s.kernel_width);
  const int edge = s.kernel_width - 1;
  // Edge tiles need that no pixel is outside on both sides.
  const bool edges = kind < 2 && s.out_width >= edge;
  const Cuts widths(s.out_width - edge, kMaxPixels);
  const std::ptrdiff_t out_row = static_cast<std::ptrdiff_t>(s.out_width) * kSamples;
  const std::size_t in_row = static_cast<std::size_t>(s.in_width) * kSamples;
  Reach reach;
  reach.channels = s.out_channels;
  reach.channel_step = s.out_height * out_row;
  reach.row_step = -out_row;
  reach.out_channel = static_cast<std::size_t>(s.in_height) * in_row;
  for (int lane = 0; lane < kSamples; lane += kLanes) {
    const float* w = packed_turned;
    for (int i = 0, c = 0; i < blocks.count; c += blocks[i], ++i) {
      const int block = blocks[i];
      reach.weight_tap = static_cast<std::size_t>(block);
      reach.weight_row = reach.weight_tap * turned_row_floats(s.kernel_width);
      reach.weight_channel = reach.weight_row * s.kernel_height;
      for (int y = 0; y < s.in_height; ++y) {
        const int begin = larger(0, y - s.out_height + 1);
        reach.rows = smaller(s.kernel_height, y + 1) - begin;
        const float* wy = w + begin * reach.weight_row;
        const float* dy = dout + (y - begin) * out_row + lane;
        float* to = din + c * reach.out_channel + y * in_row + lane;
        if (edges) {
          reach.taps = s.kernel_width;
          kLeftTiles[kind][block](reach, dy, wy, nullptr, to);
          if (in_pairs(s.kernel_width)) {
            const float* points = wy + s.kernel_width * reach.weight_tap;
            kPairRows[kind][block](reach, s.out_width - edge, dy, points, nullptr, to + edge * kSamples);
          } else {
            for (int j = 0, x = edge; j < widths.count; x += widths[j], ++j) {
              kInsideTiles[kind][block][widths[j]](reach, dy + x * kSamples, wy, nullptr, to + x * kSamples);
            }
          }
          kRightTiles[kind][block](reach, dy + s.out_width * kSamples, wy, nullptr, to + s.out_width * kSamples);
          continue;
        }
        for (int x = 0; x < s.in_width; ++x) {
          const int tap = larger(0, x - s.out_width + 1);
          reach.taps = smaller(s.kernel_width, x + 1) - tap;
          kInsideTiles[2][block][1](reach, dy + (x - tap) * kSamples, wy + tap * reach.weight_tap, nullptr,
                                    to + x * kSamples);
        }
      }
      w += static_cast<std::size_t>(s.out_channels) * reach.weight_channel;
    }
  }
}

typedef std::int32_t Index __attribute__((vector_size(kLanes * 4)));

template <int S>
constexpr Index low_index() {
  Index index{};
  for (int j = 0; j < kLanes; ++j) index[j] = (j & S) ? kLanes + j - S : j;
  return index;
}
template <int S>
constexpr Index high_index() {
  Index index{};
  for (int j = 0; j < kLanes; ++j) index[j] = (j & S) ? kLanes + j : j + S;
  return index;
}

// One stage of a transpose: exchanges the off-diagonal S x S parts of the vectors i and i + S.
template <int S>
inline __attribute__((always_inline)) void exchange(Vec* v) {
  if constexpr (S < kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if (i & S) continue;
      const Vec low = shuffle(v[i], v[i + S], low_index<S>());
      v[i + S] = shuffle(v[i], v[i + S], high_index<S>());
      v[i] = low;
    }
    exchange<2 * S>(v);
  }
}

// Lane i of the result is the sum of the lanes of v[i], always in the same order.
template <int S>
inline __attribute__((always_inline)) Vec lane_sums(Vec* v) {
  if constexpr (S < kLanes) {
#pragma GCC unroll 8
    for (int i = 0; i < kLanes / (2 * S); ++i) {
      v[i] = shuffle(v[2 * i], v[2 * i + 1], low_index<S>()) + shuffle(v[2 * i], v[2 * i + 1], high_index<S>());
    }
    return lane_sums<2 * S>(v);
  } else {
    return v[0];
  }
}

// The pixels of one band of rows.
struct Band {
  int rows, width;
  std::size_t in_row, out_row, out_channel;
};

// sums[i] += the sum of the lanes of v[i].
template <int N>
inline __attribute__((always_inline)) void add_lane_sums(const Vec* v, float* sums) {
#pragma GCC unroll 8
  for (int first = 0; first < N; first += kLanes) {
    Vec part[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) part[i] = first + i < N ? v[(first + i) % N] : Vec{};
    const Vec total = lane_sums<1>(part);
    const int count = smaller(kLanes, N - first);
    if (count == kLanes) {
      store(sums + first, load(sums + first) + total);
    } else {
      for (int i = 0; i < count; ++i) sums[first + i] += total[i];
    }
  }
}

// sums[B][K] += over the band, for one in channel and kernel row; taps from `tap` on.
template <int K, int B>
void gradient_tile(const Band& band, const float* x, const float* dy, float* sums) {
  Vec acc[B * K];
  for (int i = 0; i < B * K; ++i) acc[i] = Vec{};
  for (int y = 0; y < band.rows; ++y) {
    const float* xp = x + y * band.in_row;
    const float* dp = dy + y * band.out_row;
    for (int j = 0; j < band.width; ++j, xp += kSamples, dp += kSamples) {
      Vec value[K];
#pragma GCC unroll 5
      for (int k = 0; k < K; ++k) value[k] = load(xp + k * kSamples);
#pragma GCC unroll 5
      for (int b = 0; b < B; ++b) {
        const Vec slope = load(dp + b * band.out_channel);
#pragma GCC unroll 5
        for (int k = 0; k < K; ++k) acc[b * K + k] += slope * value[k];
      }
    }
  }
  add_lane_sums<B * K>(acc, sums);
}

// acc[B][points] += of W pixels: the transpose of the forward map of pairs.
template <int K, int B, int W>
inline __attribute__((always_inline)) void add_pair(const Band& band, const float* x, const float* dy, Vec* acc) {
  constexpr int kPoints = Pair<K>::kPoints;
  Vec value[kPoints];
  Pair<K>::template inputs<W>(x, value);
#pragma GCC unroll 5
  for (int b = 0; b < B; ++b) {
    const Vec left = load(dy + b * band.out_channel);
    const Vec right = W == 2 ? load(dy + b * band.out_channel + kSamples) : Vec{};
    const Vec slope[Pair<K>::kSums] = {left, left + right, left - right, right};
#pragma GCC unroll 7
    for (int p = 0; p < kPoints; ++p) {
      if (Pair<K>::needs(p, W)) acc[b * kPoints + p] += slope[Pair<K>::kSum[p]] * value[p];
    }
  }
}

// sums[B][points] += over the band; of p3 and p6 the negative.
template <int K, int B>
void pair_gradient_tile(const Band& band, const float* x, const float* dy, float* sums) {
  Vec acc[B * Pair<K>::kPoints] = {};
  for (int y = 0; y < band.rows; ++y) {
    const float* xp = x + y * band.in_row;
    const float* dp = dy + y * band.out_row;
    int j = 0;
#pragma GCC unroll 1
    for (; j + 2 <= band.width; j += 2) add_pair<K, B, 2>(band, xp + j * kSamples, dp + j * kSamples, acc);
    if (j < band.width) add_pair<K, B, 1>(band, xp + j * kSamples, dp + j * kSamples, acc);
  }
  add_lane_sums<B * Pair<K>::kPoints>(acc, sums);
}

using GradientTile = void (*)(const Band&, const float*, const float*, float*);
template <int K, int B>
constexpr GradientTile gradient_or_null() {
  if constexpr (B > max_gradient(K)) {
    return nullptr;
  } else if constexpr (in_pairs(K)) {
    return pair_gradient_tile<K, B>;
  } else {
    return gradient_tile<K, B>;
  }
}
#define MUSTER_TILES(K)                                                                                              \
  {                                                                                                                  \
    nullptr, gradient_or_null<K, 1>(), gradient_or_null<K, 2>(), gradient_or_null<K, 3>(), gradient_or_null<K, 4>(), \
        gradient_or_null<K, 5>()                                                                                     \
  }
constexpr GradientTile kGradientTiles[3][6] = {MUSTER_TILES(5), MUSTER_TILES(3), MUSTER_TILES(1)};
#undef MUSTER_TILES

// sums: [block of out channels][in channels][kernel height][out channels of the block][kernel width, or points of a
// pair], for kernel widths without a tile of their own the last two exchanged.
void backward_weights(const LanesShape& s, const float* in, const float* dout, float* sums, float* dbias) {
  const Cuts blocks(s.out_channels, max_gradient(s.kernel_width));
  const int kind = kind_of(s.kernel_width);
  const int taps = kind < 2 ? 1 : s.kernel_width;
  Band band;
  band.width = s.out_width;
  band.in_row = static_cast<std::size_t>(s.in_width) * kSamples;
  band.out_row = static_cast<std::size_t>(s.out_width) * kSamples;
  band.out_channel = s.out_height * band.out_row;
  const std::size_t in_channel = s.in_height * band.in_row;
  // Enough pixels to pay for the lane sums, few enough rows to stay in the first-level cache.
  const int height = larger(1, (112 + s.out_width - 1) / s.out_width);
  for (int lane = 0; lane < kSamples; lane += kLanes) {
    for (int y = 0; y < s.out_height; y += height) {
      band.rows = smaller(height, s.out_height - y);
      float* to = sums;
      for (int i = 0, o = 0; i < blocks.count; o += blocks[i], ++i) {
        const float* dy = dout + o * band.out_channel + y * band.out_row + lane;
        const std::size_t step = static_cast<std::size_t>(blocks[i]) * (kind < 2 ? row_floats(s.kernel_width) : 1);
        for (int c = 0; c < s.in_channels; ++c) {
          for (int r = 0; r < s.kernel_height; ++r) {
            const float* x = in + c * in_channel + (y + r) * band.in_row + lane;
            for (int t = 0; t < taps; ++t, to += step) {
              kGradientTiles[kind][blocks[i]](band, x + t * kSamples, dy, to);
            }
          }
        }
      }
    }
  }
  if (!dbias) return;
  const int pixels = s.out_height * s.out_width;
  for (int o = 0; o < s.out_channels; ++o) {
    const float* dy = dout + o * band.out_channel;
    Vec sum{};
    for (int i = 0; i < pixels * kSamples; i += kLanes) sum += load(dy + i);
    float total = 0;
    for (int i = 0; i < kLanes; ++i) total += sum[i];
    dbias[o] += total;
  }
}

void add_sums(const LanesShape& s, float scale, const float* sums, float* dweights) {
  const Cuts blocks(s.out_channels, max_gradient(s.kernel_width));
  const bool known = kind_of(s.kernel_width) < 2;
  const std::size_t step = static_cast<std::size_t>(padded(s.out_channels));
  for (int i = 0, o = 0; i < blocks.count; o += blocks[i], ++i) {
    for (int c = 0; c < s.in_channels; ++c) {
      for (int r = 0; r < s.kernel_height; ++r) {
        float* to = dweights + (static_cast<std::size_t>(r) * s.kernel_width * s.in_channels + c) * step + o;
        for (int b = 0; b < blocks[i]; ++b) {
          float pair[5];
          if (in_pairs(s.kernel_width)) pair_gradient(s.kernel_width, sums + b * row_floats(s.kernel_width), pair);
          for (int k = 0; k < s.kernel_width; ++k) {
            const float sum =
                in_pairs(s.kernel_width) ? pair[k] : sums[known ? b * s.kernel_width + k : k * blocks[i] + b];
            to[static_cast<std::size_t>(k) * s.in_channels * step + b] += scale * sum;
          }
        }
        sums += blocks[i] * row_floats(s.kernel_width);
      }
    }
  }
}

// Where feature i of a row lies among the vectors of a block.
struct Places {
  int pixels, channels, pixel = 0, channel = 0;
  std::size_t next() {
    const std::size_t at = (static_cast<std::size_t>(channel) * pixels + pixel) * kSamples;
    if (++channel == channels) {
      channel = 0;
      ++pixel;
    }
    return at;
  }
};

void from_rows(int pixels, int channels, int count, const float* rows, std::size_t row_stride, float* lanes) {
  const int features = pixels * channels;
  for (int lane = 0; lane < kSamples; lane += kLanes) {
    Places places{pixels, channels};
    const int live = larger(0, smaller(kLanes, count - lane));
    const float* from = rows + lane * row_stride;
    int i = 0;
    for (; i + kLanes <= features; i += kLanes) {
      Vec v[kLanes];
      for (int j = 0; j < kLanes; ++j) v[j] = j < live ? load(from + j * row_stride + i) : Vec{};
      exchange<1>(v);
      for (int j = 0; j < kLanes; ++j) store(lanes + places.next() + lane, v[j]);
    }
    for (; i < features; ++i) {
      float* to = lanes + places.next() + lane;
      for (int j = 0; j < kLanes; ++j) to[j] = j < live ? from[j * row_stride + i] : 0.0f;
    }
  }
}

void to_rows(int pixels, int channels, int count, const float* lanes, float* rows, std::size_t row_stride) {
  const int features = pixels * channels;
  for (int lane = 0; lane < kSamples; lane += kLanes) {
    Places places{pixels, channels};
    const int live = larger(0, smaller(kLanes, count - lane));
    float* to = rows + lane * row_stride;
    int i = 0;
    for (; i + kLanes <= features; i += kLanes) {
      Vec v[kLanes];
      for (int j = 0; j < kLanes; ++j) v[j] = load(lanes + places.next() + lane);
      exchange<1>(v);
      for (int j = 0; j < live; ++j) store(to + j * row_stride + i, v[j]);
    }
    for (; i < features; ++i) {
      const float* from = lanes + places.next() + lane;
      for (int j = 0; j < live; ++j) to[j * row_stride + i] = from[j];
    }
  }
}

}  // namespace

const LanesKernels& lanes_kernels() {
  static constexpr LanesKernels table{in_pairs,      packed_floats,    pack,     pack_turned, forward,
                                      backward_data, backward_weights, add_sums, from_rows,   to_rows};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
