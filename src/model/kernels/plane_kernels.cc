#include "model/kernels/plane_kernels.h"

#include "model/kernels/simd.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

constexpr int kGroup = 16;
constexpr int kParts = kGroup / kLanes;
constexpr std::uint8_t kNone = 255;

typedef std::int32_t Int __attribute__((vector_size(kLanes * 4)));
typedef std::uint8_t Bytes __attribute__((vector_size(kLanes)));
typedef std::uint8_t BytesUnaligned __attribute__((vector_size(kLanes), aligned(1), may_alias));

// Keeps NaN, so that a diverged model is noticed.
inline Vec positive(Vec v) {
  return Vec{} > v ? Vec{} : v;
}
inline Vec keep_if(Int mask, Vec v) {
  return mask ? v : Vec{};
}

// The fast path for windows that tile the image: a template over the window, so that its loops unroll.
template <int H, int W>
void max_windows(const PoolShape& s, Plane in, bool relu, Plane out, std::uint8_t* choice) {
  const int height = H > 0 ? H : s.kernel_height;
  const int width = W > 0 ? W : s.kernel_width;
  for (int g = 0; g < s.in.groups; ++g) {
    for (int y = 0; y < s.out_height; ++y) {
      for (int x = 0; x < s.out_width; ++x, choice += kGroup) {
        const float* from = in.data + g * in.group + static_cast<std::size_t>(y * s.stride_height) * in.row +
                            static_cast<std::size_t>(x * s.stride_width) * in.pixel;
        float* to = out.data + g * out.group + y * out.row + x * out.pixel;
#pragma GCC unroll 4
        for (int part = 0; part < kGroup; part += kLanes) {
          Vec best = load(from + part);
          Int index{};
          for (int i = 0, t = 0; i < height; ++i) {
            for (int j = 0; j < width; ++j, ++t) {
              if (t == 0) continue;
              const Vec value = load(from + i * in.row + j * in.pixel + part);
              const Int more = value > best;
              best = more ? value : best;
              index = more ? Int{} + t : index;
            }
          }
          if (relu) {
            index = best > Vec{} ? index : Int{} + kNone;
            best = positive(best);
          }
          store(to + part, best);
          *reinterpret_cast<BytesUnaligned*>(choice + part) = __builtin_convertvector(index, Bytes);
        }
      }
    }
  }
}

void max_pool(const PoolShape& s, Plane in, bool relu, Plane out, std::uint8_t* choice) {
  if (s.kernel_height == 2 && s.kernel_width == 2) return max_windows<2, 2>(s, in, relu, out, choice);
  if (s.kernel_height == 1 && s.kernel_width == 4) return max_windows<1, 4>(s, in, relu, out, choice);
  max_windows<0, 0>(s, in, relu, out, choice);
}

void clear(const PlaneShape& s, Plane to) {
  for (int g = 0; g < s.groups; ++g) {
    for (int y = 0; y < s.height; ++y) {
      for (int x = 0; x < s.width; ++x) {
        float* p = to.data + g * to.group + y * to.row + x * to.pixel;
        for (int part = 0; part < kGroup; part += kLanes) store(p + part, Vec{});
      }
    }
  }
}

// Zeroes the rows and columns that no window covers.
void clear_uncovered(const PoolShape& s, Plane to) {
  const int height = s.out_height * s.kernel_height;
  const int width = s.out_width * s.kernel_width;
  if (height < s.in.height) {
    Plane below = to;
    below.data += height * to.row;
    clear({s.in.groups, s.in.height - height, s.in.width}, below);
  }
  if (width < s.in.width) {
    Plane beside = to;
    beside.data += width * to.pixel;
    clear({s.in.groups, height, s.in.width - width}, beside);
  }
}

