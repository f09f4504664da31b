// Chains whose models travel sealed, through the code of cloud, edges and clients over lines in memory: the results of
// open chains, a host that sees no more than the last model, and members that are gone, or are told what is not so.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>

#include "base/hash.h"
#include "deploy/deployment_in_memory.h"
#include "engine/run_records.h"

namespace muster {
namespace {

class SealedChainRuns : public SimulationTest {
 protected:
  static constexpr std::uint32_t kRounds = 2;
  static Recipe chains(const std::string& relay, const Settings& more = {}) {
    Settings all{fmt::format("rounds={}", kRounds), "training.mode=sequential", "training.relay=" + relay,
                 "profile.kind=label-histogram",    "grouping.method=mediator", "grouping.size=4",
                 "plan.sample-clients=12"};
    all.insert(all.end(), more.begin(), more.end());
    return small(all);
  }
  RunSummary deploy(const Recipe& recipe, DeploymentShape shape, std::uint32_t stop = 0, const std::string& run = "") {
    DeploymentInMemory deployment(std::move(shape));
    std::atomic<bool> interrupt{false};
    SimulationOptions wanted = options(1);
    wanted.interrupt = &interrupt;
    wanted.on_round = [&](std::uint32_t round) { interrupt = stop > 0 && round >= stop; };
    wanted.federation = deployment.maker();
    const auto summary = run.empty() ? simulate(recipe, wanted) : resume(run, {}, wanted);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary.ok() ? *summary : RunSummary{};
  }
  std::vector<nlohmann::json> rounds(const Recipe& recipe, DeploymentShape shape) {
    return json_lines(deploy(recipe, std::move(shape)).dir / "rounds.jsonl");
  }
  // Who was dropped in a round, and why.
  static std::map<std::uint32_t, std::string> dropped(const nlohmann::json& round) {
    std::map<std::uint32_t, std::string> all;
    for (const nlohmann::json& one : round["dropped"]) all[one["client"]] = one["reason"];
    return all;
  }
  // Calls `change` with every ask of a sealed chain that goes to a member from an earlier one.
  static MemoryLine::Tap changed_visits(std::function<void(v1::Ask&)> change) {
    return [change = std::move(change)](v1::Frame& frame, bool up) {
      if (!up && frame.has_ask() && frame.ask().train().chain().has_from()) change(*frame.mutable_ask());
      return true;
    };
  }
  // Of all that clients sent up, by hash of the values; the last models of chains only where those are sealed.
  std::set<std::uint64_t> seen_by_hosts(const Recipe& recipe, std::uint32_t edges) {
    std::mutex mutex;
    std::set<std::uint64_t> seen;
    const auto listen = [&](v1::Frame& frame, bool up) {
      const std::lock_guard lock(mutex);
      if (up && frame.has_chunk()) seen.insert(frame.chunk().checksum());
      return true;
    };
    (void)deploy(recipe, {.edges = edges, .tap = listen});
    return seen;
  }
};

TEST_F(SealedChainRuns, HaveTheRecordsOfOpenOnes) {
  for (const Settings& more : {Settings{}, Settings{"training.passes=3", "faults.drop=0.2", "faults.nan=0.2"}}) {
    const RunSummary open = run(chains("plain", more));
    const RunSummary sealed = run(chains("sealed", more));
    EXPECT_EQ(sealed.signature, open.signature);
    for (std::uint32_t edges = 0; edges < 3; ++edges) {
      const RunSummary deployed = deploy(chains("sealed", more), {.edges = edges});
      EXPECT_EQ(deployed.signature, open.signature) << edges << " edges";
      expect_equal(records_of(deployed), records_of(sealed), fmt::format("with {} edges", edges));
    }
  }
}

TEST_F(SealedChainRuns, GoOnAfterTheCloudHasStartedAgain) {
  const RunSummary whole = run(chains("plain", {"rounds=4"}));
  const ScratchFolder states;
  const RunSummary part = deploy(chains("sealed", {"rounds=4"}), {.states = states.path()}, 2);
  EXPECT_EQ(part.stopped, StopReason::kInterrupted);
  EXPECT_EQ(deploy({}, {.edges = 1, .states = states.path()}, 0, part.dir.string()).signature, whole.signature);
}

// Three groups in each of two rounds: of twelve models each the host can read three.
TEST_F(SealedChainRuns, ShowTheHostTheLastModelOnly) {
  for (const std::uint32_t edges : {0u, 1u}) {
    const std::set<std::uint64_t> open = seen_by_hosts(chains("plain"), edges);
    const std::set<std::uint64_t> sealed = seen_by_hosts(chains("sealed"), edges);
    EXPECT_EQ(open.size(), sealed.size());
    std::vector<std::uint64_t> both;
    std::ranges::set_intersection(open, sealed, std::back_inserter(both));
    EXPECT_EQ(both.size(), 3u * kRounds) << "of " << open.size();
  }
}

TEST_F(SealedChainRuns, CountWhatSealingAdds) {
  const auto open = json_lines(run(chains("plain")).dir / "rounds.jsonl");
  const auto sealed = json_lines(run(chains("sealed")).dir / "rounds.jsonl");
  const RelayBytes added = relay_bytes(4, 4, 4);
  EXPECT_EQ(sealed[0]["bytes_up"], open[0]["bytes_up"]);
  EXPECT_EQ(sealed[0]["bytes_relay"].get<std::uint64_t>(),
            open[0]["bytes_relay"].get<std::uint64_t>() + 3 * (added.up + added.down));
  EXPECT_EQ(sealed[0]["bytes_client_server"], open[0]["bytes_client_server"]);
}

// In one group the second is gone when its turn comes, in another the last: the one before it is asked to open its
// model. Nothing else differs from open chains that lose the same clients.
TEST_F(SealedChainRuns, PassOverMembersThatAreGone) {
  std::set<std::string> signatures;
  std::atomic<int> opened{0};
  for (const std::string relay : {"plain", "sealed"}) {
    std::mutex mutex;
    std::map<std::uint32_t, std::uint32_t> visited;  // by group
    const auto tap = [&](v1::Frame& frame, bool up) {
      if (up || !frame.has_ask() || !frame.ask().has_train()) return true;
      const std::lock_guard lock(mutex);
      opened += frame.ask().train().chain().open() ? 1 : 0;
      const std::uint32_t group = frame.ask().id().group();
      const std::uint32_t turn = ++visited[group];
      return !(group == 0 && turn == 2) && !(group == 1 && turn == 4);  // else its line is cut, for good
    };
    const RunSummary deployed =
        deploy(chains(relay, {"rounds=1"}), {.processes = 64, .federation = {.round_deadline_s = 2}, .tap = tap});
    const auto told = json_lines(deployed.dir / "rounds.jsonl");
    EXPECT_EQ(told[0]["participants"], 10) << told[0];
    for (const auto& [client, why] : dropped(told[0])) EXPECT_EQ(why, "unreachable") << client;
    signatures.insert(deployed.signature);
  }
  EXPECT_EQ(signatures.size(), 1u);
  EXPECT_EQ(opened, 1);
}

TEST_F(SealedChainRuns, RefuseModelsThatWereChangedOnTheirWay) {
  std::mutex mutex;
  std::uint64_t model = 0;  // values; what is sealed is longer
  const auto told =
      rounds(chains("sealed"), {.processes = 64, .tap = [&](v1::Frame& frame, bool up) {
                                  if (up || !frame.has_chunk()) return true;
                                  v1::Chunk& chunk = *frame.mutable_chunk();
                                  const std::lock_guard lock(mutex);
                                  model = model == 0 ? chunk.size() : std::min<std::uint64_t>(model, chunk.size());
                                  if (chunk.size() == model) return true;
                                  (*chunk.mutable_values())[7] ^= 1;
                                  chunk.set_checksum(hash_bytes(chunk.values().data(), chunk.values().size()));
                                  return true;
                                }});
  ASSERT_EQ(told.size(), kRounds);
  for (const nlohmann::json& round : told) {
    // The first of each chain trains; nobody can go on from it, nor can it open what was changed.
    EXPECT_EQ(round["participants"], 0) << round;
    EXPECT_EQ(dropped(round).size(), 12u) << round;
    for (const auto& [client, why] : dropped(round)) EXPECT_EQ(why, "malformed") << client;
  }
}

// A host that hands a model to somebody whom it was not sealed for, that passes it for another's or another pass's, or
// that brings the one of an earlier round again.
TEST_F(SealedChainRuns, RefuseModelsThatAreNotForThemHere) {
  std::mutex mutex;
  std::map<std::uint32_t, v1::ChainVisit> earlier;  // by client
  const std::map<std::string, std::function<void(v1::Ask&)>> lies{
      {"key",
       [](v1::Ask& ask) {
         std::string& key = *ask.mutable_train()->mutable_chain()->mutable_from()->mutable_keys(0)->mutable_key();
         key[3] = static_cast<char>(key[3] ^ 1);
       }},
      {"reader",
       [](v1::Ask& ask) { ask.mutable_train()->mutable_chain()->mutable_from()->mutable_keys(0)->set_reader(99); }},
      {"part", [](v1::Ask& ask) { ask.mutable_train()->mutable_chain()->mutable_from()->set_part(9); }},
      {"sender",
       [](v1::Ask& ask) {
         ask.mutable_train()->mutable_chain()->mutable_from()->set_sender(99);
         ask.mutable_train()->mutable_chain()->mutable_sender()->set_client(99);
       }},
      {"signature",
       [](v1::Ask& ask) {
         std::string& signature = *ask.mutable_train()->mutable_chain()->mutable_sender()->mutable_signature();
         signature[0] = static_cast<char>(signature[0] ^ 1);
       }},
      {"replay",
       [&](v1::Ask& ask) {
         const std::lock_guard lock(mutex);
         const auto [known, fresh] = earlier.emplace(ask.id().client(), ask.train().chain());
         if (!fresh) *ask.mutable_train()->mutable_chain() = known->second;
       }},
  };
  for (const auto& [name, lie] : lies) {
    const auto told = rounds(chains("sealed"), {.processes = 64, .tap = changed_visits(lie)});
    ASSERT_EQ(told.size(), kRounds);
    const nlohmann::json& round = told[name == "replay" ? 1 : 0];
    EXPECT_FALSE(dropped(round).empty()) << name;
    for (const auto& [client, why] : dropped(round)) EXPECT_EQ(why, "malformed") << name << ", client " << client;
  }
}

// Its key was exchanged on its way: the others do not seal for it, and it has no part in the round.
TEST_F(SealedChainRuns, LeaveOutWhoseKeyIsForged) {
  std::atomic<std::uint32_t> first{UINT32_MAX};  // of the chain that it is in: it needs nobody's model
  const auto told =
      rounds(chains("sealed"), {.processes = 64, .tap = [&](v1::Frame& frame, bool up) {
                                  if (!up && frame.has_ask() && frame.ask().id().client() == 5 &&
                                      frame.ask().has_train() && !frame.ask().train().chain().has_from()) {
                                    first = frame.ask().id().round();
                                  }
                                  if (!up || !frame.has_reply() || !frame.reply().has_chain_key()) return true;
                                  v1::ChainKey& key = *frame.mutable_reply()->mutable_chain_key();
                                  if (key.client() == 5) key.set_key(std::string(32, 'k'));
                                  return true;
                                }});
  ASSERT_EQ(told.size(), kRounds);
  for (const nlohmann::json& round : told) {
    if (round["round"] == first.load()) continue;
    EXPECT_EQ(dropped(round), (std::map<std::uint32_t, std::string>{{5, "unreachable"}})) << round;
  }
}

// A host that asks for a model that the client was not the one to seal gets nothing, and the client says so.
TEST_F(SealedChainRuns, OpenNobodyElsesModel) {
  const auto told = rounds(chains("sealed", {"rounds=1"}),
                           {.processes = 64, .tap = changed_visits([](v1::Ask& ask) {
                                               v1::ChainVisit& visit = *ask.mutable_train()->mutable_chain();
                                               visit.clear_readers();
                                               visit.set_open(true);
                                             })});
  EXPECT_EQ(told[0]["participants"], 3) << told[0];
  EXPECT_EQ(dropped(told[0]).size(), 9u) << told[0];
}

}  // namespace
}  // namespace muster
