#include "model/kernels/plane_kernels.h"

#include <cmath>
#include <utility>

#include "model/images.h"

namespace muster {
namespace {

Plane plane(ChannelsTensor& tensor, int n) {
  const Images images = tensor.images();
  return {images.data + std::size_t(n) * images.sample, images.row, images.pixel, 16};
}

struct PoolCase {
  const char* name;
  int height, width, channels, kernel_height, kernel_width, stride_height, stride_width;
};

class PoolKernelsTest : public ::testing::TestWithParam<PoolCase> {};

TEST_P(PoolKernelsTest, AgreesWithTheNaiveWindows) {
  const PoolCase& c = GetParam();
  PoolShape s;
  s.in = {padded16(c.channels) / 16, c.height, c.width};
  s.kernel_height = c.kernel_height;
  s.kernel_width = c.kernel_width;
  s.stride_height = c.stride_height;
  s.stride_width = c.stride_width;
  s.out_height = (c.height - c.kernel_height) / c.stride_height + 1;
  s.out_width = (c.width - c.kernel_width) / c.stride_width + 1;
  Picture x = random_picture(1, c.height, c.width, c.channels, 1);
  // Ties: the first must win. And a window without positive values, for the ReLU.
  for (double& v : x.values) v = std::round(v * 2) / 2;
  for (int y = 0; y < std::min(4, c.height); ++y)
    for (int i = 0; i < std::min(4, c.width); ++i) x.at(0, y, i, 0) = -1 - std::abs(x.at(0, y, i, 0));
  const Picture dy = random_picture(1, s.out_height, s.out_width, c.channels, 2);

  for (const bool relu : {false, true}) {
    Picture largest(1, s.out_height, s.out_width, c.channels), mean = largest;
    Picture d_largest(1, c.height, c.width, c.channels), d_mean = d_largest;
    const double share = 1.0 / (c.kernel_height * c.kernel_width);
    for (int oy = 0; oy < s.out_height; ++oy)
      for (int ox = 0; ox < s.out_width; ++ox)
        for (int ch = 0; ch < c.channels; ++ch) {
          double best = -1e30;
          int by = 0, bx = 0;
          for (int i = 0; i < c.kernel_height; ++i)
            for (int j = 0; j < c.kernel_width; ++j) {
              const int iy = oy * c.stride_height + i, ix = ox * c.stride_width + j;
              mean.at(0, oy, ox, ch) += share * x.at(0, iy, ix, ch);
              d_mean.at(0, iy, ix, ch) += share * dy.get(0, oy, ox, ch);
              if (x.at(0, iy, ix, ch) > best) best = x.at(0, by = iy, bx = ix, ch);
            }
          if (!relu || best > 0) d_largest.at(0, by, bx, ch) += dy.get(0, oy, ox, ch);
          largest.at(0, oy, ox, ch) = relu ? std::max(best, 0.0) : best;
        }
    in_every_isa([&] {
      const PlaneKernels& k = plane_kernels();
      const int pixel = padded16(c.channels);
      ChannelsTensor in(x, pixel, 1), slopes(dy, pixel, 2);
      ChannelsTensor out(1, s.out_height, s.out_width, pixel, 2), din(1, c.height, c.width, pixel, 1);
      std::vector<std::uint8_t> choice(std::size_t(s.out_height * s.out_width * pixel));
      k.max_pool(s, plane(in, 0), relu, plane(out, 0), choice.data());
      expect_same(out, largest, 0, "max");
      din.fill(5);
      k.max_pool_backward(s, plane(slopes, 0), choice.data(), plane(din, 0));
      expect_same(din, d_largest, 1e-5, "max backward");
      EXPECT_EQ(din.at(0, 0, -1, 0), 5);
      k.sum_pool(s, plane(in, 0), float(share), plane(out, 0));
      expect_same(out, mean, 1e-5, "mean");
      din.fill(5);
      k.sum_pool_backward(s, plane(slopes, 0), float(share), plane(din, 0));
      expect_same(din, d_mean, 1e-5, "mean backward");
    });
  }
}

INSTANTIATE_TEST_SUITE_P(
    Windows, PoolKernelsTest,
    ::testing::Values(PoolCase{"two", 8, 6, 16, 2, 2, 2, 2}, PoolCase{"two_odd", 9, 7, 20, 2, 2, 2, 2},
                      PoolCase{"overlapping", 9, 8, 5, 3, 3, 2, 2}, PoolCase{"three", 9, 11, 33, 3, 3, 3, 3},
                      PoolCase{"sequence", 1, 23, 32, 1, 4, 1, 4}, PoolCase{"sliding", 6, 6, 8, 5, 5, 1, 1},
                      PoolCase{"gaps", 9, 9, 16, 1, 1, 2, 2}, PoolCase{"whole", 7, 5, 24, 7, 5, 7, 5}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(PlaneKernelsTest, MaxPoolOnLanesGroupsByChannel) {
  // Two channels of 4 x 4 pixels in the lanes format.
  std::vector<float> in(2 * 16 * 16), out(2 * 4 * 16), din(in.size(), 4.0f);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = float((i * 7919) % 1013) - 300.0f;
  std::vector<std::uint8_t> choice(out.size());
  PoolShape s;
  s.in = {2, 4, 4};
  s.out_height = s.out_width = 2;
  in_every_isa([&] {
    const Plane from{in.data(), 4 * 16, 16, 256}, to{out.data(), 2 * 16, 16, 64}, back{din.data(), 4 * 16, 16, 256};
    plane_kernels().max_pool(s, from, true, to, choice.data());
    plane_kernels().max_pool_backward(s, to, choice.data(), back);
    for (int c = 0; c < 2; ++c)
      for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 2; ++x)
          for (int n = 0; n < 16; ++n) {
            float best = 0, sum = 0;
            for (int t = 0; t < 4; ++t) {
              const std::size_t at = std::size_t(c * 256 + ((2 * y + t / 2) * 4 + 2 * x + t % 2) * 16 + n);
              best = std::max(best, in[at]);
              sum += din[at];
            }
            EXPECT_EQ(out[std::size_t(c * 64 + (y * 2 + x) * 16 + n)], best);
            EXPECT_EQ(sum, best);
          }
  });
}

TEST(PlaneKernelsTest, ReluKeepsNan) {
  ChannelsTensor in(1, 1, 1, 16, 0);
  in.at(0, 0, 0, 3) = std::nanf("");
  in.at(0, 0, 0, 4) = -1;
  in.at(0, 0, 0, 5) = 2;
  in_every_isa([&] {
    ChannelsTensor out(1, 1, 1, 16, 0);
    plane_kernels().relu({1, 1, 1}, plane(in, 0), plane(out, 0));
    EXPECT_TRUE(std::isnan(out.at(0, 0, 0, 3)));
    EXPECT_EQ(out.at(0, 0, 0, 4), 0);
    EXPECT_EQ(out.at(0, 0, 0, 5), 2);
  });
}

TEST(PlaneKernelsTest, NormalisationSumsAndMaps) {
  const int h = 7, w = 9, c = 20, pixel = 32;
  const Picture x = random_picture(1, h, w, c, 1), y = random_picture(1, h, w, c, 2);
  const Picture dy = random_picture(1, h, w, c, 3), more = random_picture(1, h, w, c, 4);
  std::vector<double> coefficients(3 * pixel);
  randomise(coefficients, 5);
  const std::vector<float> k3(coefficients.begin(), coefficients.end());
  const float *a = k3.data(), *b = a + pixel, *d = b + pixel;
  const PlaneShape s{2, h, w};
  in_every_isa([&] {
    const PlaneKernels& k = plane_kernels();
    ChannelsTensor tx(x, pixel, 1), ty(y, pixel, 0), tdy(dy, pixel, 1), tmore(more, pixel, 2);
    ChannelsTensor out(1, h, w, pixel, 1);
    std::vector<double> sums(pixel), squares(pixel), gradient(pixel), products(pixel);
    k.moments(s, plane(tx, 0), a, sums.data(), squares.data());
    k.gradient_sums(s, plane(tx, 0), plane(ty, 0), b, plane(tdy, 0), gradient.data(), products.data());
    Picture masked = dy, affine(1, h, w, c), rectified = affine, back = affine;
    for (int ch = 0; ch < c; ++ch) {
      double sum = 0, square = 0, slope = 0, product = 0;
      for (int i = 0; i < h * w; ++i) {
        const double v = x.get(0, i / w, i % w, ch);
        sum += v - double{a[ch]};
        square += (v - double{a[ch]}) * (v - double{a[ch]});
        double& g = masked.at(0, i / w, i % w, ch);
        if (y.get(0, i / w, i % w, ch) <= 0) g = 0;
        slope += g;
        product += g * (v - double{b[ch]});
        affine.at(0, i / w, i % w, ch) = double{a[ch]} * v + double{b[ch]};
        rectified.at(0, i / w, i % w, ch) =
            std::max(0.0, double{a[ch]} * v + double{b[ch]} + more.get(0, i / w, i % w, ch));
        back.at(0, i / w, i % w, ch) = double{a[ch]} * g + double{b[ch]} * v + double{d[ch]};
      }
      EXPECT_NEAR(sums[std::size_t(ch)], sum, 1e-4);
      EXPECT_NEAR(squares[std::size_t(ch)], square, 1e-3);
      EXPECT_NEAR(gradient[std::size_t(ch)], slope, 1e-4);
      EXPECT_NEAR(products[std::size_t(ch)], product, 1e-4);
    }
    expect_same(tdy, masked, 0, "masked gradient");
    k.affine(s, plane(tx, 0), a, b, Plane{}, false, plane(out, 0));
    expect_same(out, affine, 1e-5, "affine");
    k.affine(s, plane(tx, 0), a, b, plane(tmore, 0), true, plane(out, 0));
    expect_same(out, rectified, 1e-5, "affine with sum and ReLU");
    k.affine_backward(s, plane(tdy, 0), plane(tx, 0), a, b, d, plane(out, 0));
    expect_same(out, back, 1e-5, "affine backward");
    std::vector<float> to(37, 1.0f), from(37, 2.0f);
    k.add_scaled(37, -0.5f, from.data(), to.data());
    EXPECT_EQ(to, std::vector<float>(37, 0.0f));
  });
}

}  // namespace
}  // namespace muster
