#include "model/kernels/conv_kernels.h"

#include <cmath>

#include "model/images.h"
#include "model/kernels/winograd_kernels.h"

namespace muster {
namespace {

struct ConvCase {
  const char* name;
  int batch, height, width, in, out, kernel_height, kernel_width, stride, pad;
  bool raw_input;  // channels not padded, as the network's input
};

class ConvKernelsTest : public ::testing::TestWithParam<ConvCase> {};

TEST_P(ConvKernelsTest, AgreesWithTheNaiveSums) {
  const ConvCase& c = GetParam();
  const int pad_top = c.kernel_height == 1 ? 0 : c.pad;
  ConvShape s;
  s.batch = c.batch;
  s.in_height = c.height;
  s.in_width = c.width;
  s.in_channels = c.in;
  s.out_channels = c.out;
  s.kernel_height = c.kernel_height;
  s.kernel_width = c.kernel_width;
  s.stride = c.stride;
  s.pad_top = pad_top;
  s.pad_left = c.pad;
  s.out_height = (c.height + 2 * pad_top - c.kernel_height) / c.stride + 1;
  s.out_width = (c.width + 2 * c.pad - c.kernel_width) / c.stride + 1;

  const Picture x = random_picture(c.batch, c.height, c.width, c.in, 1);
  const Picture dy = random_picture(c.batch, s.out_height, s.out_width, c.out, 2);
  const int taps = c.kernel_height * c.kernel_width;
  const int ocp = padded16(c.out), icp = padded16(c.in);
  std::vector<double> weights(std::size_t(taps * c.in * c.out)), bias(std::size_t(c.out));
  randomise(weights, 3);
  randomise(bias, 4);
  std::vector<float> packed(std::size_t(taps * c.in * ocp)), packed_bias(std::size_t(ocp), 0.0f);
  for (int i = 0; i < taps * c.in; ++i)
    for (int o = 0; o < c.out; ++o) packed[std::size_t(i * ocp + o)] = float(weights[std::size_t(i * c.out + o)]);
  for (int o = 0; o < c.out; ++o) packed_bias[std::size_t(o)] = float(bias[std::size_t(o)]);

  Picture y(c.batch, s.out_height, s.out_width, c.out);
  Picture dx(c.batch, c.height, c.width, c.in);
  std::vector<double> dw(weights.size()), db(bias.size());
  for (int n = 0; n < c.batch; ++n)
    for (int oy = 0; oy < s.out_height; ++oy)
      for (int ox = 0; ox < s.out_width; ++ox)
        for (int o = 0; o < c.out; ++o) {
          double sum = bias[std::size_t(o)];
          const double slope = dy.get(n, oy, ox, o);
          db[std::size_t(o)] += slope;
          for (int t = 0; t < taps; ++t) {
            const int iy = oy * c.stride - pad_top + t / c.kernel_width;
            const int ix = ox * c.stride - c.pad + t % c.kernel_width;
            const bool inside = iy >= 0 && iy < c.height && ix >= 0 && ix < c.width;
            for (int i = 0; inside && i < c.in; ++i) {
              const std::size_t at = std::size_t((t * c.in + i) * c.out + o);
              sum += weights[at] * x.get(n, iy, ix, i);
              dx.at(n, iy, ix, i) += weights[at] * slope;
              dw[at] += slope * x.get(n, iy, ix, i);
            }
          }
          y.at(n, oy, ox, o) = sum;
        }
  const double tolerance = 1e-5 * std::sqrt(double(taps * c.in)) + 1e-5 * std::sqrt(double(taps * c.out));
  const double gradient_tolerance = 2e-5 * std::sqrt(double(c.batch * s.out_height * s.out_width)) + 1e-5;

  in_every_isa([&] {
    const ConvKernels& k = conv_kernels();
    ChannelsTensor in(x, c.raw_input ? c.in : icp, c.pad);
    ChannelsTensor out(c.batch, s.out_height, s.out_width, ocp, 1);
    out.fill(77);
    k.forward(s, in.images(), packed.data(), packed_bias.data(), out.images());
    expect_same(out, y, tolerance, "forward");
    for (int o = c.out; o < ocp; ++o) EXPECT_EQ(out.at(0, 0, 0, o), 0) << "padding is not zero";
    EXPECT_EQ(out.at(0, 0, -1, 0), 77) << "halo was written";
    EXPECT_EQ(out.at(c.batch - 1, s.out_height - 1, s.out_width, 0), 77) << "halo was written";

    const int reach = c.kernel_width - 1 - c.pad;
    ChannelsTensor slopes(dy, ocp, std::max(0, reach));
    std::vector<float> turned(std::size_t(taps * c.out * icp), 5.0f);
    k.turn(s, packed.data(), false, turned.data());
    ChannelsTensor din(c.batch, c.height, c.width, icp, c.pad);
    k.backward_data(s, slopes.images(), turned.data(), din.images());
    expect_same(din, dx, tolerance, "backward data");

    if (c.stride == 1 && reach >= 0 && pad_top == c.pad && c.kernel_height == c.kernel_width) {
      ConvShape back = s;
      back.in_height = s.out_height;
      back.in_width = s.out_width;
      back.in_channels = c.out;
      back.out_height = c.height;
      back.out_width = c.width;
      back.out_channels = c.in;
      back.pad_top = back.pad_left = reach;
      k.turn(s, packed.data(), true, turned.data());
      din.fill(3);
      k.forward(back, slopes.images(), turned.data(), nullptr, din.images());
      expect_same(din, dx, tolerance, "backward data by a convolution");
    }

    std::vector<float> got(packed.size()), got_bias(packed_bias.size());
    k.backward_weights(s, in.images(), slopes.images(), got.data(), got_bias.data());
    double worst = 0;
    for (int i = 0; i < taps * c.in; ++i)
      for (int o = 0; o < c.out; ++o)
        worst = std::max(worst, std::abs(got[std::size_t(i * ocp + o)] - dw[std::size_t(i * c.out + o)]));
    EXPECT_LE(worst, gradient_tolerance) << "backward weights";
    for (int o = 0; o < c.out; ++o)
      EXPECT_NEAR(got_bias[std::size_t(o)], db[std::size_t(o)], gradient_tolerance) << "backward bias";
    std::vector<float> again(packed.size());
    k.backward_weights(s, in.images(), slopes.images(), again.data(), nullptr);
    EXPECT_EQ(again, got) << "bits do not repeat";

    if (c.kernel_height != 3 || c.kernel_width != 3 || c.stride != 1 || c.pad != 1 || c.in % 16 != 0 ||
        c.out % 16 != 0 || c.height % 2 != 0 || c.width % 2 != 0) {
      return;
    }
    const WinogradKernels& winograd = winograd_kernels();
    const WinogradShape tiles{c.height, c.width, c.in, c.out}, back{c.height, c.width, c.out, c.in};
    const auto image = [](ChannelsTensor& tensor, int n) {
      Images images = tensor.images();
      images.data += std::size_t(n) * images.sample;
      return images;
    };
    std::vector<float> spectrum(std::size_t(winograd.points(tiles) * c.in * c.out)), slope(spectrum.size());
    std::vector<float> scratch(winograd.scratch_floats(tiles) + winograd.scratch_floats(back));
    winograd.spectrum(tiles, packed.data(), spectrum.data());
    out.fill(77);
    std::vector<float> dbias(std::size_t(c.out), 0.0f);
    for (int n = 0; n < c.batch; ++n) {
      winograd.forward(tiles, image(in, n), spectrum.data(), packed_bias.data(), image(out, n), scratch.data());
      winograd.backward_weights(tiles, image(in, n), image(slopes, n), slope.data(), dbias.data(), scratch.data());
    }
    expect_same(out, y, 3 * tolerance, "forward by Winograd");
    EXPECT_EQ(out.at(0, 0, -1, 0), 77) << "halo was written";
    k.turn(s, packed.data(), true, turned.data());
    winograd.spectrum(back, turned.data(), spectrum.data());
    for (int n = 0; n < c.batch; ++n) {
      winograd.forward(back, image(slopes, n), spectrum.data(), nullptr, image(din, n), scratch.data());
    }
    expect_same(din, dx, 3 * tolerance, "backward data by Winograd");
    std::vector<float> sums(packed.size(), 1.0f);
    winograd.add_weights(tiles, slope.data(), sums.data());
    worst = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) worst = std::max(worst, std::abs(sums[i] - 1 - dw[i]));
    EXPECT_LE(worst, 3 * gradient_tolerance) << "backward weights by Winograd";
    for (int o = 0; o < c.out; ++o)
      EXPECT_NEAR(dbias[std::size_t(o)], db[std::size_t(o)], gradient_tolerance) << "backward bias by Winograd";
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, ConvKernelsTest,
                         ::testing::Values(ConvCase{"wide", 2, 14, 14, 64, 64, 5, 5, 1, 0, false},
                                           ConvCase{"colour_input", 5, 13, 17, 3, 64, 5, 5, 1, 0, true},
                                           ConvCase{"grey_input_same", 3, 28, 28, 1, 32, 5, 5, 1, 2, true},
                                           ConvCase{"same", 2, 9, 11, 32, 48, 3, 3, 1, 1, false},
                                           ConvCase{"odd_channels", 2, 10, 7, 5, 20, 3, 3, 1, 1, false},
                                           ConvCase{"odd_channels_five", 1, 9, 8, 20, 50, 5, 5, 1, 2, false},
                                           ConvCase{"strided", 2, 16, 12, 16, 32, 3, 3, 2, 1, false},
                                           ConvCase{"strided_odd", 3, 9, 11, 7, 9, 3, 3, 2, 1, false},
                                           ConvCase{"projection", 2, 8, 10, 16, 32, 1, 1, 2, 0, false},
                                           ConvCase{"point", 1, 5, 3, 33, 17, 1, 1, 1, 0, false},
                                           ConvCase{"many_channels", 1, 4, 5, 130, 80, 3, 3, 1, 1, false},
                                           ConvCase{"waveform", 2, 1, 1600, 1, 32, 1, 80, 16, 0, true},
                                           ConvCase{"sequence", 3, 1, 25, 32, 64, 1, 3, 1, 0, false},
                                           ConvCase{"sequence_same", 3, 1, 25, 12, 10, 1, 3, 1, 1, false},
                                           ConvCase{"tiny", 1, 2, 2, 16, 16, 3, 3, 1, 1, false},
                                           ConvCase{"batch_17", 17, 8, 8, 16, 16, 3, 3, 1, 1, false},
                                           ConvCase{"large_tiles", 3, 16, 20, 48, 16, 3, 3, 1, 1, false},
                                           ConvCase{"large_tiles_in_strips", 1, 44, 32, 16, 64, 3, 3, 1, 1, false}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace muster
