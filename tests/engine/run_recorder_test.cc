// What a run shows as it goes: phases, groups, events.
#include "engine/run_recorder.h"

#include "fake_run.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// A terminal on which every look at the clock is a second later, so that everything is shown.
struct SlowTerminal {
  std::vector<std::string> writes;
  double now = 0;

  ProgressSink sink() {
    return {.write = [this](std::string_view text) { writes.emplace_back(text); },
            .seconds = [this] { return now += 1; },
            .width = [] { return 200u; },
            .terminal = true};
  }
};

std::vector<std::string> shown_by(const Recipe& recipe) {
  FakeFederation federation(uneven(), recipe.profile);
  federation.step = up_or_down;
  FakeRun run(recipe, federation);
  SlowTerminal terminal;
  run.options.quiet = false;
  run.recorder.emplace(*run.folder, run.options, terminal.sink());
  run.go();
  run.recorder->finish(true);
  return terminal.writes;
}

TEST(RunRecorder, ShowsEveryPhase) {
  Recipe recipe = groups_of_size(2, 2);
  recipe.profile = {.kind = "update-direction"};
  recipe.grouping = {};
  recipe.grouping.method = "decomposed-cosine";
  recipe.grouping.groups = 2;
  const std::vector<std::string> writes = shown_by(recipe);
  EXPECT_THAT(writes, Contains(HasSubstr("round 1/2  grouping")));
  EXPECT_THAT(writes, Contains(HasSubstr("round 1/2  profiles 3/4 clients  ")));
  const std::vector<std::string> trained = shown_by(groups_of_size(2, 2));
  EXPECT_THAT(trained, Contains(HasSubstr("round 1/2  training 1/2 groups  ")));
  EXPECT_THAT(trained, Contains(HasSubstr("round 2/2  training 0/2 groups")));
}

TEST(RunRecorder, SaysHowManyGroupsThereAreWhereClientsAreGrouped) {
  EXPECT_THAT(shown_by(groups_of_size(2, 2)), Contains(HasSubstr("  2 of 2 groups")));
  EXPECT_THAT(shown_by(averaging(2)), Not(Contains(HasSubstr(" of 4 groups"))));
  EXPECT_THAT(shown_by(by_event()), Contains(AllOf(HasSubstr("  2 of 2 groups"), HasSubstr(", 2 models"))));
}

TEST(RunRecorder, WritesGroupsBytesAndCostSoFarAsEvents) {
  const Recipe recipe = by_event();
  FakeFederation federation(uneven(), recipe.profile);
  federation.step = up_or_down;
  FakeRun run(recipe, federation);
  run.go();
  std::string events;
  for (const auto& entry : std::filesystem::directory_iterator(run.folder->path())) {
    if (entry.path().filename().string().find("tfevents") != std::string::npos) events += slurp(entry.path());
  }
  for (const char* tag : {"groups", "idle", "models", "bytes_total", "cost_total_s"})
    EXPECT_THAT(events, HasSubstr(tag));
}

}  // namespace
}  // namespace muster
