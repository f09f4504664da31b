#include "model/layers/residual.h"

#include <algorithm>
#include <cmath>

#include "model/gradient_check.h"
#include "model/layers.h"
#include "model/layers/pool.h"

namespace muster {
namespace {

TEST(ResidualTest, Gradients) {
  const Shape image{7, 6, 2};
  for (const Norm norm : {Norm::kBatch, Norm::kGroup}) {
    for (const Shortcut shortcut : {Shortcut::kPadded, Shortcut::kProjected}) {
      for (const std::uint32_t stride : {1u, 2u}) {
        for (const std::uint32_t channels : {8u, 18u}) {
          SCOPED_TRACE(::testing::Message() << "norm " << int(norm) << " shortcut " << int(shortcut) << " stride "
                                            << stride << " channels " << channels);
          auto stem = make_conv("c", image, {.channels = 8, .kernel = {3, 3}, .padding = same_padding({3, 3})});
          auto block = make_residual("r", stem->output(),
                                     {.channels = channels, .stride = stride, .norm = norm, .shortcut = shortcut});
          auto next = make_residual("s", block->output(), {.channels = channels, .norm = norm, .bias = true});
          const Shape map = next->output();
          auto pool = make_pool("p", map, Pool::kMean, {map.height, map.width}, {1, 1});
          check_gradient(classify(image, 3, std::move(stem), std::move(block), std::move(next), std::move(pool)), 4,
                         1e-3, 4e-2);
        }
      }
    }
  }
}

TEST(ResidualTest, GradientEverywhereWithRowsOut) {
  const Shape image{5, 6, 3};
  for (const Shortcut shortcut : {Shortcut::kPadded, Shortcut::kProjected}) {
    auto stem = make_conv("c", image, {.channels = 16, .kernel = {3, 3}, .padding = same_padding({3, 3})});
    auto block = make_residual("r", stem->output(), {.channels = 20, .stride = 2, .shortcut = shortcut});
    check_gradient_everywhere(classify(image, 3, std::move(stem), std::move(block)), {3}, 1e-3, 4e-2);
  }
}

// Even images and whole vectors of channels take Winograd's algorithm from batch 4 on.
TEST(ResidualTest, GradientOfWholeTiles) {
  const Shape image{6, 8, 3};
  for (const Norm norm : {Norm::kBatch, Norm::kGroup}) {
    auto stem = make_conv("c", image, {.channels = 16, .kernel = {3, 3}, .padding = same_padding({3, 3})});
    auto plain = make_conv("d", stem->output(), {.channels = 16, .kernel = {3, 3}, .padding = same_padding({3, 3})});
    auto block = make_residual("r", plain->output(), {.channels = 16, .norm = norm, .bias = true});
    check_gradient_everywhere(classify(image, 3, std::move(stem), std::move(plain), std::move(block)), {3, 4}, 1e-3,
                              4e-2);
  }
}

// So many pixels take its larger tiles.
TEST(ResidualTest, GradientOfLargeTiles) {
  const Shape image{16, 16, 3};
  auto stem = make_conv("c", image, {.channels = 16, .kernel = {3, 3}, .padding = same_padding({3, 3})});
  auto block = make_residual("r", stem->output(), {.channels = 16, .norm = Norm::kGroup, .bias = true});
  check_gradient_everywhere(classify(image, 3, std::move(stem), std::move(block)), {4}, 1e-3, 4e-2);
}

// With all convolution weights zero and no shift only the shortcut is left.
TEST(ResidualTest, PaddedShortcutIsTheMeanWithZeroChannelsOnBothSides) {
  const Shape image{3, 4, 2};
  auto stem = make_conv("c", image, {.channels = 2, .bias = false, .relu = false});
  auto block = make_residual("r", stem->output(), {.channels = 6, .stride = 2, .norm = Norm::kGroup});
  const Shape out = block->output();
  ASSERT_EQ(out, (Shape{2, 2, 6}));
  const auto network = classify(image, static_cast<std::uint32_t>(out.size()), std::move(stem), std::move(block));
  std::vector<float> flat(network->size(), 0.0f);
  for (const ParameterTensor& tensor : network->tensors()) {
    // The stem and the classifier are the identity.
    const std::size_t side = tensor.shape.back();
    if (tensor.name != "c.weight" && tensor.name != "dense.weight") continue;
    for (std::size_t i = 0; i < side; ++i) flat[tensor.range.offset + i * side + i] = 1;
  }
  Executor executor(network, 1);
  executor.load(flat);
  for (std::size_t i = 0; i < image.size(); ++i) executor.input(1)[i] = static_cast<float>(i);
  executor.labels(1)[0] = 0;
  executor.evaluate(1);
  std::vector<float> logits(out.size());
  executor.logits(1, logits);
  // Pixel (y, x), channel c of the input is 8 y + 2 x + c; the last row stands alone.
  const double means[2][2] = {{5, 9}, {17, 21}};
  for (std::size_t y = 0; y < 2; ++y)
    for (std::size_t x = 0; x < 2; ++x)
      for (std::size_t c = 0; c < 6; ++c) {
        const double want = c < 2 || c > 3 ? 0 : means[y][x] + double(c - 2);
        EXPECT_NEAR(logits[(y * 2 + x) * 6 + c], want, 1e-5) << y << " " << x << " " << c;
      }
}

}  // namespace
}  // namespace muster
