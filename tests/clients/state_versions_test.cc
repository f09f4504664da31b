// What a client remembers, by the visit that made it: it goes back and forth, survives its process, and takes no more
// room than it is told to.
#include "clients/state_versions.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "scratch_folder.h"

namespace muster {
namespace {

constexpr std::array<std::uint8_t, 2> kSlots{0, 3};

// On disk, and in memory.
class StateVersionsTest : public testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] std::filesystem::path place() const { return GetParam() ? folder_.path() / "states" : ""; }

  float held(ClientStates& states, std::uint8_t slot = 0) {
    std::vector<float> values(states.size_of({5}, slot).value_or(0));
    EXPECT_TRUE(states.get({5}, slot, values).ok());
    return values.empty() ? -1 : values[0];
  }
  void train(ClientStates& states, StateVersions& versions, StateVersion version) {
    EXPECT_TRUE(states.put({5}, 0, std::vector<float>(4, static_cast<float>(version.round))).ok());
    EXPECT_TRUE(*versions.keep({5}, version));
  }

  ScratchFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(, StateVersionsTest, testing::Bool(),
                         [](const auto& param_info) { return param_info.param ? "OnDisk" : "InMemory"; });

TEST_P(StateVersionsTest, AClientGoesBackToAnyThatItKeeps) {
  ClientStates states({});
  StateVersions versions(states, kSlots, place());
  for (std::uint32_t round = 1; round <= 3; ++round) train(states, versions, {round, 0});
  ASSERT_TRUE(versions.recall({5}, {1, 0}).ok());
  EXPECT_EQ(held(states), 1);
  ASSERT_TRUE(versions.recall({5}, {3, 0}).ok());
  EXPECT_EQ(held(states), 3);
  ASSERT_TRUE(versions.recall({5}, {}).ok());
  EXPECT_FALSE(states.size_of({5}, 0).has_value()) << "the beginning, when it remembered nothing";
}

TEST_P(StateVersionsTest, WhatIsNeitherBasisNorKeptIsDeleted) {
  ClientStates states({});
  StateVersions versions(states, kSlots, place());
  for (std::uint32_t round = 1; round <= 4; ++round) train(states, versions, {round, 0});
  versions.prune({5}, {.basis = {4, 0}, .keep = {{2, 0}}});
  EXPECT_FALSE(versions.recall({5}, {1, 0}).ok());
  EXPECT_FALSE(versions.recall({5}, {3, 0}).ok());
  EXPECT_TRUE(versions.recall({5}, {2, 0}).ok());
  EXPECT_TRUE(versions.recall({5}, {4, 0}).ok());
}

// An ask of round 2 that was held up comes after one of round 4.
TEST_P(StateVersionsTest, AnOldAskCostsNothingThatIsNewer) {
  ClientStates states({});
  StateVersions versions(states, kSlots, place());
  for (std::uint32_t round = 1; round <= 4; ++round) train(states, versions, {round, 0});
  versions.prune({5}, {.basis = {2, 0}, .keep = {}});
  EXPECT_FALSE(versions.recall({5}, {1, 0}).ok());
  ASSERT_TRUE(versions.recall({5}, {4, 0}).ok());
  EXPECT_EQ(held(states), 4);
}

TEST_P(StateVersionsTest, WhatATrainingLeftHalfDoneIsNoVersion) {
  ClientStates states({});
  StateVersions versions(states, kSlots, place());
  train(states, versions, {1, 0});
  ASSERT_TRUE(states.put({5}, 3, std::vector<float>(4, 9.0f)).ok());
  versions.spoil({5});
  ASSERT_TRUE(versions.recall({5}, {1, 0}).ok());
  EXPECT_EQ(held(states), 1);
  EXPECT_FALSE(states.size_of({5}, 3).has_value());
}

TEST_P(StateVersionsTest, AClientThatRemembersNothingKeepsNothing) {
  ClientStates states({});
  StateVersions versions(states, kSlots, place());
  EXPECT_FALSE(*versions.keep({5}, {1, 0}));
}

TEST(StateVersionsOnDisk, SurviveTheirProcessAndTellDamage) {
  const ScratchFolder folder;
  {
    ClientStates states({});
    StateVersions versions(states, kSlots, folder.path());
    ASSERT_TRUE(states.put({5}, 0, std::vector<float>(4, 2.0f)).ok());
    ASSERT_TRUE(*versions.keep({5}, {2, 1}));
  }
  ClientStates states({});
  StateVersions versions(states, kSlots, folder.path());
  ASSERT_TRUE(versions.recall({5}, {2, 1}).ok());
  const std::filesystem::path file = folder.path() / "5" / "2-1.state";
  ASSERT_TRUE(std::filesystem::exists(file));
  for (const std::uintmax_t size : {std::uintmax_t{0}, std::uintmax_t{7}, std::filesystem::file_size(file) - 1}) {
    std::filesystem::resize_file(file, size);
    versions.spoil({5});
    const Status torn = versions.recall({5}, {2, 1});
    ASSERT_FALSE(torn.ok()) << size;
    EXPECT_NE(torn.error().message.find("2-1.state"), std::string::npos) << torn.error().message;
  }
}

}  // namespace
}  // namespace muster