template <int H, int W, bool kTiling>
void spread_windows(const PoolShape& s, Plane dout, const std::uint8_t* choice, Plane din) {
  const int height = H > 0 ? H : s.kernel_height;
  const int width = W > 0 ? W : s.kernel_width;
  for (int g = 0; g < s.in.groups; ++g) {
    for (int y = 0; y < s.out_height; ++y) {
      for (int x = 0; x < s.out_width; ++x, choice += kGroup) {
        float* to = din.data + g * din.group + static_cast<std::size_t>(y * s.stride_height) * din.row +
                    static_cast<std::size_t>(x * s.stride_width) * din.pixel;
        const float* from = dout.data + g * dout.group + y * dout.row + x * dout.pixel;
#pragma GCC unroll 4
        for (int part = 0; part < kGroup; part += kLanes) {
          const Vec slope = load(from + part);
          const Int index =
              __builtin_convertvector(static_cast<Bytes>(*reinterpret_cast<const BytesUnaligned*>(choice + part)), Int);
          for (int i = 0, t = 0; i < height; ++i) {
            for (int j = 0; j < width; ++j, ++t) {
              float* p = to + i * din.row + j * din.pixel + part;
              const Vec chosen = keep_if(index == Int{} + t, slope);
              store(p, kTiling ? chosen : load(p) + chosen);
            }
          }
        }
      }
    }
  }
}

bool tiling(const PoolShape& s) {
  return s.stride_height == s.kernel_height && s.stride_width == s.kernel_width;
}

void max_pool_backward(const PoolShape& s, Plane dout, const std::uint8_t* choice, Plane din) {
  if (!tiling(s)) {
    clear(s.in, din);
    return spread_windows<0, 0, false>(s, dout, choice, din);
  }
  clear_uncovered(s, din);
  if (s.kernel_height == 2 && s.kernel_width == 2) return spread_windows<2, 2, true>(s, dout, choice, din);
  spread_windows<0, 0, true>(s, dout, choice, din);
}

void sum_pool(const PoolShape& s, Plane in, float scale, Plane out) {
  for (int g = 0; g < s.in.groups; ++g) {
    for (int y = 0; y < s.out_height; ++y) {
      for (int x = 0; x < s.out_width; ++x) {
        const float* from = in.data + g * in.group + static_cast<std::size_t>(y * s.stride_height) * in.row +
                            static_cast<std::size_t>(x * s.stride_width) * in.pixel;
        float* to = out.data + g * out.group + y * out.row + x * out.pixel;
        Vec sum[kParts] = {};
        for (int i = 0; i < s.kernel_height; ++i) {
          for (int j = 0; j < s.kernel_width; ++j) {
            for (int part = 0; part < kParts; ++part) {
              sum[part] += load(from + i * in.row + j * in.pixel + part * kLanes);
            }
          }
        }
        for (int part = 0; part < kParts; ++part) store(to + part * kLanes, scale * sum[part]);
      }
    }
  }
}

void sum_pool_backward(const PoolShape& s, Plane dout, float scale, Plane din) {
  const bool tiles = tiling(s);
  if (tiles) {
    clear_uncovered(s, din);
  } else {
    clear(s.in, din);
  }
  for (int g = 0; g < s.in.groups; ++g) {
    for (int y = 0; y < s.out_height; ++y) {
      for (int x = 0; x < s.out_width; ++x) {
        float* to = din.data + g * din.group + static_cast<std::size_t>(y * s.stride_height) * din.row +
                    static_cast<std::size_t>(x * s.stride_width) * din.pixel;
        const float* from = dout.data + g * dout.group + y * dout.row + x * dout.pixel;
        for (int part = 0; part < kGroup; part += kLanes) {
          const Vec slope = scale * load(from + part);
          for (int i = 0; i < s.kernel_height; ++i) {
            for (int j = 0; j < s.kernel_width; ++j) {
              float* p = to + i * din.row + j * din.pixel + part;
              store(p, tiles ? slope : load(p) + slope);
            }
          }
        }
      }
    }
  }
}

// Calls work(group, row) for every row of every group, then for every pixel offset inside.
template <typename Work>
inline __attribute__((always_inline)) void each_row(const PlaneShape& s, const Work& work) {
  for (int y = 0; y < s.height; ++y) {
    for (int g = 0; g < s.groups; ++g) work(g, y);
  }
}
inline float* at(const Plane& plane, int g, int y) {
  return plane.data + g * plane.group + y * plane.row;
}

