// Whoever vanishes, whenever: the sum of those whose vectors arrived, to the last bit, or none at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"
#include "sum_run.h"

namespace muster {
namespace {

// Checks a run against what must come out of it: everybody who is lost in `input` or later has masks with others; the
// sum is of those who are not lost before `agreement`; it needs as many to the end as the threshold says.
void check_outcome(SumRun& run, const Status& status, const std::map<std::uint32_t, SumPhase>& lost) {
  EXPECT_TRUE(run.refused_.empty()) << run.refused_.begin()->second;
  EXPECT_TRUE(run.unusable_.empty());
  const SumTerms& terms = run.server_.terms();
  std::vector<ClientId> summed;
  std::uint32_t to_the_end = 0;
  for (const ClientId id : terms.members) {
    const auto found = lost.find(id.value);
    if (found == lost.end() || found->second > SumPhase::kInput) summed.push_back(id);
    if (found == lost.end()) ++to_the_end;
  }
  if (terms.neighbours == 0) {
    ASSERT_EQ(status.ok(), to_the_end >= terms.threshold) << to_the_end << " of " << terms.members.size();
  }
  if (!status.ok()) {
    EXPECT_THAT(status.error().message, testing::StartsWith("abandoned in phase "));
    return;
  }
  if (terms.neighbours == 0) {
    EXPECT_EQ(run.server_.summed(), summed);
  }
  EXPECT_EQ(run.server_.sum(), run.plain_sum(run.server_.summed()));
}

TEST(SumDrops, EveryPatternOverEveryPhase) {
  for (std::uint32_t members = 2; members <= 6; ++members) {
    std::uint32_t patterns = 1;
    for (std::uint32_t i = 0; i < members; ++i) patterns *= 6;
    // All of them where there are few, or where MUSTER_TRANSCRIPTS says that there is time.
    constexpr std::uint32_t kStep[] = {1, 1, 1, 1, 1, 7, 97};
    const std::uint32_t step = std::getenv("MUSTER_TRANSCRIPTS") ? 1 : kStep[members];
    for (std::uint32_t pattern = 0; pattern < patterns; pattern += step) {
      const SumTerms terms = terms_of(members, 3, pattern % 2 == 0 ? 32 : 64);
      std::map<std::uint32_t, SumPhase> lost;
      std::uint32_t rest = pattern;
      for (const ClientId id : terms.members) {
        if (rest % 6 < 5) lost.emplace(id.value, static_cast<SumPhase>(rest % 6));
        rest /= 6;
      }
      SumRun run(terms);
      check_outcome(run, run.run(lost), lost);
      if (HasFailure()) FAIL() << members << " members, pattern " << pattern;
    }
  }
}

// Sums of any size, graph, width and threshold; MUSTER_TRANSCRIPTS=100000 for as many.
TEST(SumDrops, RandomTranscripts) {
  const char* const asked = std::getenv("MUSTER_TRANSCRIPTS");
  const int transcripts = asked ? std::atoi(asked) : 300;
  int opened = 0;
  for (int i = 0; i < transcripts; ++i) {
    Stream random({.seed = 3, .purpose = Purpose::kTest, .id = static_cast<std::uint32_t>(i)});
    const std::uint32_t members = 2 + random.below(12);
    SumTerms terms = terms_of(members, 2 + random.below(20), random.below(2) == 0 ? 32 : 64, 2 * random.below(6));
    terms.round = 1 + random.below(100);
    terms.threshold = threshold_for(0.5 + 0.5 * random.uniform(), terms.holders());
    std::map<std::uint32_t, SumPhase> lost;
    const double share = 0.4 * random.uniform();
    for (const ClientId id : terms.members) {
      if (random.uniform() < share) lost.emplace(id.value, static_cast<SumPhase>(random.below(5)));
    }
    SumRun run(terms, random.next64());
    const Status status = run.run(lost);
    check_outcome(run, status, lost);
    opened += status.ok() ? 1 : 0;
    if (HasFailure()) FAIL() << "transcript " << i << ": " << (status.ok() ? "" : status.error().message);
  }
  EXPECT_GT(opened, transcripts / 4);
}

TEST(SumDrops, WhereAMemberWasLostIsKnown) {
  SumRun run(terms_of(6, 3));
  ASSERT_TRUE(run.run({{10, SumPhase::kInput}, {13, SumPhase::kOpening}}));
  EXPECT_EQ(run.server_.lost_in({10}), SumPhase::kInput);
  EXPECT_EQ(run.server_.lost_in({13}), SumPhase::kOpening);
  EXPECT_EQ(run.server_.lost_in({16}), std::nullopt);
  EXPECT_THAT(run.server_.summed(),
              testing::ElementsAre(ClientId{13}, ClientId{16}, ClientId{19}, ClientId{22}, ClientId{25}));
}

// Neighbours only: a few dozen members, most of whom know nothing of each other.
TEST(SumDrops, LargeGroupsNeedNeighboursOnly) {
  const SumTerms terms = terms_of(60, 5, 64, 12);
  std::map<std::uint32_t, SumPhase> lost;
  for (std::uint32_t i = 0; i < 6; ++i) lost.emplace(terms.members[i * 10].value, static_cast<SumPhase>(i % 5));
  SumRun run(terms);
  const Status status = run.run(lost);
  ASSERT_TRUE(status) << status.error().message;
  check_outcome(run, status, lost);
  EXPECT_GE(run.server_.summed().size(), 55u);
}

TEST(SumDrops, TheSameSeedsGiveTheSameBytes) {
  std::vector<SumMessage> sent[2];
  for (auto& messages : sent) {
    SumRun run(terms_of(4, 10), 5);
    ASSERT_TRUE(run.run({}, {}, [&](SumPhase, ClientId, SumMessage message) {
      messages.push_back(message);
      return std::optional(std::move(message));
    }));
  }
  EXPECT_EQ(sent[0], sent[1]);
}

}  // namespace
}  // namespace muster
