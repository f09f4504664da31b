#include "model/kernels/activation_kernels.h"

#include "model/kernels/vector_math.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

constexpr int kGroup = 16;
constexpr float kEpsilon = 1e-5f;  // PyTorch's default

// work(row, column, group, part of the group): a vector at a time, pixel after pixel.
template <typename Work>
static inline __attribute__((always_inline)) void each_vector(const PlaneShape& s, const Work& work) {
  for (int y = 0; y < s.height; ++y) {
    for (int x = 0; x < s.width; ++x) {
      for (int g = 0; g < s.groups; ++g) {
        for (int part = 0; part < kGroup; part += kLanes) work(y, x, g, part);
      }
    }
  }
}

static inline __attribute__((always_inline)) float* at(const Plane& plane, int y, int x, int g, int part) {
  return plane.data + static_cast<std::size_t>(y) * plane.row + static_cast<std::size_t>(x) * plane.pixel +
         static_cast<std::size_t>(g) * plane.group + part;
}

// The normal distribution function and its density. Abramowitz and Stegun 7.1.26: error below 1e-7.
struct Normal {
  Vec below;
  Vec density;
};
static inline __attribute__((always_inline)) Normal normal(Vec x) {
  const Vec e = exp_nonpositive(-0.5f * x * x);
  const Vec t = 1.0f / (1.0f + 0.3275911f * 0.70710678118655f * magnitude(x));
  Vec p = splat(1.061405429f);
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const Vec tail = 0.5f * p * t * e;  // beyond |x|
  return {x < 0.0f ? tail : 1.0f - tail, 0.39894228040143f * e};
}

void forward(Curve curve, const PlaneShape& s, Plane from, Plane to) {
  switch (curve) {
    case Curve::kRelu:
      return each_vector(
          s, [&](int y, int x, int g, int part) __attribute__((always_inline)) {
            const Vec v = load(at(from, y, x, g, part));
            store(at(to, y, x, g, part), v < 0.0f ? Vec{} : v);  // NaN stays
          });
    case Curve::kTanh:
      return each_vector(
          s, [&](int y, int x, int g, int part) __attribute__((always_inline)) {
            store(at(to, y, x, g, part), hyperbolic_tangent(load(at(from, y, x, g, part))));
          });
    case Curve::kGelu:
      return each_vector(
          s, [&](int y, int x, int g, int part) __attribute__((always_inline)) {
            const Vec v = load(at(from, y, x, g, part));
            store(at(to, y, x, g, part), v * normal(v).below);
          });
  }
}

void backward(Curve curve, const PlaneShape& s, Plane in, Plane out, Plane dout, Plane din) {
  switch (curve) {
    case Curve::kRelu:
      return each_vector(
          s, [&](int y, int x, int g, int part) __attribute__((always_inline)) {
            const Vec slope = load(at(dout, y, x, g, part));
            store(at(din, y, x, g, part), load(at(out, y, x, g, part)) > 0.0f ? slope : Vec{});
          });
    case Curve::kTanh:
      return each_vector(
          s, [&](int y, int x, int g, int part) __attribute__((always_inline)) {
            const Vec v = load(at(out, y, x, g, part));
            store(at(din, y, x, g, part), load(at(dout, y, x, g, part)) * (1.0f - v * v));
          });
    case Curve::kGelu:
      return each_vector(
          s, [&](int y, int x, int g, int part) __attribute__((always_inline)) {
            const Vec v = load(at(in, y, x, g, part));
            const Normal n = normal(v);
            store(at(din, y, x, g, part), load(at(dout, y, x, g, part)) * (n.below + v * n.density));
          });
  }
}

void multiply(const PlaneShape& s, Plane from, const float* mask, Plane to) {
  each_vector(
      s, [&](int y, int x, int g, int part) __attribute__((always_inline)) {
        store(at(to, y, x, g, part), load(at(from, y, x, g, part)) * load(mask));
        mask += kLanes;
      });
}

static inline __attribute__((always_inline)) VecInt lanes_below(std::size_t count) {
  VecInt lane{};
  for (int j = 0; j < kLanes; ++j) lane[j] = j;
  return lane < static_cast<int>(count);
}

// The vectors of one pixel; `inside` tells channels from padding.
template <typename Work>
static inline __attribute__((always_inline)) void each_channel(std::size_t channels, const Work& work) {
  std::size_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) work(c, lanes_below(kLanes));
  if (c < channels) work(c, lanes_below(channels - c));
}

void normalise(const PlaneShape& s, const PixelNorm& norm, Plane from, float* moments, Plane to) {
  const float share = 1.0f / static_cast<float>(norm.channels);
  for (int y = 0; y < s.height; ++y) {
    for (int x = 0; x < s.width; ++x, moments += 2) {
      const float* in = at(from, y, x, 0, 0);
      float* out = at(to, y, x, 0, 0);
      Vec sum{};
      each_channel(
          norm.channels, [&](std::size_t c, VecInt) __attribute__((always_inline)) { sum += load(in + c); });
      const float mean = share * add_lanes(sum);
      Vec squares{};
      each_channel(
          norm.channels, [&](std::size_t c, VecInt inside) __attribute__((always_inline)) {
            const Vec off = inside ? load(in + c) - mean : Vec{};
            squares += off * off;
          });
      const float inverse = 1.0f / __builtin_sqrtf(share * add_lanes(squares) + kEpsilon);
      each_channel(
          norm.channels, [&](std::size_t c, VecInt inside) __attribute__((always_inline)) {
            const Vec v = load(norm.scale + c) * ((load(in + c) - mean) * inverse) + load(norm.shift + c);
            store(out + c, inside ? v : Vec{});
          });
      moments[0] = mean;
      moments[1] = inverse;
    }
  }
}

// With g = scale * dout and x^ the normalised value: dx = inverse (g - mean(g) - x^ mean(g x^)).
void normalise_backward(const PlaneShape& s, const PixelNorm& norm, Plane from, const float* moments, Plane dout,
                        Plane din, float* scale_sums, float* shift_sums) {
  const float share = 1.0f / static_cast<float>(norm.channels);
  for (int y = 0; y < s.height; ++y) {
    for (int x = 0; x < s.width; ++x, moments += 2) {
      const float* in = at(from, y, x, 0, 0);
      const float* up = at(dout, y, x, 0, 0);
      const float mean = moments[0];
      const float inverse = moments[1];
      Vec slopes{};
      Vec products{};
      each_channel(
          norm.channels, [&](std::size_t c, VecInt inside) __attribute__((always_inline)) {
            const Vec d = load(up + c);
            const Vec value = inside ? (load(in + c) - mean) * inverse : Vec{};
            store(scale_sums + c, load(scale_sums + c) + d * value);
            store(shift_sums + c, load(shift_sums + c) + d);
            slopes += load(norm.scale + c) * d;
            products += load(norm.scale + c) * d * value;
          });
      if (!din.data) continue;
      const float slope = share * add_lanes(slopes);
      const float product = share * add_lanes(products);
      float* down = at(din, y, x, 0, 0);
      each_channel(
          norm.channels, [&](std::size_t c, VecInt inside) __attribute__((always_inline)) {
            const Vec value = (load(in + c) - mean) * inverse;
            const Vec d = inverse * (load(norm.scale + c) * load(up + c) - slope - value * product);
            store(down + c, inside ? d : Vec{});
          });
    }
  }
}

}  // namespace

const ActivationKernels& activation_kernels() {
  static constexpr ActivationKernels table{forward, backward, multiply, normalise, normalise_backward};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