void copy(const PlaneShape& s, Plane from, Plane to) {
  each_row(s, [&](int g, int y) {
    const float* a = at(from, g, y);
    float* b = at(to, g, y);
    for (int x = 0; x < s.width; ++x, a += from.pixel, b += to.pixel) {
      for (int part = 0; part < kGroup; part += kLanes) store(b + part, load(a + part));
    }
  });
}

void add(const PlaneShape& s, Plane from, Plane to) {
  each_row(s, [&](int g, int y) {
    const float* a = at(from, g, y);
    float* b = at(to, g, y);
    for (int x = 0; x < s.width; ++x, a += from.pixel, b += to.pixel) {
      for (int part = 0; part < kGroup; part += kLanes) store(b + part, load(b + part) + load(a + part));
    }
  });
}

void relu(const PlaneShape& s, Plane from, Plane to) {
  each_row(s, [&](int g, int y) {
    const float* a = at(from, g, y);
    float* b = at(to, g, y);
    for (int x = 0; x < s.width; ++x, a += from.pixel, b += to.pixel) {
      for (int part = 0; part < kGroup; part += kLanes) store(b + part, positive(load(a + part)));
    }
  });
}

void relu_backward(const PlaneShape& s, Plane data, Plane gradient) {
  each_row(s, [&](int g, int y) {
    const float* a = at(data, g, y);
    float* b = at(gradient, g, y);
    for (int x = 0; x < s.width; ++x, a += data.pixel, b += gradient.pixel) {
      for (int part = 0; part < kGroup; part += kLanes) {
        store(b + part, keep_if(load(a + part) > Vec{}, load(b + part)));
      }
    }
  });
}

// Two running sums over the pixels of one 16-float group: floats in a few interleaved chains along a row, so that the
// additions overlap, then floats across rows, then doubles.
struct Sums {
  static constexpr int kChains = 4;
  Vec first[kParts] = {}, second[kParts] = {};
  // one(pixel, part, first, second) adds a pixel's vectors.
  template <typename One>
  inline __attribute__((always_inline)) void add_row(int width, const One& one) {
    Vec a[kParts][kChains] = {}, b[kParts][kChains] = {};
    int x = 0;
    for (; x + kChains <= width; x += kChains) {
#pragma GCC unroll 4
      for (int chain = 0; chain < kChains; ++chain) {
#pragma GCC unroll 4
        for (int part = 0; part < kParts; ++part) one(x + chain, part, a[part][chain], b[part][chain]);
      }
    }
    for (; x < width; ++x) {
      for (int part = 0; part < kParts; ++part) one(x, part, a[part][0], b[part][0]);
    }
    for (int part = 0; part < kParts; ++part) {
      first[part] += (a[part][0] + a[part][1]) + (a[part][2] + a[part][3]);
      second[part] += (b[part][0] + b[part][1]) + (b[part][2] + b[part][3]);
    }
  }
  void flush(double* to_first, double* to_second) const {
    for (int part = 0; part < kParts; ++part) {
      for (int i = 0; i < kLanes; ++i) {
        to_first[part * kLanes + i] += static_cast<double>(first[part][i]);
        to_second[part * kLanes + i] += static_cast<double>(second[part][i]);
      }
    }
  }
};

void moments(const PlaneShape& s, Plane x, const float* pivot, double* sums, double* squares) {
  for (int g = 0; g < s.groups; ++g) {
    Sums total;
    Vec centre[kParts];
    for (int part = 0; part < kParts; ++part) centre[part] = load(pivot + g * kGroup + part * kLanes);
    for (int y = 0; y < s.height; ++y) {
      const float* p = at(x, g, y);
      total.add_row(
          s.width, [&](int i, int part, Vec& sum, Vec& square) __attribute__((always_inline)) {
            const Vec v = load(p + static_cast<std::size_t>(i) * x.pixel + part * kLanes) - centre[part];
            sum += v;
            square += v * v;
          });
    }
    total.flush(sums + g * kGroup, squares + g * kGroup);
  }
}

