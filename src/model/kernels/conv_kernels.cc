#include "model/kernels/conv_kernels.h"

#include "model/kernels/conv_tiles.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

constexpr int kPadding = 16;
// Bytes of a panel of weights that is meant to stay in the first-level cache while pixels stream past.
constexpr int kPanelBytes = 20 * 1024;

constexpr int padded(int channels) {
  return (channels + kPadding - 1) / kPadding * kPadding;
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
      const ProductTile* tiles = product_tiles(vectors);
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
      const ProductTile* tiles = product_tiles(vectors);
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
            const GradientTile* tiles = gradient_tiles(vectors);
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
