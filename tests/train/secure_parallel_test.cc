// Members that are summed securely: the mean is that of plain averaging up to rounding, whoever vanishes in whichever
// phase; what is left of a group that is too small is nothing.
#include <cmath>

#include "solver/local_solver.h"
#include "solver/points.h"
#include "train/change_words.h"
#include "train/forwarding_link.h"
#include "train/group_trainer.h"

namespace muster {
namespace {

constexpr std::uint64_t kSumSeed = 5;
const std::vector<float> kSumStart{1, 1, 2, 2, 3, 3};

// Clients that differ: client k has k + 1 copies of two points.
struct SummedClients {
  explicit SummedClients(std::unique_ptr<Objective> trained = make_plain())
      : objective(std::move(trained)),
        solver(network, data, {.batch_size = 8, .learning_rate = 0.4}, Augmentation{}, *objective, states, kSumSeed) {}

  static std::vector<std::vector<Point>> points() {
    std::vector<std::vector<Point>> all;
    for (std::uint32_t k = 0; k < 12; ++k) {
      std::vector<Point> own;
      for (std::uint32_t i = 0; i <= k; ++i) {
        own.push_back({1.0f + static_cast<float>(k) / 4, 0, 0});
        own.push_back({0, 1.0f - static_cast<float>(i) / 8, 1});
      }
      all.push_back(std::move(own));
    }
    return all;
  }

  GroupUpdate train(const GroupTrainer& trainer, std::uint32_t members, const FaultOptions& faults = {},
                    std::uint32_t round = 1) {
    std::vector<ClientId> ids;
    for (std::uint32_t k = 0; k < members; ++k) ids.push_back({k});
    const auto link = make_in_process_link(solver, *kind, faults, false, kSumSeed);
    auto update = trainer.train({.round = round, .models = {kSumStart}, .parameters = kSumStart.size()},
                                {.group = {2}, .members = ids}, *link, {});
    EXPECT_TRUE(update.ok());
    return std::move(update).value();
  }