template <bool kAdd, bool kRelu>
void affine_loop(const PlaneShape& s, Plane x, const float* scale, const float* shift, Plane more, Plane out) {
  each_row(s, [&](int g, int y) {
    const float* p = at(x, g, y);
    const float* q = kAdd ? at(more, g, y) : nullptr;
    float* to = at(out, g, y);
    Vec a[kParts], b[kParts];
    for (int part = 0; part < kParts; ++part) {
      a[part] = load(scale + g * kGroup + part * kLanes);
      b[part] = load(shift + g * kGroup + part * kLanes);
    }
    for (int i = 0; i < s.width; ++i, p += x.pixel, to += out.pixel) {
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part) {
        Vec v = a[part] * load(p + part * kLanes) + b[part];
        if constexpr (kAdd) v += load(q + part * kLanes);
        store(to + part * kLanes, kRelu ? positive(v) : v);
      }
      if constexpr (kAdd) q += more.pixel;
    }
  });
}

void affine(const PlaneShape& s, Plane x, const float* scale, const float* shift, Plane more, bool with_relu,
            Plane out) {
  if (more.data) {
    if (with_relu) return affine_loop<true, true>(s, x, scale, shift, more, out);
    return affine_loop<true, false>(s, x, scale, shift, more, out);
  }
  if (with_relu) return affine_loop<false, true>(s, x, scale, shift, more, out);
  affine_loop<false, false>(s, x, scale, shift, more, out);
}

template <bool kMask>
void gradient_sums_loop(const PlaneShape& s, Plane x, Plane out, const float* mean, Plane gradient, double* sums,
                        double* products) {
  for (int g = 0; g < s.groups; ++g) {
    Sums total;
    Vec centre[kParts];
    for (int part = 0; part < kParts; ++part) centre[part] = load(mean + g * kGroup + part * kLanes);
    for (int y = 0; y < s.height; ++y) {
      const float* p = at(x, g, y);
      const float* q = kMask ? at(out, g, y) : nullptr;
      float* d = at(gradient, g, y);
      total.add_row(
          s.width, [&](int i, int part, Vec& sum, Vec& product) __attribute__((always_inline)) {
            const std::size_t pixel = static_cast<std::size_t>(i);
            Vec slope = load(d + pixel * gradient.pixel + part * kLanes);
            if constexpr (kMask) {
              slope = keep_if(load(q + pixel * out.pixel + part * kLanes) > Vec{}, slope);
              store(d + pixel * gradient.pixel + part * kLanes, slope);
            }
            sum += slope;
            product += slope * (load(p + pixel * x.pixel + part * kLanes) - centre[part]);
          });
    }
    total.flush(sums + g * kGroup, products + g * kGroup);
  }
}

void gradient_sums(const PlaneShape& s, Plane x, Plane out, const float* mean, Plane gradient, double* sums,
                   double* products) {
  if (out.data) return gradient_sums_loop<true>(s, x, out, mean, gradient, sums, products);
  gradient_sums_loop<false>(s, x, out, mean, gradient, sums, products);
}

void affine_backward(const PlaneShape& s, Plane gradient, Plane x, const float* a, const float* b, const float* c,
                     Plane dx) {
  each_row(s, [&](int g, int y) {
    const float* d = at(gradient, g, y);
    const float* p = at(x, g, y);
    float* to = at(dx, g, y);
    Vec av[kParts], bv[kParts], cv[kParts];
    for (int part = 0; part < kParts; ++part) {
      av[part] = load(a + g * kGroup + part * kLanes);
      bv[part] = load(b + g * kGroup + part * kLanes);
      cv[part] = load(c + g * kGroup + part * kLanes);
    }
    for (int i = 0; i < s.width; ++i, d += gradient.pixel, p += x.pixel, to += dx.pixel) {
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part) {
        store(to + part * kLanes, av[part] * load(d + part * kLanes) + (bv[part] * load(p + part * kLanes) + cv[part]));
      }
    }
  });
}

void add_scaled(std::size_t count, float scale, const float* __restrict from, float* __restrict to) {
  for (std::size_t i = 0; i < count; ++i) to[i] += scale * from[i];
}

}  // namespace

const PlaneKernels& plane_kernels() {
  static constexpr PlaneKernels table{
      max_pool, max_pool_backward, sum_pool,        sum_pool_backward, copy, add, clear, relu, relu_backward, moments,
      affine,   gradient_sums,     affine_backward, add_scaled};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
