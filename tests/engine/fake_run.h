// FakeRun: a round loop in a folder of its own, whose clients answer by heart.
#pragma once

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/round_loop.h"
#include "scratch_folder.h"
#include "train/fake_federation.h"

namespace muster {

using Lines = std::vector<nlohmann::json>;

// A run in a folder of its own.
struct FakeRun {
  FakeRun(const Recipe& given, FakeFederation& clients, bool resumed_in = false, const FakeRun* before = nullptr)
      : recipe(given), federation(clients) {
    options.quiet = true;
    options.say = [this](const std::string& note) { notes.push_back(note); };
    auto made = resumed_in ? RunFolder::open(before->scratch.path(), before->folder->path().string())
                           : RunFolder::create(scratch.path(), "fake", 1);
    EXPECT_TRUE(made.ok());
    folder.emplace(std::move(made).value());
    EXPECT_TRUE(folder->write("recipe.toml", format_recipe(recipe)).ok());
    recorder.emplace(*folder, options);
  }
  // Makes the loop; with `resuming` from its checkpoint.
  Status begin(bool resuming = false) {
    MUSTER_ASSIGN(loop, RoundLoop::make(recipe, federation, nullptr, *folder, *recorder, options));
    if (resuming) MUSTER_TRY(loop->load_checkpoint());
    return recorder->begin(recipe.rounds, loop->state().round + 1);
  }
  StopReason go() {
    EXPECT_TRUE(begin().ok());
    auto reason = loop->run();
    EXPECT_TRUE(reason.ok()) << reason.error().message;
    return reason.ok() ? *reason : StopReason::kInterrupted;
  }
  [[nodiscard]] Lines lines(const char* file) const {
    Lines all;
    std::ifstream in(folder->path() / file);
    for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  ScratchFolder scratch;
  Recipe recipe;
  FakeFederation& federation;
  SimulationOptions options;
  std::vector<std::string> notes;
  std::optional<RunFolder> folder;
  std::optional<RunRecorder> recorder;
  std::unique_ptr<RoundLoop> loop;
};

inline Recipe averaging(std::uint32_t rounds) {
  Recipe recipe;
  recipe.rounds = rounds;
  recipe.checkpoint_every = 100;
  return recipe;
}
inline Recipe groups_of_size(std::uint32_t rounds, std::uint32_t size) {
  Recipe recipe = averaging(rounds);
  recipe.grouping.method = "random";
  recipe.grouping.size = size;
  return recipe;
}

// AutoCFL in small: everybody trains together, small clients longer, until groups are formed after round 3.
inline Recipe by_event() {
  Recipe recipe = averaging(6);
  recipe.profile = {.kind = "update-direction"};
  recipe.grouping.method = "decomposed-cosine";
  recipe.grouping.groups = 2;
  recipe.aggregation.global = "none";
  recipe.plan.regroup = {.on = "round", .round = 3};
  recipe.local.adapt_epochs = 0.5;
  recipe.local.epochs = 2;
  recipe.local.epoch_rounding = "fractional";
  return recipe;
}
// Clients 0 and 1 go up, 2 and 3 down.
inline std::vector<FakeClient> uneven() {
  return {{100}, {50}, {20}, {10}};
}
inline float up_or_down(ClientId client) {
  return client.value < 2 ? 1.0f : -1.0f;
}

}  // namespace muster
