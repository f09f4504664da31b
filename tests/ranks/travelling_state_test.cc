#include "ranks/travelling_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<ClientId> kClients{{1}, {2}};
const std::vector<std::uint8_t> kSlots{0, 3};

std::vector<StateCopy> through_a_parcel(std::vector<StateCopy> copies) {
  ParcelWriter out;
  put_copies(std::move(copies), out);
  ParcelReader in(std::move(out).finish());
  std::vector<StateCopy> read = take_copies(in, kClients, 4);
  EXPECT_TRUE(in.finish("states"));
  return read;
}

TEST(TravellingState, GoesAndOnlyWhatChangedComesBack) {
  ClientStates home{ClientStateOptions{}};
  ClientStates away{ClientStateOptions{}};
  ASSERT_TRUE(home.put({1}, 0, std::vector<float>{1, 2}));
  ASSERT_TRUE(home.put({2}, 3, std::vector<float>{3}));
  const std::vector<StateCopy> sent = through_a_parcel(*copies_of(home, kClients, kSlots));
  ASSERT_THAT(sent, SizeIs(2));
  ASSERT_TRUE(store_copies(away, sent));
  ASSERT_TRUE(away.put({1}, 0, std::vector<float>{9, 9}));
  ASSERT_TRUE(away.put({2}, 0, std::vector<float>{4}));
  const std::vector<StateCopy> back = through_a_parcel(*take_changed(away, kClients, kSlots, sent));
  EXPECT_EQ(away.size(), 0u);
  ASSERT_THAT(back, SizeIs(2));
  EXPECT_THAT(back[0].values, ElementsAre(9, 9));
  EXPECT_THAT(back[1].values, ElementsAre(4));
  ASSERT_TRUE(store_copies(home, back));
  EXPECT_EQ(home.size(), 3u);
}

TEST(TravellingState, OfOthersIsRefused) {
  ParcelWriter out;
  put_copies({{.client = {5}, .slot = 0, .values = {1}}}, out);
  ParcelReader in(std::move(out).finish());
  (void)take_copies(in, kClients, 4);
  EXPECT_TRUE(in.failed());
}

TEST(TravellingState, ThatIsNotThereCostsNothing) {
  ClientStates home{ClientStateOptions{}};
  EXPECT_THAT(*copies_of(home, kClients, kSlots), IsEmpty());
}

}  // namespace
}  // namespace muster
