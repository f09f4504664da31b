#include "ranks/numbered_models.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

class NumberedModelsTest : public testing::Test {
 protected:
  // What `rank` reads of the model, and how many blocks travelled for it.
  std::pair<ReceivedModels::Model, std::size_t> send(std::uint32_t rank, std::span<const float> model) {
    ParcelWriter out;
    sent_.put(rank, model, out);
    Parcel parcel = std::move(out).finish();
    const std::size_t blocks = parcel.blocks.size();
    ParcelReader in(std::move(parcel));
    ReceivedModels::Model read = received_[rank].take(in, 8);
    EXPECT_TRUE(in.finish("a model"));
    return {read, blocks};
  }

  NumberedModels sent_{3};
  ReceivedModels received_[3];
  const std::vector<float> a_{1, 2};
  const std::vector<float> b_{3};
};

TEST_F(NumberedModelsTest, TravelOncePerRank) {
  EXPECT_EQ(send(1, a_).second, 1u);
  EXPECT_EQ(send(1, b_).second, 1u);
  const auto [again, blocks] = send(1, a_);
  EXPECT_EQ(blocks, 0u);
  EXPECT_EQ(*again.values, a_);
  EXPECT_EQ(send(2, a_).second, 1u);
}

TEST_F(NumberedModelsTest, GivenToAllDoNotTravelAgain) {
  ASSERT_TRUE(sent_.give_to_all(sent_.number(a_)));
  EXPECT_FALSE(sent_.give_to_all(sent_.number(a_)));
  received_[2].keep(sent_.number(a_), a_);
  EXPECT_EQ(send(2, a_).second, 0u);
}

TEST_F(NumberedModelsTest, NumbersAreNotUsedAgain) {
  const std::uint64_t first = sent_.number(a_);
  sent_.forget();
  EXPECT_NE(sent_.number(a_), first);
  EXPECT_EQ(sent_.number({}), 0u);
}

TEST_F(NumberedModelsTest, WhatWasNotSentIsRefused) {
  ParcelWriter out;
  out.put(std::uint64_t{77});
  out.put(std::uint8_t{0});
  ParcelReader in(std::move(out).finish());
  EXPECT_EQ(received_[1].take(in, 8).values, nullptr);
  EXPECT_TRUE(in.failed());
}

}  // namespace
}  // namespace muster
