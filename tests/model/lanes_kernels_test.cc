#include "model/kernels/lanes_kernels.h"

#include <cmath>

#include "model/images.h"

namespace muster {
namespace {

struct LanesCase {
  const char* name;
  int height, width, in, out, kernel_height, kernel_width, count;
};

class LanesKernelsTest : public ::testing::TestWithParam<LanesCase> {};

// One block of 16 samples: [channels][height][width][16].
std::vector<float> to_lanes(const Picture& p) {
  std::vector<float> lanes(std::size_t(16 * p.height * p.width * p.channels), 0.0f);
  for (int n = 0; n < p.batch; ++n)
    for (int y = 0; y < p.height; ++y)
      for (int x = 0; x < p.width; ++x)
        for (int c = 0; c < p.channels; ++c)
          lanes[std::size_t(((c * p.height + y) * p.width + x) * 16 + n)] = float(p.get(n, y, x, c));
  return lanes;
}

void expect_lanes(const std::vector<float>& lanes, const Picture& p, double tolerance, const char* what) {
  double worst = 0;
  for (int n = 0; n < p.batch; ++n)
    for (int y = 0; y < p.height; ++y)
      for (int x = 0; x < p.width; ++x)
        for (int c = 0; c < p.channels; ++c)
          worst = std::max(
              worst, std::abs(lanes[std::size_t(((c * p.height + y) * p.width + x) * 16 + n)] - p.get(n, y, x, c)));
  EXPECT_LE(worst, tolerance) << what;
}

TEST_P(LanesKernelsTest, AgreesWithTheNaiveSums) {
  const LanesCase& c = GetParam();
  LanesShape s;
  s.in_height = c.height;
  s.in_width = c.width;
  s.in_channels = c.in;
  s.out_channels = c.out;
  s.kernel_height = c.kernel_height;
  s.kernel_width = c.kernel_width;
  s.out_height = c.height - c.kernel_height + 1;
  s.out_width = c.width - c.kernel_width + 1;
  const Picture x = random_picture(c.count, c.height, c.width, c.in, 1);
  const Picture dy = random_picture(c.count, s.out_height, s.out_width, c.out, 2);
  const int taps = c.kernel_height * c.kernel_width;
  const int ocp = padded16(c.out);
  std::vector<double> weights(std::size_t(taps * c.in * ocp)), bias(std::size_t(c.out));
  randomise(weights, 3);
  randomise(bias, 4);
  const std::vector<float> w(weights.begin(), weights.end()), b(bias.begin(), bias.end());

  Picture y(c.count, s.out_height, s.out_width, c.out);
  Picture dx(c.count, c.height, c.width, c.in);
  std::vector<double> dw(weights.size()), db(bias.size());
  for (int n = 0; n < c.count; ++n)
    for (int oy = 0; oy < s.out_height; ++oy)
      for (int ox = 0; ox < s.out_width; ++ox)
        for (int o = 0; o < c.out; ++o) {
          double sum = bias[std::size_t(o)];
          const double slope = dy.get(n, oy, ox, o);
          db[std::size_t(o)] += slope;
          for (int t = 0; t < taps; ++t)
            for (int i = 0; i < c.in; ++i) {
              const int iy = oy + t / c.kernel_width, ix = ox + t % c.kernel_width;
              const std::size_t at = std::size_t((t * c.in + i) * ocp + o);
              sum += weights[at] * x.get(n, iy, ix, i);
              dx.at(n, iy, ix, i) += weights[at] * slope;
              dw[at] += slope * x.get(n, iy, ix, i);
            }
          y.at(n, oy, ox, o) = sum;
        }
  const double tolerance = 1e-5 * std::sqrt(double(taps * (c.in + c.out)));
  const double gradient_tolerance = 2e-5 * std::sqrt(double(c.count * s.out_height * s.out_width)) + 1e-5;

  in_every_isa([&] {
    const LanesKernels& k = lanes_kernels();
    // Rows in height-width-channel order, with a stride of their own.
    const std::size_t features = std::size_t(c.height * c.width * c.in), stride = features + 3;
    std::vector<float> rows(stride * std::size_t(c.count));
    for (int n = 0; n < c.count; ++n)
      for (std::size_t i = 0; i < features; ++i) rows[std::size_t(n) * stride + i] = float(x.values[n * features + i]);
    const std::vector<float> in = to_lanes(x);
    std::vector<float> moved(in.size(), 9.0f);
    k.from_rows(c.height * c.width, c.in, c.count, rows.data(), stride, moved.data());
    EXPECT_EQ(moved, in) << "from rows";
    std::vector<float> back(rows.size());
    k.to_rows(c.height * c.width, c.in, c.count, in.data(), back.data(), stride);
    EXPECT_EQ(back, rows) << "to rows";

    std::vector<float> packed(k.packed_floats(s)), turned(packed.size()), sums(packed.size());
    k.pack(s, w.data(), packed.data());
    k.pack_turned(s, w.data(), turned.data());
    const std::size_t plane = std::size_t(s.out_height * s.out_width * 16);
    std::vector<float> out(plane * std::size_t(c.out), 8.0f);
    const int half = s.out_height / 2;
    k.forward(s, in.data(), packed.data(), b.data(), 0, half, out.data(), plane);
    k.forward(s, in.data(), packed.data(), b.data(), half, s.out_height,
              out.data() + std::size_t(half * s.out_width * 16), plane);
    expect_lanes(out, y, tolerance, "forward");
    const std::vector<float> slopes = to_lanes(dy);
    std::vector<float> din(in.size(), 8.0f);
    k.backward_data(s, slopes.data(), turned.data(), din.data());
    expect_lanes(din, dx, tolerance, "backward data");

    std::vector<float> got_bias(bias.size()), got(w.size());
    k.backward_weights(s, in.data(), slopes.data(), sums.data(), got_bias.data());
    k.add_sums(s, 0.5f, sums.data(), got.data());
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - 0.5 * dw[i]));
    EXPECT_LE(worst, gradient_tolerance) << "backward weights";
    for (std::size_t o = 0; o < db.size(); ++o) EXPECT_NEAR(got_bias[o], db[o], gradient_tolerance) << "backward bias";
  });
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, LanesKernelsTest,
    ::testing::Values(LanesCase{"colour", 32, 32, 3, 6, 5, 5, 16}, LanesCase{"second", 14, 14, 6, 16, 5, 5, 16},
                      LanesCase{"grey", 28, 28, 1, 20, 5, 5, 4}, LanesCase{"fifty", 12, 12, 20, 50, 5, 5, 16},
                      LanesCase{"three", 9, 13, 5, 7, 3, 3, 11}, LanesCase{"narrow", 9, 6, 2, 9, 5, 5, 16},
                      LanesCase{"narrow_three", 4, 3, 2, 9, 3, 3, 16}, LanesCase{"point", 5, 7, 4, 11, 1, 1, 1},
                      LanesCase{"two", 8, 7, 3, 5, 2, 2, 5}, LanesCase{"seven", 11, 9, 2, 13, 7, 7, 16},
                      LanesCase{"flat", 1, 30, 1, 6, 1, 5, 16}, LanesCase{"odd", 8, 11, 3, 8, 5, 5, 16},
                      LanesCase{"whole", 5, 5, 3, 4, 5, 5, 16}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace muster