  Points data{points(), points()};
  std::shared_ptr<const Network> network = *make_network({.name = "softmax"}, data.shape(), data.classes());
  ClientStates states{{}};
  std::unique_ptr<Objective> objective;
  std::unique_ptr<ProfileKind> kind = std::move(make_profile_kind({.kind = "none"})).value();
  LocalSolver solver;
};

std::unique_ptr<GroupTrainer> summing(std::uint32_t group_rounds, SecureOptions options = {}) {
  if (!options.most_samples) options.most_samples = 32;
  return make_secure_parallel(group_rounds, options);
}

TEST(SecureParallel, IsTheMeanOfPlainTrainingUpToRounding) {
  SummedClients clients;
  for (const std::uint32_t group_rounds : {1u, 3u}) {
    const GroupUpdate plain = clients.train(*make_parallel(group_rounds, true), 6);
    for (const std::uint32_t bits : {32u, 64u}) {
      const GroupUpdate sum = clients.train(*summing(group_rounds, {.bits = bits}), 6);
      ASSERT_EQ(sum.model.size(), plain.model.size());
      const float near = group_rounds * std::ldexp(1.0f, bits == 32 ? -17 : -20);
      for (std::size_t i = 0; i < plain.model.size(); ++i) EXPECT_NEAR(sum.model[i], plain.model[i], near);
      EXPECT_NE(sum.model, kSumStart);
      EXPECT_EQ(sum.samples, plain.samples);
      ASSERT_EQ(sum.members.size(), plain.members.size());
      for (std::size_t i = 0; i < plain.members.size(); ++i) {
        EXPECT_EQ(sum.members[i].client, plain.members[i].client);
        EXPECT_EQ(sum.members[i].visits, group_rounds);
      }
      EXPECT_EQ(sum.secure.sums, group_rounds);
      EXPECT_EQ(sum.secure.abandoned, 0u);
      EXPECT_TRUE(sum.secure.lost.empty());
      EXPECT_GT(sum.secure.bytes_up, group_rounds * 6 * 7 * bits / 8);
    }
  }
}

// What members send besides their models is summed with them, and nobody sees it of one.
TEST(SecureParallel, SumsWhatTheObjectiveSends) {
  for (const std::uint32_t group_rounds : {1u, 2u}) {
    for (const std::string_view samples : {kToldSamples, kHiddenSamples}) {
      SummedClients apart(make_control_variate(false));
      SummedClients together(make_control_variate(false));
      const auto trainer = make_secure_parallel(group_rounds, {.most_samples = 32, .samples = std::string(samples)}, {},
                                                /*sums_payload=*/true);
      for (std::uint32_t round = 1; round <= 2; ++round) {  // from the second on they have controls of their own
        const GroupUpdate plain = apart.train(*make_parallel(group_rounds, true), 6, {}, round);
        const GroupUpdate sum = together.train(*trainer, 6, {}, round);
        ASSERT_EQ(plain.payload.size(), kSumStart.size());
        ASSERT_EQ(sum.payload.size(), plain.payload.size());
        for (std::size_t i = 0; i < plain.model.size(); ++i) {
          EXPECT_NEAR(sum.model[i], plain.model[i], 1e-4);
          EXPECT_NEAR(sum.payload[i], plain.payload[i], 1e-4);
        }
        EXPECT_TRUE(std::ranges::any_of(sum.payload, [](float value) { return std::abs(value) > 0.01f; }));
      }
    }
  }
}

TEST(SecureParallel, TheSameSeedGivesTheSameBits) {
  SummedClients clients;
  const FaultOptions faults{.drop = 0.2, .straggle = 0.1, .nan = 0.1};
  const GroupUpdate one = clients.train(*summing(2), 10, faults);
  const GroupUpdate two = clients.train(*summing(2), 10, faults);
  EXPECT_EQ(one.model, two.model);
  EXPECT_EQ(one.secure, two.secure);
}

// Over many rounds, members vanish in every phase. Whoever is in the sum counts, and nobody else; where too few are
// left, the model stays and everybody is told of.
TEST(SecureParallel, WhoVanishesCostsItselfOnly) {
  SummedClients clients;
  std::array<std::uint32_t, 5> lost{};
  std::uint32_t abandoned = 0;
  for (std::uint32_t round = 1; round <= 60; ++round) {
    const GroupUpdate sum = clients.train(*summing(1), 8, {.drop = 0.25, .nan = 0.05}, round);
    EXPECT_EQ(sum.members.size() + sum.dropped.size(), 8u);
    for (const LostMember& member : sum.secure.lost) ++lost.at(static_cast<std::size_t>(member.phase));
    abandoned += sum.secure.abandoned;
    if (sum.secure.abandoned > 0) {
      EXPECT_EQ(sum.model, kSumStart);
      EXPECT_TRUE(sum.members.empty());
      continue;
    }
    // Plain training of those who are in the sum.
    std::vector<ClientId> ids;
    for (const MemberReport& member : sum.members) ids.push_back(member.client);
    const auto link = make_in_process_link(clients.solver, *clients.kind, {}, false, kSumSeed);
    const auto plain = make_parallel(1, true)->train({.round = round, .models = {kSumStart}},
                                                     {.group = {2}, .members = ids}, *link, {});
    ASSERT_TRUE(plain.ok());
    for (std::size_t i = 0; i < sum.model.size(); ++i) EXPECT_NEAR(sum.model[i], plain->model[i], 1e-4);
  }
  EXPECT_GT(abandoned, 0u);
  for (const std::uint32_t in_phase : lost) EXPECT_GT(in_phase, 0u);
}

TEST(SecureParallel, WhatOneAloneSendsIsNotASum) {
  SummedClients clients;
  const GroupUpdate alone = clients.train(*summing(2), 1);
  EXPECT_EQ(alone.model, kSumStart);
  ASSERT_EQ(alone.dropped.size(), 1u);
  EXPECT_EQ(alone.dropped[0].reason, DropReason::kAbandoned);
  EXPECT_EQ(alone.secure.abandoned, 2u);
}

TEST(SecureParallel, WhoHasMoreSamplesThanThereIsRoomForIsLeftOut) {
  SummedClients clients;
  const GroupUpdate sum = clients.train(*summing(1, {.most_samples = 15}), 8);
  ASSERT_EQ(sum.dropped.size(), 1u);
  EXPECT_EQ(sum.dropped[0].client, ClientId{7});
  EXPECT_EQ(sum.dropped[0].reason, DropReason::kMalformed);
}

// The model is the same, and so is everything that is known of all members together.
TEST(SecureParallel, HidesHowManySamplesAMemberHas) {
  SummedClients clients;
  for (const std::uint32_t group_rounds : {1u, 3u}) {
    const GroupUpdate told = clients.train(*summing(group_rounds), 6);
    const GroupUpdate hidden = clients.train(*summing(group_rounds, {.samples = "hidden"}), 6);
    EXPECT_EQ(hidden.model, told.model);
    EXPECT_EQ(hidden.samples, told.samples);
    EXPECT_EQ(hidden.samples, 42u);
    ASSERT_EQ(hidden.members.size(), 6u);
    std::uint64_t trained = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(told.members[i].samples, 2 * (i + 1));
      EXPECT_EQ(hidden.members[i].samples, 7u);
      EXPECT_EQ(hidden.members[i].steps, 0u);
      EXPECT_EQ(hidden.members[i].loss, told.members[i].loss);
      trained += hidden.members[i].samples_trained;
    }
    EXPECT_EQ(trained, 42u * group_rounds);
    EXPECT_EQ(hidden.secure.bytes_up, told.secure.bytes_up + group_rounds * 6 * kHiddenCounts * sizeof(std::uint32_t));
  }
  // Shares that are no whole numbers add up all the same.
  const GroupUpdate four = clients.train(*summing(1, {.samples = "hidden"}), 4);
  EXPECT_EQ(four.samples, 20u);
  const GroupUpdate faulty = clients.train(*summing(1, {.samples = "hidden"}), 12, {.nan = 0.3}, 2);
  ASSERT_GT(faulty.members.size(), 0u);
  ASSERT_LT(faulty.members.size(), 12u);
  std::uint64_t have = 0;
  for (const MemberReport& member : faulty.members) have += 2 * (member.client.value + 1);
  EXPECT_EQ(faulty.samples, have);
  for (const MemberReport& member : faulty.members) {
    EXPECT_LE(have / faulty.members.size(), member.samples);
    EXPECT_GE(have / faulty.members.size() + 1, member.samples);
  }
}

// Who is lost in one of a group's sums and back in the next is counted once, and the others are not counted anew.
TEST(SecureParallel, SharesOfSeveralSumsAddUp) {
  SummedClients clients;
  const std::vector<ClientId> ids{{0}, {1}, {2}, {5}};
  for (const std::uint32_t lost_in : {0u, 1u}) {
    const auto link = make_in_process_link(clients.solver, *clients.kind, {}, false, kSumSeed);
    std::uint32_t sums = 0;
    TalkingLink talking(*link, [&](ClientId client, LocalUpdate& update) {
      if (client == ClientId{5} && sums++ == lost_in) update.samples = 1;  // which is not usable
    });
    const auto update = summing(2, {.samples = "hidden"})
                            ->train({.round = 1, .models = {kSumStart}}, {.group = {2}, .members = ids}, talking, {});
    ASSERT_TRUE(update.ok());
    EXPECT_EQ(update->secure.abandoned, 0u);
    EXPECT_EQ(update->samples, 2u + 4 + 6 + 12) << lost_in;
  }
}

// What members count of their samples is no part of what noise is added to.
TEST(SecureParallel, HidesSamplesOfPrivateSums) {
  SummedClients clients;
  const PrivacyOptions privacy{.clip = 0.5, .noise_multiplier = 0.5};
  const auto train = [&](const std::string& samples) {
    const auto link = make_in_process_link(clients.solver, *clients.kind, {}, false, kSumSeed, nullptr, &privacy);
    const std::vector<ClientId> ids{{0}, {3}, {5}};
    const auto trainer = make_secure_parallel(1, {.most_samples = 1, .samples = samples}, privacy);
    return *trainer->train({.round = 1, .models = {kSumStart}}, {.group = {2}, .members = ids}, *link, {});
  };
  const GroupUpdate told = train("told");
  const GroupUpdate hidden = train("hidden");
  EXPECT_EQ(hidden.model, told.model);
  EXPECT_NE(hidden.model, kSumStart);
  EXPECT_EQ(hidden.samples, 22u);
  ASSERT_EQ(hidden.members.size(), 3u);
  EXPECT_EQ(hidden.members[0].samples, 8u);
  EXPECT_EQ(hidden.members[2].samples, 7u);
}

TEST(SecureParallel, AMemberThatTellsWhatIsHiddenIsLeftOut) {
  SummedClients clients;
  const std::vector<ClientId> ids{{0}, {1}, {2}, {3}};
  using Say = std::function<void(LocalUpdate&)>;
  for (const Say& say :
       {Say([](LocalUpdate& update) { update.samples = 4; }), Say([](LocalUpdate& update) { update.steps = 1; }),
        Say([](LocalUpdate& update) { update.samples_trained = 4; })}) {
    const auto link = make_in_process_link(clients.solver, *clients.kind, {}, false, kSumSeed);
    TalkingLink talking(*link, [&](ClientId client, LocalUpdate& update) {
      if (client == ClientId{1}) say(update);
    });
    const auto update = summing(1, {.samples = "hidden"})
                            ->train({.round = 1, .models = {kSumStart}}, {.group = {2}, .members = ids}, talking, {});
    ASSERT_TRUE(update.ok());
    ASSERT_EQ(update->dropped.size(), 1u);
    EXPECT_EQ(update->dropped[0].client, ClientId{1});
    EXPECT_EQ(update->dropped[0].reason, DropReason::kMalformed);
  }
}

TEST(SecureParallel, LinksWithoutSecureSumsSaySo) {
  class DeafLink final : public ClientLink {
    Result<TrainReply> train(const TrainTask&, LocalUpdate) override { return failure("unused"); }
    Result<ProfileReply> profile(const ProfileTask&) override { return failure("unused"); }
    Result<EvaluateReply> evaluate(const EvaluateTask&) override { return failure("unused"); }
  };
  DeafLink link;
  const std::vector<ClientId> ids{{0}, {1}, {2}};
  EXPECT_FALSE(summing(1)->train({.round = 1, .models = {kSumStart}}, {.group = {0}, .members = ids}, link, {}).ok());
}

}  // namespace
}  // namespace muster
