#include "model/layers/pool.h"

#include "model/gradient_check.h"
#include "model/layers.h"

namespace muster {
namespace {

constexpr Shape kPooledImage{9, 8, 3};

TEST(PoolTest, Shapes) {
  EXPECT_EQ(pool_output({9, 8, 3}, {2, 2}, {2, 2}), (Shape{4, 4, 3}));
  EXPECT_EQ(pool_output({7, 7, 32}, {5, 5}, {1, 1}), (Shape{3, 3, 32}));
  EXPECT_EQ(pool_output({4, 7, 3}, {5, 5}, {1, 1}).size(), 0u);
}

TEST(PoolTest, Gradients) {
  for (const Pool kind : {Pool::kMax, Pool::kMean}) {
    for (const Extent window : {Extent{2, 2}, Extent{3, 4}}) {
      for (const std::uint32_t channels : {16u, 5u}) {
        auto conv = make_conv("c", kPooledImage, {.channels = channels, .kernel = {2, 2}, .relu = false});
        auto pool = make_pool("p", conv->output(), kind, window, {2, 2});
        check_gradient_everywhere(classify(kPooledImage, 3, std::move(conv), std::move(pool)), {1, 5});
      }
    }
  }
}

TEST(PoolTest, MeanOverTheImage) {
  auto conv = make_conv("c", kPooledImage, {.channels = 20, .kernel = {3, 3}});
  const Shape map = conv->output();
  auto pool = make_pool("p", map, Pool::kMean, {map.height, map.width}, {1, 1});
  EXPECT_EQ(pool->output(), (Shape{1, 1, 20}));
  check_gradient_everywhere(classify(kPooledImage, 3, std::move(conv), std::move(pool)), {1, 3});
}

}  // namespace
}  // namespace muster
