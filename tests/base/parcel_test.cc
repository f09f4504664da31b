#include "base/parcel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ids.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Parcel, IsReadAsItWasWritten) {
  ParcelWriter out;
  out.put(std::uint32_t{7});
  out.put(2.5);
  out.put(std::optional<double>());
  out.put(std::optional<double>(-1.0));
  out.put_list<ClientId>(std::vector<ClientId>{{3}, {1}});
  out.put_text("a\nb");
  out.put_block({1.0f, 2.0f});
  ParcelReader in(std::move(out).finish());
  EXPECT_EQ(in.take<std::uint32_t>(), 7u);
  EXPECT_EQ(in.take_double(), 2.5);
  EXPECT_EQ(in.take_optional(), std::nullopt);
  EXPECT_EQ(in.take_optional(), -1.0);
  EXPECT_THAT(in.take_list<ClientId>(), ElementsAre(ClientId{3}, ClientId{1}));
  EXPECT_EQ(in.take_text(), "a\nb");
  EXPECT_THAT(in.take_block(2), ElementsAre(1.0f, 2.0f));
  EXPECT_TRUE(in.finish("it"));
}

TEST(Parcel, CutAnywhereFailsAndAllocatesNothing) {
  ParcelWriter out;
  out.put_list<std::uint64_t>(std::vector<std::uint64_t>{1, 2, 3});
  out.put_text("text");
  const Parcel whole = std::move(out).finish();
  for (std::size_t size = 0; size < whole.words.size(); ++size) {
    Parcel cut = whole;
    cut.words.resize(size);
    ParcelReader in(std::move(cut));
    (void)in.take_list<std::uint64_t>();
    (void)in.take_text();
    EXPECT_FALSE(in.finish("it")) << size;
  }
}

TEST(Parcel, CountsThatCannotBeAreRefused) {
  ParcelWriter out;
  out.put(~std::uint64_t{0} / 8);
  out.put(std::uint64_t{1});
  ParcelReader in(std::move(out).finish());
  EXPECT_THAT(in.take_list<std::uint64_t>(), IsEmpty());
  EXPECT_TRUE(in.failed());
}

TEST(Parcel, AfterAFailureEverythingIsEmpty) {
  ParcelWriter out;
  out.put(std::uint8_t{2});
  out.put(std::uint32_t{5});
  ParcelReader in(std::move(out).finish());
  EXPECT_FALSE(in.take_flag());
  EXPECT_EQ(in.take<std::uint32_t>(), 0u);
  EXPECT_FALSE(in.finish("it"));
}

TEST(Parcel, BlocksThatAreMissingOrTooLargeAreRefused) {
  ParcelReader none{Parcel{}};
  EXPECT_THAT(none.take_block(9), IsEmpty());
  EXPECT_TRUE(none.failed());
  ParcelReader large{Parcel{.blocks = {{1, 2, 3}}}};
  EXPECT_THAT(large.take_block(2), IsEmpty());
  EXPECT_TRUE(large.failed());
}

TEST(Parcel, LeftoversAreRefused) {
  EXPECT_FALSE(ParcelReader(Parcel{.words = {std::byte{0}}}).finish("it"));
  EXPECT_FALSE(ParcelReader(Parcel{.blocks = {{1.0f}}}).finish("it"));
}

}  // namespace
}  // namespace muster
