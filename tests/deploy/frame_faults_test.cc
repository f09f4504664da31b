// Lines that do what no line over TLS does: frames come twice, in another order, not at all, cut short or with other
// bits. Whatever arrives is refused or is the answer of a client that dropped out; the run goes on at its deadlines,
// and nobody counts twice. MUSTER_FAULTS says how many seeds, with and without an edge
// (default: one of them).
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "base/random.h"
#include "deploy/deployment_in_memory.h"
#include "engine/run_records.h"

namespace muster {
namespace {

enum class FrameFault { kTwice, kSwapped, kLost, kCutShort, kFlipped };

const char* shown(FrameFault fault) {
  constexpr const char* kNames[]{"Twice", "Swapped", "Lost", "CutShort", "Flipped"};
  return kNames[static_cast<int>(fault)];
}

// Some of the frames, from the first ask on. Shared by all lines.
class Faults {
 public:
  Faults(FrameFault fault, std::uint32_t seed)
      : fault_(fault), stream_({.seed = seed, .purpose = Purpose::kTest, .id = static_cast<std::uint32_t>(fault)}) {}

  std::vector<std::string> arrives(std::string bytes) {
    const std::lock_guard lock(mutex_);
    v1::Frame frame;
    begun_ = begun_ || (frame.ParseFromString(bytes) && frame.has_ask());
    // What was held back goes after the next one of its line; a line is known by the thread that carries it.
    const auto held = held_.find(std::this_thread::get_id());
    if (held != held_.end()) {
      std::vector<std::string> both{std::move(bytes), std::move(held->second)};
      held_.erase(held);
      return both;
    }
    if (!begun_ || bytes.empty() || count_ >= kMost || stream_.below(20) != 0) return {std::move(bytes)};
    ++count_;
    const auto length = static_cast<std::uint32_t>(bytes.size());
    switch (fault_) {
      case FrameFault::kTwice:
        return {bytes, bytes};
      case FrameFault::kSwapped:
        held_[std::this_thread::get_id()] = std::move(bytes);
        return {};
      case FrameFault::kLost:
        return {};
      case FrameFault::kCutShort:
        return {bytes.substr(0, stream_.below(length))};
      case FrameFault::kFlipped:
        bytes[stream_.below(length)] ^= static_cast<char>(1 << stream_.below(8));
        return {std::move(bytes)};
    }
    return {};
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  static constexpr int kMost = 20;

  const FrameFault fault_;
  std::mutex mutex_;
  Stream stream_;
  std::map<std::thread::id, std::string> held_;
  bool begun_ = false;
  int count_ = 0;
};

class FrameFaults : public SimulationTest, public testing::WithParamInterface<FrameFault> {};

INSTANTIATE_TEST_SUITE_P(, FrameFaults,
                         testing::Values(FrameFault::kTwice, FrameFault::kSwapped, FrameFault::kLost,
                                         FrameFault::kCutShort, FrameFault::kFlipped),
                         [](const auto& param_info) { return std::string(shown(param_info.param)); });

TEST_P(FrameFaults, NeverHangNorCrashNorCountTwice) {
  const Recipe recipe =
      small({"rounds=4", "plan.sample-clients=9", "evaluation.on=global", "grouping.method=random", "grouping.size=4",
             "local.objective=control-variate", "aggregation.global=control-variate"});
  const char* const asked = std::getenv("MUSTER_FAULTS");
  const auto seeds = static_cast<std::uint32_t>(asked ? std::atoi(asked) : 1);
  // Frames that come twice change nothing, however long that takes.
  const bool harmless = GetParam() == FrameFault::kTwice;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    for (const std::uint32_t edges : {0u, 1u}) {
      if (!asked && edges != static_cast<std::uint32_t>(GetParam()) % 2) continue;
      const ScratchFolder states;
      Faults faults(GetParam(), 2 * seed + edges);
      DeploymentInMemory deployment(
          {.edges = edges,
           .states = states.path(),
           .federation = {.round_deadline_s = harmless ? 60 : 0.7},
           .mangle = [&](std::string bytes, bool) { return faults.arrives(std::move(bytes)); }});
      std::jthread keeper([&](const std::stop_token& stop) { deployment.keep_connected(stop); });
      SimulationOptions wanted = options(1);
      wanted.federation = deployment.maker();
      const auto begun = std::chrono::steady_clock::now();
      const auto summary = simulate(recipe, wanted);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
      keeper.request_stop();
      keeper.join();
      ASSERT_TRUE(summary.ok()) << summary.error().message;
      EXPECT_GT(faults.count(), 0);
      EXPECT_LT(took.count(), 60);
      if (harmless) {
        EXPECT_EQ(summary->signature, run(recipe).signature) << edges << " edges";
      }
      const auto rounds = lines(summary->dir / "rounds.jsonl");
      ASSERT_EQ(rounds.size(), 4u);
      for (const auto& round : rounds) {
        std::set<std::uint32_t> dropped;
        for (const auto& one : round["dropped"]) dropped.insert(one["client"].get<std::uint32_t>());
        EXPECT_EQ(dropped.size(), round["dropped"].size()) << round;
        EXPECT_EQ(round["participants"].get<std::size_t>() + dropped.size(), 9u) << round;
      }
    }
  }
}

}  // namespace
}  // namespace muster
