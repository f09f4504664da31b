// What is wrong with an update, case by case.
#include "train/update_check.h"

#include <cmath>
#include <limits>

#include "fake_federation.h"

namespace muster {
namespace {

// A network that keeps statistics besides its parameters: the two sizes differ.
struct Checked {
  Checked() {
    for (const std::uint32_t samples : {10u, 20u, 30u}) roster.add({.train_samples = samples});
    good.group = {4};
    good.samples = 30;
    good.model.assign(network->size(), 1);
    for (std::uint32_t k = 0; k < 2; ++k) {
      good.members.push_back({.client = {k}, .samples = 10 * (k + 1), .loss = 1, .loss_after = 1.0, .visits = 1});
    }
    good.dropped.push_back({{2}, DropReason::kFault});
  }
  std::optional<DropReason> fault(const GroupUpdate& update) const {
    return fault_of(update, {4}, members, roster, *network);
  }
  std::optional<DropReason> spoilt(const std::function<void(GroupUpdate&)>& spoil) const {
    GroupUpdate update = good;
    spoil(update);
    return fault(update);
  }

  std::shared_ptr<const Network> network =
      std::move(make_network({.name = "resnet", .blocks = 1, .widths = {2}}, {8, 8, 1}, 2)).value();
  Roster roster{{8, 8, 1}, 2, 1};
  std::vector<ClientId> members{{0}, {1}, {2}};
  GroupUpdate good;
};

constexpr auto kMalformed = DropReason::kMalformed;
constexpr auto kNonFinite = DropReason::kNonFinite;
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

TEST(UpdateCheck, AGoodUpdateHasNoFault) {
  const Checked checked;
  ASSERT_NE(checked.network->size(), checked.network->parameters());
  EXPECT_EQ(checked.fault(checked.good), std::nullopt);
  // Reports in the order of a chain, and a payload.
  EXPECT_EQ(checked.spoilt([&](GroupUpdate& u) {
    std::swap(u.members[0], u.members[1]);
    u.payload.assign(checked.network->parameters(), 2);
  }),
            std::nullopt);
  // Nobody contributed: whatever memory the model has is nobody's.
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) {
    u.members.clear();
    u.samples = 0;
    u.model.assign(3, kNotANumber);
    u.dropped = {{{2}, DropReason::kFault}, {{0}, DropReason::kFault}, {{1}, DropReason::kStraggler}};
  }),
            std::nullopt);
}

TEST(UpdateCheck, TheGroupAndItsMembersMustBeTheOnesAsked) {
  const Checked checked;
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.group = {5}; }), kMalformed);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.members[0].client = {1}; }), kMalformed);  // twice
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.members[0].client = {3}; }), kMalformed);  // of another group
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.members[0].client = {4000000000u}; }), kMalformed);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.dropped[0].client = {7}; }), kMalformed);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.dropped[0].client = {0}; }), kMalformed);  // in both lists
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.dropped.clear(); }), kMalformed);          // unaccounted for
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.dropped.push_back({{2}, DropReason::kFault}); }), kMalformed);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.dropped.push_back({{0}, DropReason::kFault}); }), kMalformed);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.members.pop_back(); }), kMalformed);
}

TEST(UpdateCheck, CountsMustBeThoseTheClientsTold) {
  const Checked checked;
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.members[0].samples = 11, u.samples = 31; }), kMalformed);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.samples = 31; }), kMalformed);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.members[1].visits = 0; }), kMalformed);
}

TEST(UpdateCheck, SizesMustFitTheNetwork) {
  const Checked checked;
  const std::size_t size = checked.network->size();
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.model.pop_back(); }), kMalformed);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.model.push_back(1); }), kMalformed);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.model.clear(); }), kMalformed);
  EXPECT_EQ(checked.spoilt([&](GroupUpdate& u) { u.model.resize(checked.network->parameters()); }), kMalformed);
  EXPECT_EQ(checked.spoilt([&](GroupUpdate& u) { u.payload.assign(size, 1); }), kMalformed);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.payload.assign(1, 1); }), kMalformed);
}

TEST(UpdateCheck, NumbersMustBeFinite) {
  const Checked checked;
  const std::size_t parameters = checked.network->parameters();
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.model.back() = kNotANumber; }), kNonFinite);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.model.front() = INFINITY; }), kNonFinite);
  EXPECT_EQ(checked.spoilt([&](GroupUpdate& u) { u.payload.assign(parameters, -INFINITY); }), kNonFinite);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.members[1].loss = kNotANumber; }), kNonFinite);
  EXPECT_EQ(checked.spoilt([](GroupUpdate& u) { u.members[0].loss_after = INFINITY; }), kNonFinite);
}

TEST(UpdateCheck, DroppingAllLeavesNothingOfTheUpdate) {
  Checked checked;
  GroupUpdate update = checked.good;
  update.group = {9};
  update.payload = {1, 2};
  drop_all({4}, checked.members, kNonFinite, update);
  EXPECT_EQ(update.group, GroupId{4});
  EXPECT_EQ(update.samples, 0u);
  EXPECT_TRUE(update.members.empty());
  EXPECT_TRUE(update.payload.empty());
  ASSERT_EQ(update.dropped.size(), 3u);
  for (std::uint32_t k = 0; k < 3; ++k) {
    EXPECT_EQ(update.dropped[k].client, ClientId{k});
    EXPECT_EQ(update.dropped[k].reason, kNonFinite);
  }
  EXPECT_EQ(checked.fault(update), std::nullopt);
}

}  // namespace
}  // namespace muster
