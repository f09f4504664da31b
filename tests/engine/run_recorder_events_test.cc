// What a run tells as it goes: lines, and events for TensorBoard.
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "engine/run_recorder.h"
#include "scratch_folder.h"

namespace muster {
namespace {

// The value of each scalar event of a tag, in the order of the file. In the file a tag is followed by the key of its
// value (field 2, four bytes) and the value.
std::vector<float> scalars(const std::string& events, const std::string& tag) {
  std::vector<float> values;
  const std::string named = static_cast<char>(tag.size()) + tag + '\x15';
  for (std::size_t at = events.find(named); at != std::string::npos; at = events.find(named, at + 1)) {
    float value = 0;
    std::memcpy(&value, events.data() + at + named.size(), sizeof value);
    values.push_back(value);
  }
  return values;
}

struct Recorded {
  Recorded() : folder(std::move(RunFolder::create(scratch.path(), "run", 1)).value()) {
    options.quiet = true;
    recorder.emplace(folder, options);
    EXPECT_TRUE(recorder->begin(3, 1).ok());
  }
  // All that the events file holds, once the recorder is gone.
  std::string events() {
    recorder.reset();
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (!entry.path().filename().string().starts_with("events.out.tfevents.")) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      return {std::istreambuf_iterator<char>(in), {}};
    }
    return {};
  }
  ScratchFolder scratch;
  SimulationOptions options;
  RunFolder folder;
  std::optional<RunRecorder> recorder;
};

RoundRecord different_numbers(std::uint32_t round) {
  RoundRecord record{.round = round, .accuracy = 0.25, .loss = 2.5, .client_accuracy = 0.5, .covered = 0.75};
  record.train_loss = 3.5;
  record.loss_variance = 4.5;
  record.epochs = {.min = 1, .mean = 5.5, .max = 9, .clients = {}};
  record.participants = 4;
  record.compute_s = 15;
  record.comm_s = 16;
  record.group_accuracy = {0.125, 0.375};
  return record;
}

TEST(RunRecorderEvents, EveryEventHasItsOwnNumber) {
  Recorded run;
  RoundRecord unknown{.round = 1};
  ASSERT_TRUE(run.recorder->round(unknown).ok());
  ASSERT_TRUE(run.recorder->round(different_numbers(2)).ok());
  const std::string events = run.events();
  EXPECT_EQ(scalars(events, "accuracy"), std::vector<float>{0.25f});
  EXPECT_EQ(scalars(events, "loss"), std::vector<float>{2.5f});
  EXPECT_EQ(scalars(events, "client_accuracy"), std::vector<float>{0.5f});
  EXPECT_EQ(scalars(events, "train_loss"), std::vector<float>{3.5f});
  EXPECT_EQ(scalars(events, "loss_variance"), std::vector<float>{4.5f});
  EXPECT_EQ(scalars(events, "epochs_mean"), std::vector<float>{5.5f});
  EXPECT_EQ(scalars(events, "participants"), (std::vector<float>{0, 4}));
  EXPECT_EQ(scalars(events, "cost_s"), (std::vector<float>{0, 31}));
}

TEST(RunRecorderEvents, ThePicturesOfGroupsGrowRarer) {
  Recorded run;
  Rows<std::uint64_t> counts(2, 3);
  counts.row(0)[1] = 5;
  std::vector<std::uint32_t> shown;
  for (std::uint32_t round = 1; round <= 20; ++round) {
    if (!run.recorder->wants_picture()) continue;
    shown.push_back(round);
    run.recorder->add_picture(round, counts);
  }
  EXPECT_EQ(shown, (std::vector<std::uint32_t>{1, 4, 16}));
  run.recorder->finish(true);
  const std::string events = run.events();
  std::size_t pictures = 0;
  for (std::size_t at = events.find("\x89PNG"); at != std::string::npos; at = events.find("\x89PNG", at + 1))
    ++pictures;
  EXPECT_EQ(pictures, 3u);
  EXPECT_NE(events.find("_hparams_/session_end_info"), std::string::npos);
}

TEST(RunRecorderEvents, AGroupingIsWrittenWithItsRound) {
  Recorded run;
  const auto lines = [&] {
    std::ifstream in(run.folder.path() / "groups.jsonl");
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  };
  run.recorder->add_grouping(1, R"({"round":1})");
  run.recorder->add_grouping(2, R"({"round":2})");
  EXPECT_TRUE(lines().empty());
  ASSERT_TRUE(run.recorder->round({.round = 1}).ok());
  EXPECT_EQ(lines(), std::vector<std::string>{R"({"round":1})"});
  ASSERT_TRUE(run.recorder->round({.round = 2}).ok());
  ASSERT_TRUE(run.recorder->round({.round = 3}).ok());
  EXPECT_EQ(lines().size(), 2u);
}

TEST(RunRecorderEvents, SaysEachThingOnce) {
  ScratchFolder scratch;
  RunFolder folder = std::move(RunFolder::create(scratch.path(), "run", 1)).value();
  std::vector<std::string> said;
  SimulationOptions options;
  options.say = [&](const std::string& note) { said.push_back(note); };
  RunRecorder recorder(folder, options);
  for (const char* note : {"one", "two", "one"}) recorder.say(note);
  EXPECT_EQ(said, (std::vector<std::string>{"one", "two"}));
}

TEST(RunRecorderEvents, ALateEvaluationTouchesOnlyWhatItFound) {
  RoundRecord trained{.round = 2};
  trained.train_loss = 1.5;
  trained.participants = 3;
  trained.wall_s = 8;
  const auto line = with_evaluation(to_json(trained), different_numbers(2));
  ASSERT_TRUE(line.ok());
  const auto json = nlohmann::json::parse(*line);
  EXPECT_EQ(json["accuracy"], 0.25);
  EXPECT_EQ(json["loss"], 2.5);
  EXPECT_EQ(json["covered"], 0.75);
  EXPECT_EQ(json["client_accuracy"], 0.5);
  EXPECT_EQ(json["group_accuracy"], (std::vector<double>{0.125, 0.375}));
  EXPECT_EQ(json["train_loss"], 1.5);
  EXPECT_EQ(json["participants"], 3);
  EXPECT_EQ(json["wall_s"], 8.0);
  EXPECT_FALSE(with_evaluation("[]", trained).ok());
}

TEST(RunRecorderEvents, AnAmendedRoundReplacesItsLineAndGainsEvents) {
  Recorded run;
  ASSERT_TRUE(run.recorder->round({.round = 1}).ok());
  ASSERT_TRUE(run.recorder->round({.round = 2}).ok());
  ASSERT_TRUE(run.recorder->amend(different_numbers(2), R"({"round":2,"accuracy":0.25})").ok());
  std::ifstream in(run.folder.path() / "rounds.jsonl");
  std::vector<nlohmann::json> rounds;
  for (std::string line; std::getline(in, line);) rounds.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_TRUE(rounds[0]["accuracy"].is_null());
  EXPECT_EQ(rounds[1]["accuracy"], 0.25);
  EXPECT_EQ(scalars(run.events(), "accuracy"), std::vector<float>{0.25f});
}

}  // namespace
}  // namespace muster
