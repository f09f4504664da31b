#include "model/kernels/conv_kernels.h"

#include "model/kernels/simd.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

constexpr int kPadding = 16;
// Bytes of a panel of weights that is meant to stay in the first-level cache while pixels stream past.
constexpr int kPanelBytes = 20 * 1024;

constexpr int padded(int channels) {
  return (channels + kPadding - 1) / kPadding * kPadding;
}
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

int vectors_for(int channels) {
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

// out[P pixels][V vectors] = start (or out itself, if null) + input * weights.
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

// The pixels over which weight gradients are summed: `height` rows of `width` pixels.
struct Field {
  int height, width;
  std::size_t x_row, x_pixel, dy_row, dy_pixel;
};

// dw[K values][V vectors] += x^T dy over the field.
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

using ProductTile = void (*)(const Reach&, const float*, const float*, const float*, float*);
using GradientTile = void (*)(const Field&, const float*, const float*, float*, std::size_t);

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

// Outputs o in [0, count) whose input o * stride + offset lies in [0, extent).
struct Range {
  int begin, end;
  Range(int offset, int stride, int extent, int count)
      : begin(offset < 0 ? (-offset + stride - 1) / stride : 0),
        end(extent - offset <= 0 ? 0 : smaller(count, (extent - offset + stride - 1) / stride)) {}
};

void forward(const ConvShape& shape, Images in, const float* weights, const float* bias, Images out) {
  const int channels = padded(shape.out_channels);
  const std::size_t step = static_cast<std::size_t>(channels);
  const bool merged = in.pixel == static_cast<std::size_t>(shape.in_channels);
  const int depth = merged ? shape.kernel_width * shape.in_channels : shape.in_channels;
  const int parts = merged ? 1 : shape.kernel_width;
  const std::size_t weight_row = static_cast<std::size_t>(shape.kernel_width) * shape.in_channels * step;
  const bool whole = shape.kernel_height * weight_row * sizeof(float) <= kPanelBytes + kPanelBytes / 4;
  const Cuts chunks(depth, larger(16, kPanelBytes / static_cast<int>(step * sizeof(float))));
  static const float zeros[kWidest * kLanes] = {};

  Reach reach;
  reach.row_step = in.row;
  reach.part_step = in.pixel;
  reach.weight_row = weight_row;
  reach.pixel_step = in.pixel * static_cast<std::size_t>(shape.stride);
  reach.weight_step = step;
  reach.out_step = out.pixel;

  for (int n = 0; n < shape.batch; ++n) {
    const float* image = in.data + n * in.sample;
    float* result = out.data + n * out.sample;
    for (int o = 0, vectors = 0; o < channels; o += vectors * kLanes) {
      vectors = vectors_for(channels - o);
      const ProductTile* tiles = kProductTiles[log_of(vectors)];
      const Cuts widths(shape.out_width, tile_limit(vectors));
      const float* start = bias ? bias + o : zeros;
      const auto row = [&](int y, int kh, const float* x, const float* w, bool first) {
        const float* from = x + (y * shape.stride - shape.pad_top + kh) * static_cast<std::ptrdiff_t>(in.row) -
                            shape.pad_left * static_cast<std::ptrdiff_t>(in.pixel);
        float* to = result + y * out.row + o;
        for (int i = 0; i < widths.count; ++i) {
          tiles[widths[i]](reach, from, w, first ? start : nullptr, to);
          from += widths[i] * reach.pixel_step;
          to += widths[i] * out.pixel;
        }
      };
      // Kernel rows of output row y that meet the image.
      const auto kernel_rows = [&](int y) {
        return Range(y * shape.stride - shape.pad_top, 1, shape.in_height, shape.kernel_height);
      };
      if (whole) {
        reach.parts = parts;
        reach.depth = depth;
        for (int y = 0; y < shape.out_height; ++y) {
          const Range rows = kernel_rows(y);
          reach.rows = rows.end - rows.begin;
          row(y, rows.begin, image, weights + rows.begin * weight_row + o, true);
        }
        continue;
      }
      reach.rows = 1;
      reach.parts = 1;
      for (int kh = 0; kh < shape.kernel_height; ++kh) {
        for (int s = 0; s < parts; ++s) {
          for (int c = 0, at = 0; c < chunks.count; at += chunks[c], ++c) {
            reach.depth = chunks[c];
            const float* w = weights + kh * weight_row + (static_cast<std::size_t>(s) * depth + at) * step + o;
            for (int y = 0; y < shape.out_height; ++y) {
              const Range rows = kernel_rows(y);
              if (kh < rows.begin || kh >= rows.end) continue;
              const bool first = kh == rows.begin && s == 0 && c == 0;
              row(y, kh, image + s * in.pixel + at, w, first);
            }
          }
        }
      }
    }
  }
}

void backward_data(const ConvShape& shape, Images out, const float* turned, Images in) {
  const int channels = padded(shape.in_channels);
  const std::size_t step = static_cast<std::size_t>(channels);
  const Cuts chunks(shape.out_channels, larger(16, kPanelBytes / static_cast<int>(step * sizeof(float))));
  Reach reach;
  reach.pixel_step = out.pixel;
  reach.weight_step = step;
  reach.out_step = in.pixel * static_cast<std::size_t>(shape.stride);
  for (int n = 0; n < shape.batch; ++n) {
    for (int o = 0, vectors = 0; o < channels; o += vectors * kLanes) {
      vectors = vectors_for(channels - o);
      const ProductTile* tiles = kProductTiles[log_of(vectors)];
      for (int kh = 0; kh < shape.kernel_height; ++kh) {
        const Range rows(kh - shape.pad_top, shape.stride, shape.in_height, shape.out_height);
        for (int kw = 0; kw < shape.kernel_width; ++kw) {
          const Range columns(kw - shape.pad_left, shape.stride, shape.in_width, shape.out_width);
          if (columns.begin >= columns.end) continue;
          const Cuts widths(columns.end - columns.begin, tile_limit(vectors));
          const float* w =
              turned + static_cast<std::size_t>(kh * shape.kernel_width + kw) * shape.out_channels * step + o;
          for (int c = 0, at = 0; c < chunks.count; at += chunks[c], ++c) {
            reach.depth = chunks[c];
            for (int y = rows.begin; y < rows.end; ++y) {
              const float* from = out.data + n * out.sample + y * out.row + columns.begin * out.pixel + at;
              float* to = in.data + n * in.sample + (y * shape.stride + kh - shape.pad_top) * in.row +
                          (columns.begin * shape.stride + kw - shape.pad_left) * in.pixel + o;
              for (int i = 0; i < widths.count; ++i) {
                tiles[widths[i]](reach, from, w + at * step, nullptr, to);
                from += widths[i] * reach.pixel_step;
                to += widths[i] * reach.out_step;
              }
            }
          }
        }
      }
    }
  }
}

void backward_weights(const ConvShape& shape, Images in, Images out, float* dweights, float* dbias) {
  const int channels = padded(shape.out_channels);
  const std::size_t step = static_cast<std::size_t>(channels);
  const bool merged = in.pixel == static_cast<std::size_t>(shape.in_channels);
  const int depth = merged ? shape.kernel_width * shape.in_channels : shape.in_channels;
  const int parts = merged ? 1 : shape.kernel_width;
  // Rows taken together: enough pixels to pay for loading and storing the sums, few enough to stay in cache.
  const int band = larger(1, (160 + shape.out_width - 1) / shape.out_width);
  Field field;
  field.width = shape.out_width;
  field.x_row = in.row * static_cast<std::size_t>(shape.stride);
  field.x_pixel = in.pixel * static_cast<std::size_t>(shape.stride);
  field.dy_row = out.row;
  field.dy_pixel = out.pixel;
  for (int n = 0; n < shape.batch; ++n) {
    for (int top = 0; top < shape.out_height; top += band) {
      const int bottom = smaller(top + band, shape.out_height);
      for (int kh = 0; kh < shape.kernel_height; ++kh) {
        const Range rows(kh - shape.pad_top, shape.stride, shape.in_height, shape.out_height);
        const int begin = larger(rows.begin, top);
        field.height = smaller(rows.end, bottom) - begin;
        if (field.height <= 0) continue;
        const float* dy = out.data + n * out.sample + begin * out.row;
        for (int s = 0; s < parts; ++s) {
          const float* x = in.data + n * in.sample +
                           (begin * shape.stride + kh - shape.pad_top) * static_cast<std::ptrdiff_t>(in.row) +
                           (s - shape.pad_left) * static_cast<std::ptrdiff_t>(in.pixel);
          float* dw = dweights + static_cast<std::size_t>(kh * parts + s) * depth * step;
          for (int o = 0, vectors = 0; o < channels; o += vectors * kLanes) {
            vectors = vectors_for(channels - o);
            const GradientTile* tiles = kGradientTiles[log_of(vectors)];
            const Cuts blocks(depth, tile_limit(vectors));
            for (int i = 0, k = 0; i < blocks.count; k += blocks[i], ++i) {
              tiles[blocks[i]](field, x + k, dy + o, dw + k * step + o, step);
            }
          }
        }
      }
    }
    if (!dbias) continue;
    for (int o = 0; o < channels; o += kLanes) {
      Vec sum = load(dbias + o);
      for (int y = 0; y < shape.out_height; ++y) {
        const float* dy = out.data + n * out.sample + y * out.row + o;
        Vec row{};
        for (int i = 0; i < shape.out_width; ++i) row += load(dy + i * out.pixel);
        sum += row;
      }
      store(dbias + o, sum);
    }
  }
}

void turn(const ConvShape& shape, const float* weights, bool flip, float* turned) {
  const int taps = shape.kernel_height * shape.kernel_width;
  const int ic = shape.in_channels, icp = padded(ic), oc = shape.out_channels, ocp = padded(oc);
  for (int t = 0; t < taps; ++t) {
    const float* from = weights + static_cast<std::size_t>(flip ? taps - 1 - t : t) * ic * ocp;
    float* to = turned + static_cast<std::size_t>(t) * oc * icp;
    // Square blocks, so that both sides touch few cache lines at a time.
    for (int o0 = 0; o0 < oc; o0 += 16) {
      for (int i0 = 0; i0 < icp; i0 += 16) {
        const int o1 = smaller(oc, o0 + 16);
        const int i1 = smaller(ic, i0 + 16);
        for (int o = o0; o < o1; ++o) {
          for (int i = i0; i < i1; ++i) to[o * icp + i] = from[i * ocp + o];
          for (int i = larger(i0, i1); i < i0 + 16; ++i) to[o * icp + i] = 0;
        }
      }
    }
  }
}

}  // namespace

const ConvKernels& conv_kernels() {
  static constexpr ConvKernels table{forward, backward_data, backward_weights, turn};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
