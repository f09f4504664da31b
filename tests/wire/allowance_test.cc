#include "wire/allowance.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;

class AllowanceTest : public testing::Test {
 protected:
  milliseconds spend(std::uint64_t bytes, int ms) { return allowance_.spend(bytes, start_ + milliseconds(ms)); }
  Allowance::Time start_ = std::chrono::steady_clock::now();
  Allowance allowance_{{.frames = 10, .bytes = 1000}, {.frames = 10, .bytes = 1000}, start_};
};

TEST_F(AllowanceTest, WhoSendsLittleIsNeverSlowed) {
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(spend(90, 100 * i).count(), 0);
}

TEST_F(AllowanceTest, WhoSendsMuchIsSlowedToTheRate) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(spend(1, 0).count(), 0);
  EXPECT_EQ(spend(1, 0), milliseconds(100));
  EXPECT_EQ(spend(1, 100), milliseconds(100)) << "one frame each tenth of a second";
  EXPECT_EQ(spend(1, 10'000).count(), 0) << "silence makes up for it, but not for more than it had at first";
  for (int i = 0; i < 9; ++i) EXPECT_EQ(spend(1, 10'000).count(), 0);
  EXPECT_GT(spend(1, 10'000).count(), 0);
}

TEST_F(AllowanceTest, BytesCountAsFramesDo) {
  EXPECT_EQ(spend(3000, 0), milliseconds(2000));
}

TEST_F(AllowanceTest, WhatWasAskedForIsNotCounted) {
  allowance_.earn({.frames = 100, .bytes = 1e6});
  for (int i = 0; i < 110; ++i) EXPECT_EQ(spend(9000, 0).count(), 0);
  EXPECT_GT(spend(20'000, 0).count(), 0);
}

}  // namespace
}  // namespace muster
