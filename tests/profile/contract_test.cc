// What holds for every kind of the catalogue, with its defaults and with each of its keys set.
#include <limits>

#include "profile/fake_subject.h"
#include "profile/kind_settings.h"

namespace muster {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class EveryKind : public ::testing::TestWithParam<KindSetting> {
 protected:
  [[nodiscard]] bool counts() const {
    return kind->entry().gives == ProfileGives::kNothing || kind->entry().gives == ProfileGives::kLabels;
  }
  [[nodiscard]] bool needs_models() const {
    return kind->entry().trains || kind->entry().gives == ProfileGives::kLosses;
  }
  [[nodiscard]] ProfileTask task() const { return world.task(*kind); }

  const std::unique_ptr<ProfileKind> kind = kind_of(GetParam().options);
  const ProfileWorld world{kind->entry().gives == ProfileGives::kLosses ? 3u : 1u};
  FakeSubject subject{world.network};
};
INSTANTIATE_TEST_SUITE_P(Profile, EveryKind, ::testing::ValuesIn(kind_settings()), name_of_setting);

TEST_P(EveryKind, IsListedAndDescribed) {
  const ProfileEntry entry = profile_kind(GetParam().options);
  EXPECT_EQ(entry.name, GetParam().options.kind);
  EXPECT_EQ(kind->entry().name, entry.name);
  EXPECT_FALSE(entry.summary.empty() || entry.bytes.empty() || entry.reveals.empty());
  EXPECT_EQ(kind->reveals().substr(0, entry.reveals.size()), entry.reveals);
  EXPECT_LE(kind->start_part(), 1u);
}

TEST_P(EveryKind, TellsWhatItSaysItTells) {
  const ClientProfile told = told_by(*kind, task(), subject);
  const std::size_t width = *kind->width(*world.network, world.models.count());
  EXPECT_EQ(told.vector.size(), width);
  EXPECT_EQ(told.labels.size(), kind->entry().gives == ProfileGives::kLabels ? world.network->classes() : 0);
  EXPECT_EQ(width > 0, !counts());
  EXPECT_EQ(refuse(kind->entry(), told, width, world.network->classes()), std::nullopt);
  EXPECT_EQ(told.samples_trained > 0, kind->entry().trains);
  EXPECT_EQ(subject.work.size(), kind->entry().trains ? 1u : 0u);
  // What travels is what was told, and what the client was sent for it.
  const ProfileBytes bytes = kind->bytes(*world.network, world.models.count(), world.exemplars());
  EXPECT_EQ(bytes.up, 4 * (told.vector.size() + told.labels.size()));
  std::uint64_t down = needs_models() ? world.models.values.size() * 4 : 0;
  if (kind->entry().exemplars) down += 3 * (3 * 4 + 4);
  EXPECT_EQ(bytes.down, down);
}

TEST_P(EveryKind, TellsTheSameAgain) {
  const ClientProfile first = told_by(*kind, task(), subject);
  ProfileTask later = task();
  later.round = 9;
  const ClientProfile second = told_by(*kind, later, subject);
  EXPECT_EQ(first.vector, second.vector);
  EXPECT_EQ(first.labels, second.labels);
}

TEST_P(EveryKind, OfAClientWithoutSamplesIsZerosOrNone) {
  subject.owned = 0;
  subject.counts.assign(world.network->classes(), 0);
  if (counts()) {
    const ClientProfile told = told_by(*kind, task(), subject);
    for (const std::uint32_t count : told.labels) EXPECT_EQ(count, 0u);
  } else {
    EXPECT_EQ(dropped_by(*kind, task(), subject), DropReason::kNoSamples);
    EXPECT_TRUE(subject.work.empty());
  }
}

TEST_P(EveryKind, OfAClientThatVanishesWhileTrainingIsNone) {
  for (const DropReason reason : {DropReason::kStraggler, DropReason::kUnreachable, DropReason::kNonFinite}) {
    subject.gone = reason;
    if (kind->entry().trains) {
      EXPECT_EQ(dropped_by(*kind, task(), subject), reason);
    } else {
      EXPECT_EQ(dropped_by(*kind, task(), subject), std::nullopt);
    }
  }
}

TEST_P(EveryKind, PassesAnErrorOn) {
  subject.breaks = true;
  const auto reply = kind->tell(task(), subject);
  ASSERT_EQ(reply.ok(), !kind->entry().trains);
  if (!reply.ok()) {
    EXPECT_EQ(reply.error().message, "the disk is full");
  }
}

TEST_P(EveryKind, IsNotToldIfItIsNotFiniteUnlessItIsALoss) {
  subject.change.assign(subject.change.size(), kNan);
  subject.logits.assign(subject.logits.size(), kNan);
  subject.loss = kNan;
  const bool fine = counts() || kind->entry().gives == ProfileGives::kLosses;
  EXPECT_EQ(dropped_by(*kind, task(), subject),
            fine ? std::nullopt : std::optional<DropReason>(DropReason::kNonFinite));
}

TEST_P(EveryKind, IsNotToldIfTheTaskLacksWhatItNeeds) {
  const auto expect = [&](const ProfileTask& broken, bool matters) {
    EXPECT_EQ(dropped_by(*kind, broken, subject),
              matters ? std::optional<DropReason>(DropReason::kMalformed) : std::nullopt);
  };
  ProfileTask without_models = task();
  without_models.models = {};
  expect(without_models, needs_models());
  ProfileTask other_models = task();
  const std::vector<float> shorter(world.network->size() - 1);
  other_models.models = {shorter, shorter.size()};
  expect(other_models, needs_models());
  ProfileTask without_exemplars = task();
  without_exemplars.exemplars = {};
  expect(without_exemplars, kind->entry().exemplars);
  for (const double work : {-0.5, 1.5, double{kNan}}) {
    ProfileTask other_work = task();
    other_work.work = work;
    expect(other_work, true);
  }
  ProfileTask no_work = task();
  no_work.work = 0;  // a straggler that hardly began
  expect(no_work, false);
}

TEST_P(EveryKind, IsRefusedInAnotherSize) {
  const ClientProfile told = told_by(*kind, task(), subject);
  const std::size_t width = *kind->width(*world.network, world.models.count());
  const auto reason = [&](const ClientProfile& wrong) {
    return refuse(kind->entry(), wrong, width, world.network->classes());
  };
  ClientProfile longer = told;
  longer.vector.push_back(0);
  EXPECT_EQ(reason(longer), DropReason::kMalformed);
  ClientProfile counted = told;
  counted.labels.push_back(1);
  EXPECT_EQ(reason(counted), DropReason::kMalformed);
  if (kind->entry().gives != ProfileGives::kNothing) {
    EXPECT_EQ(reason({}), DropReason::kMalformed);
  }
  if (width > 0) {
    ClientProfile infinite = told;
    infinite.vector.back() = std::numeric_limits<float>::infinity();
    EXPECT_EQ(reason(infinite), kind->entry().gives == ProfileGives::kLosses
                                    ? std::nullopt
                                    : std::optional<DropReason>(DropReason::kNonFinite));
  }
}

TEST_P(EveryKind, IsReadOffARoundAsItIsTold) {
  if (!kind->entry().observable) return;
  const ClientProfile told = told_by(*kind, task(), subject);
  EXPECT_EQ(kind->observe(*world.network, world.models.row(0), subject.last_trained), told.vector);
}

TEST_P(EveryKind, IsAskedForByItsName) {
  EXPECT_EQ(kind_asked(task(), *kind), kind.get());
  ProfileTask losses = task();
  losses.kind = "losses";
  EXPECT_EQ(kind_asked(losses, *kind)->entry().gives, ProfileGives::kLosses);
  ProfileTask other = task();
  other.kind = "guess";
  EXPECT_EQ(kind_asked(other, *kind), nullptr);
}

TEST(Refuse, WantsProbabilitiesThatSumToOne) {
  const ProfileEntry entry{.gives = ProfileGives::kProbabilities};
  const auto reason = [&](std::vector<float> vector) { return refuse(entry, {.vector = std::move(vector)}, 3, 3); };
  EXPECT_EQ(reason({0.2f, 0.5f, 0.3f}), std::nullopt);
  EXPECT_EQ(reason({1, 0, 0}), std::nullopt);
  EXPECT_EQ(reason({0, 0, 0}), DropReason::kMalformed);
  EXPECT_EQ(reason({-0.5f, 1, 0.5f}), DropReason::kMalformed);
  EXPECT_EQ(reason({1, 1, 1}), DropReason::kMalformed);
  EXPECT_EQ(reason({kNan, 1, 0}), DropReason::kNonFinite);
}

}  // namespace
}  // namespace muster
