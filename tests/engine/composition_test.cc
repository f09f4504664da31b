// What must hold for every composition: equal signatures at any thread count and after an interruption, learning, and
// patience with clients that vanish.
#include <algorithm>

#include "compositions.h"
#include "record/checkpoint.h"
#include "small_run.h"

namespace muster {
namespace {

class EveryComposition : public SimulationTest, public testing::WithParamInterface<NamedSettings> {
 protected:
  static Recipe small_with(const Settings& more = {}) {
    Settings settings = GetParam().settings;
    settings.insert(settings.end(), more.begin(), more.end());
    return small(settings);
  }
  static bool has(const char* setting) {
    return std::ranges::find(GetParam().settings, setting) != GetParam().settings.end();
  }
};

INSTANTIATE_TEST_SUITE_P(, EveryComposition, testing::ValuesIn(kCompositions),
                         [](const auto& param_info) { return test_name(param_info.param.name); });

TEST_P(EveryComposition, HasOneSignatureAtAnyThreadCount) {
  const RunSummary one = run(small_with(), 1);
  EXPECT_EQ(one.signature.size(), 16u);
  EXPECT_EQ(one.signature, run(small_with(), 2).signature);
  EXPECT_EQ(one.signature, run(small_with(), 5).signature);
}

TEST_P(EveryComposition, ResumesToTheSameSignatureWhereverItStopped) {
  const RunSummary whole = run(small_with());
  for (const std::uint32_t stop : {1u, 2u, 5u}) {
    // Stop after `stop` rounds as Ctrl-C does, then lose what came after the last periodic checkpoint as a kill does.
    if (stop % 2 != 0 && has("evaluation.every=2")) continue;
    const RunSummary first = run(small_with({"rounds=" + std::to_string(stop)}));
    std::filesystem::remove(list_checkpoints(first.dir / "checkpoint").front());
    const auto second = resume(first.dir.string(), {"rounds=6"}, options(2));
    ASSERT_TRUE(second.ok()) << second.error().message;
    EXPECT_EQ(second->signature, whole.signature) << stop;
    EXPECT_EQ(second->rounds, 6u);
    EXPECT_EQ(second->samples_trained, whole.samples_trained);
    EXPECT_EQ(second->bytes_up, whole.bytes_up);
    EXPECT_EQ(lines(first.dir / "rounds.jsonl").size(), 6u);
  }
}

TEST_P(EveryComposition, Learns) {
  Settings longer = GetParam().settings;
  if (has("aggregation.global=none")) longer.push_back("data.test-fraction=0.2");
  // The noise that hides one of a dozen clients also hides what they learn, and Adam gives it every parameter's full
  // step.
  if (has("dp.clip=0.5")) {
    longer.insert(longer.end(), {"aggregation.global=uniform", "dp.noise-multiplier=0.01", "dp.epsilon=1e9"});
  }
  longer.push_back("rounds=60");
  const RunSummary summary = run(images(longer), 2);
  ASSERT_TRUE(summary.accuracy_best.has_value());
  EXPECT_GT(*summary.accuracy_best, 0.4);  // ten classes: 0.1 by chance
}

TEST_P(EveryComposition, DoesNotMindThatEverybodyVanishes) {
  Recipe recipe = small_with();
  recipe.faults.drop = 1;
  const RunSummary summary = run(recipe, 2);
  EXPECT_EQ(summary.rounds, 6u);
  for (const auto& line : lines(summary.dir / "rounds.jsonl")) EXPECT_EQ(line["participants"], 0);
}

TEST_P(EveryComposition, DoesNotMindThatTooFewAreLeftForItsGroups) {
  for (const std::uint64_t seed : {1u, 2u}) {
    Recipe recipe = small_with();
    recipe.seed = seed;
    recipe.faults.drop = 0.85;
    EXPECT_EQ(run(recipe, 2).rounds, 6u);
  }
}

}  // namespace
}  // namespace muster
