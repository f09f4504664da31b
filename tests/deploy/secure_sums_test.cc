// Secure sums over a deployment: who is lost in which phase, servers that cheat, processes that are started again. All
// of it through the code of cloud, edges and clients.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "deploy/deployment_in_memory.h"
#include "deploy/ledger_check.h"
#include "deploy/own_deployment.h"
#include "engine/compositions.h"
#include "engine/run_records.h"
#include "secure/sum_messages.h"
#include "train/forwarding_link.h"

namespace muster {
namespace {

const Settings kSecureRun{"rounds=3",
                          "profile.kind=none",
                          "grouping.method=random",
                          "grouping.size=6",
                          "plan.sample-clients=12",
                          "aggregation.in-group=secure-sum",
                          "evaluation.on=global"};

// Says other things to members than an honest server would.
using Cheat = std::function<void(SumPhase phase, std::span<SumAsk> asks, const SumTerms& terms)>;

class CheatingLink final : public ForwardingLink {
 public:
  CheatingLink(ClientLink& real, const Cheat& cheat) : ForwardingLink(real), cheat_(cheat) {}
  Status sum_each(SumPhase phase, std::span<SumAsk> asks, const TakeSumReply& take) override {
    if (phase == SumPhase::kKeys) terms_ = *unpack_terms(asks[0].message);
    cheat_(phase, asks, terms_);
    return real_.sum_each(phase, asks, take);
  }

 private:
  Cheat cheat_;
  SumTerms terms_;
};

class SecureSums : public SimulationTest {
 protected:
  RunSummary deploy(const Recipe& recipe, DeploymentInMemory& deployment) {
    SimulationOptions wanted = options(1);
    wanted.federation = deployment.maker();
    const auto summary = simulate(recipe, wanted);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary.ok() ? *summary : RunSummary{};
  }

  // And what its ledger adds up to, without faults.
  std::pair<RunSummary, ledger_check::LedgerFindings> deploy_with_ledger(const Recipe& recipe, DeploymentShape shape) {
    const std::filesystem::path kept = states_.path() / std::to_string(++runs_);
    RunLedger ledger({.vectors = kept / "vectors", .say = {}});
    shape.states = kept / "states";
    shape.ledger = &ledger;
    DeploymentInMemory deployment(shape);
    SimulationOptions wanted = options(1);
    wanted.observers.push_back(&ledger);
    wanted.federation = deployment.maker();
    const auto summary = simulate(recipe, wanted);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    if (!summary.ok()) return {};
    ledger.end_run(*summary);
    ledger_check::LedgerFindings found = ledger_check::check_ledger({.run = summary->dir, .vectors = kept / "vectors"});
    EXPECT_EQ(found.faults, std::vector<std::string>());
    return {*summary, std::move(found)};
  }
  static HostMaker cheating(const Cheat& cheat) {
    return over([cheat](ClientLink& real) { return std::make_unique<CheatingLink>(real, cheat); });
  }
  // In round 2 the group of client 4 is summed by a server that cheats it; what the record says of that round.
  nlohmann::json cheated(const Cheat& cheat, const Settings& more = {}) {
    Settings settings = kSecureRun;
    settings.insert(settings.end(), more.begin(), more.end());
    const Cheat in_round_2 = [&](SumPhase phase, std::span<SumAsk> asks, const SumTerms& terms) {
      if (terms.round == 2 && std::ranges::find(terms.members, kCheated) != terms.members.end())
        cheat(phase, asks, terms);
    };
    DeploymentInMemory deployment(
        {.processes = 4, .states = states_.path() / std::to_string(++runs_), .host = cheating(in_round_2)});
    const auto rounds = lines(deploy(small(settings), deployment).dir / "rounds.jsonl");
    EXPECT_EQ(rounds.size(), 3u);
    if (rounds.size() != 3) return {};
    for (const std::size_t honest : {0u, 2u}) {  // it takes part before and after
      EXPECT_EQ(rounds[honest]["participants"], 12) << rounds[honest];
      EXPECT_EQ(rounds[honest]["secure"]["lost"].size(), 0u) << rounds[honest];
    }
    return rounds[1];
  }
  static SumAsk* ask_to(std::span<SumAsk> asks, ClientId client) {
    const auto found = std::ranges::find_if(asks, [&](const SumAsk& ask) { return ask.task.client == client; });
    return found == asks.end() ? nullptr : &*found;
  }
  // Changes what client 4 is told in one phase; whether that was its last one.
  nlohmann::json told_otherwise(SumPhase in, const std::function<SumMessage(SumMessage, const SumTerms&)>& change) {
    bool asked_again = false;
    const nlohmann::json round = cheated([&](SumPhase phase, std::span<SumAsk> asks, const SumTerms& terms) {
      SumAsk* const ask = ask_to(asks, kCheated);
      if (phase > in && ask) asked_again = true;
      if (phase == in && ask) ask->message = change(std::move(ask->message), terms);
    });
    EXPECT_FALSE(asked_again) << "it answered " << name(in);
    return round;
  }
  void expect_refused(const nlohmann::json& round, SumPhase phase) {
    EXPECT_EQ(round["secure"]["abandoned"], 0) << round;
    const nlohmann::json lost{{{"client", kCheated.value}, {"phase", name(phase)}}};
    EXPECT_EQ(round["secure"]["lost"], lost) << round;
    const bool in_sum = phase > SumPhase::kInput;
    EXPECT_EQ(round["participants"], in_sum ? 12 : 11) << round;
    nlohmann::json dropped = nlohmann::json::array();
    if (!in_sum) dropped.push_back({{"client", kCheated.value}, {"reason", "refused"}});
    EXPECT_EQ(round["dropped"], dropped) << round;
  }
  // The values of the model's file, without what it says of the run.
  static std::string tensors_of(const Records& records) {
    const std::string& file = records.weights.at("model.safetensors");
    std::uint64_t head = 0;
    std::memcpy(&head, file.data(), sizeof head);
    return file.substr(sizeof head + head);
  }
  static constexpr ClientId kCheated{4};
  // Another member of its group.
  static ClientId peer_in(const SumTerms& terms) {
    return terms.members[0] == kCheated ? terms.members[1] : terms.members[0];
  }
  static std::size_t place_in(const SumTerms& terms, ClientId client) {
    return static_cast<std::size_t>(std::ranges::find(terms.members, client) - terms.members.begin());
  }
  nlohmann::json told_opening(const std::function<void(OpeningAsk&, ClientId peer)>& change) {
    return told_otherwise(SumPhase::kOpening, [&](SumMessage message, const SumTerms& terms) {
      OpeningAsk ask = *unpack_opening_ask(std::move(message), terms);
      change(ask, peer_in(terms));
      return pack(ask);
    });
  }
  nlohmann::json told_keys(const std::function<void(KeyList&)>& change) {
    return told_otherwise(SumPhase::kShares, [&](SumMessage message, const SumTerms& terms) {
      KeyList list = *unpack_key_list(std::move(message), terms);
      change(list);
      return pack(list);
    });
  }
  nlohmann::json told_terms(const std::function<void(SumTerms&)>& change) {
    return told_otherwise(SumPhase::kKeys, [&](SumMessage, const SumTerms& terms) {
      SumTerms other = terms;
      change(other);
      return pack(other);
    });
  }

  ScratchFolder states_;
  int runs_ = 0;
};

TEST_F(SecureSums, AnHonestServerIsNotRefused) {
  EXPECT_EQ(cheated([](SumPhase, std::span<SumAsk>, const SumTerms&) {})["participants"], 12);
}

TEST_F(SecureSums, BothSecretsOfOnePeerAreRefused) {
  expect_refused(told_opening([](OpeningAsk& ask, ClientId peer) { ask.gone.push_back(peer); }), SumPhase::kOpening);
}

TEST_F(SecureSums, AServerThatNamesTheClientDeadIsRefused) {
  expect_refused(told_opening([](OpeningAsk& ask, ClientId) { ask.gone.push_back(kCheated); }), SumPhase::kOpening);
  expect_refused(told_otherwise(SumPhase::kAgreement,
                                [](SumMessage message, const SumTerms& terms) {
                                  SurvivorSet survivors = *unpack_survivors(std::move(message), terms);
                                  survivors[place_in(terms, kCheated)] = false;
                                  return pack(survivors);
                                }),
                 SumPhase::kAgreement);
}

TEST_F(SecureSums, RepeatedIdsAreRefused) {
  expect_refused(told_opening([](OpeningAsk& ask, ClientId peer) { ask.in_sum.push_back(peer); }), SumPhase::kOpening);
  expect_refused(told_keys([](KeyList& list) { list.push_back(list.front()); }), SumPhase::kShares);
  expect_refused(told_otherwise(SumPhase::kInput,
                                [](SumMessage message, const SumTerms& terms) {
                                  ShareList list = *unpack_share_list(std::move(message), terms);
                                  list[1] = list[0];
                                  return pack(list);
                                }),
                 SumPhase::kInput);
}

// Client 4 is told that a peer is dead, and what it signed is then shown to nobody: the others' signatures do not fit.
TEST_F(SecureSums, DifferentSurvivorsForDifferentClientsAreRefused) {
  const nlohmann::json round = cheated([](SumPhase phase, std::span<SumAsk> asks, const SumTerms& terms) {
    if (phase != SumPhase::kAgreement) return;
    for (SumAsk& ask : asks) {  // the others, so that client 4's own set is the server's
      if (ask.task.client == kCheated) continue;
      SurvivorSet survivors = *unpack_survivors(ask.message, terms);
      survivors[place_in(terms, kCheated)] = false;
      ask.message = pack(survivors);
    }
  });
  // The server itself cannot use what the others signed: with too few left nothing is opened.
  EXPECT_EQ(round["secure"]["abandoned"], 1) << round;
  expect_refused(told_opening([](OpeningAsk& ask, ClientId peer) {
                   for (SurvivorSignature& entry : ask.signatures) {
                     if (entry.client == peer) entry.signature[5] ^= 1;
                   }
                 }),
                 SumPhase::kOpening);
}

TEST_F(SecureSums, AReplayedRoundIsRefused) {
  // The first round's terms: for the very same vector, and for another attempt at it without one of the members.
  for (const bool later : {false, true}) {
    std::optional<SumTerms> first;
    const ScratchFolder states;
    const Cheat replay = [&](SumPhase phase, std::span<SumAsk> asks, const SumTerms& terms) {
      SumAsk* const ask = ask_to(asks, kCheated);
      if (phase != SumPhase::kKeys || !ask) return;
      if (terms.round == 1) first = terms;
      if (terms.round != 2) return;
      SumTerms replayed = *first;
      if (later) {
        ++replayed.attempt;
        std::erase(replayed.members, peer_in(replayed));
        replayed.threshold = threshold_for(2.0 / 3, replayed.holders());
      }
      ask->task.round = 1;
      ask->message = pack(replayed);
    };
    DeploymentInMemory deployment({.processes = 4, .states = states.path(), .host = cheating(replay)});
    const auto rounds = lines(deploy(small(kSecureRun), deployment).dir / "rounds.jsonl");
    ASSERT_EQ(rounds.size(), 3u);
    expect_refused(rounds[1], SumPhase::kKeys);
    EXPECT_EQ(rounds[2]["participants"], 12);
  }
}

TEST_F(SecureSums, ForgedKeysAreRefused) {
  expect_refused(told_keys([](KeyList& list) { list[0].mask_key[3] ^= 1; }), SumPhase::kShares);
  expect_refused(told_keys([](KeyList& list) { list[0].client = list[1].client; }), SumPhase::kShares);
}

TEST_F(SecureSums, TermsThatAreNotTheRecipesAreRefused) {
  for (const auto& change : std::vector<std::function<void(SumTerms&)>>{
           [](SumTerms& terms) { --terms.threshold; }, [](SumTerms& terms) { terms.neighbours = 2; },
           [](SumTerms& terms) { terms.round = 7; }, [](SumTerms& terms) { terms.run = "another"; },
           [](SumTerms& terms) { terms.format.most_weight /= 2; },
           [](SumTerms& terms) { terms.hides_samples = !terms.hides_samples; },
           [](SumTerms& terms) { terms.names = {"a", "b", "c", "d", "e", "f"}; }}) {
    expect_refused(told_terms(change), SumPhase::kKeys);
  }
}

// A server that has all others train nothing would see in the sum what this one sends.
TEST_F(SecureSums, WorkThatIsNotEverybodysIsRefused) {
  for (const auto& change : std::vector<std::function<void(TrainTask&)>>{
           [](TrainTask& task) { task.epochs = 0; }, [](TrainTask& task) { task.epochs = 1; },
           [](TrainTask& task) { task.round = 3; }, [](TrainTask& task) { task.part = 1; }}) {
    expect_refused(cheated([&](SumPhase phase, std::span<SumAsk> asks, const SumTerms&) {
                     SumAsk* const ask = ask_to(asks, kCheated);
                     if (phase == SumPhase::kInput && ask) change(ask->task);
                   }),
                   SumPhase::kInput);
  }
}

TEST_F(SecureSums, SumsThatTheRecipeDoesNotHaveAreRefused) {
  for (const auto& change : std::vector<std::function<void(TrainTask&, SumTerms&)>>{
           [](TrainTask&task, SumTerms&terms) { task.round = terms.round = 4; },
           [](TrainTask&task, SumTerms&terms) { task.part = terms.part = 1; }}) {
    expect_refused(cheated([&](SumPhase phase, std::span<SumAsk> asks, const SumTerms& terms) {
                     SumAsk* const ask = ask_to(asks, kCheated);
                     if (phase != SumPhase::kKeys || !ask) return;
                     SumTerms other = terms;
                     change(ask->task, other);
                     ask->message = pack(other);
                   }),
                   SumPhase::kKeys);
  }
}

TEST_F(SecureSums, AnotherModelThanTheOneInTheTermsIsRefused) {
  std::vector<float> other;
  const nlohmann::json round = cheated([&](SumPhase phase, std::span<SumAsk> asks, const SumTerms&) {
    if (phase != SumPhase::kInput) return;
    other.assign(asks[0].task.model.begin(), asks[0].task.model.end());
    other[0] += 1e-6f;
    for (SumAsk& ask : asks) ask.task.model = other;
  });
  EXPECT_EQ(round["secure"]["abandoned"], 1) << round;
  ASSERT_EQ(round["dropped"].size(), 6u) << round;
  for (const nlohmann::json& one : round["dropped"]) EXPECT_EQ(one["reason"], "refused") << round;
}

// What members are sent besides the model is theirs in common, too: one that is sent another server's control than the
// others would answer what that makes of it.
TEST_F(SecureSums, AnotherControlThanTheOneInTheTermsIsRefused) {
  std::vector<float> other;
  const auto change = [&](SumPhase phase, std::span<SumAsk> asks, const SumTerms&) {
    SumAsk* const ask = ask_to(asks, kCheated);
    if (phase != SumPhase::kInput || !ask) return;
    ASSERT_FALSE(ask->task.broadcast.empty());
    other.assign(ask->task.broadcast.begin(), ask->task.broadcast.end());
    other[0] += 1;
    ask->task.broadcast = other;
  };
  const Settings controls{"local.objective=control-variate", "aggregation.global=control-variate"};
  expect_refused(cheated(change, controls), SumPhase::kInput);
  const auto leave_out = [&](SumPhase phase, std::span<SumAsk> asks, const SumTerms&) {
    if (SumAsk* const ask = ask_to(asks, kCheated); phase == SumPhase::kInput && ask) ask->task.broadcast = {};
  };
  expect_refused(cheated(leave_out, controls), SumPhase::kInput);
}

// Asks every member everything twice, as one does whose line was cut when the first answer had been taken, and goes on
// with the second answer.
class StutteringLink final : public ForwardingLink {
 public:
  using ForwardingLink::ForwardingLink;
  Status sum_each(SumPhase phase, std::span<SumAsk> asks, const TakeSumReply& take) override {
    std::vector<SumAsk> first(asks.begin(), asks.end());
    MUSTER_TRY(real_.sum_each(phase, first, [](std::size_t, const SumReply&) {}));
    return real_.sum_each(phase, asks, take);
  }
};

TEST_F(SecureSums, AnAskThatComesTwiceHasTheSameAnswer) {
  Settings settings = kSecureRun;
  settings.insert(settings.end(), {"local.momentum=0.5", "local.keep-optimizer=true"});
  DeploymentInMemory deployment({.processes = 4, .states = states_.path(), .host = over([](ClientLink& real) {
                                                                             return std::make_unique<StutteringLink>(
                                                                                 real);
                                                                           })});
  const Records deployed = records_of(deploy(small(settings), deployment));
  const Records simulated = records_of(run(small(settings)));
  ASSERT_EQ(deployed.rounds.size(), simulated.rounds.size());
  for (const auto& round : deployed.rounds) EXPECT_EQ(round["participants"], 12) << round;
  EXPECT_EQ(tensors_of(deployed), tensors_of(simulated));
}

// In the open, beside a sum: a run with secure sums has no use for it.
class PryingHost final : public GroupTrainer {
 public:
  PryingHost(std::unique_ptr<GroupTrainer> honest, ClientId victim, std::vector<TrainReply>& replies)
      : honest_(std::move(honest)), victim_(victim), replies_(replies) {}
  Result<GroupUpdate> train(const RoundCall& call, const GroupTask& task, ClientLink& link,
                            GroupUpdate reuse) const override {
    if (std::ranges::find(task.members, victim_) != task.members.end()) {
      MUSTER_ASSIGN(TrainReply reply, link.train(train_task(call, task, victim_, call.models[task.model], 0), {}));
      replies_.push_back(std::move(reply));
    }
    return honest_->train(call, task, link, std::move(reuse));
  }
  std::uint32_t visits() const override { return honest_->visits(); }

 private:
  std::unique_ptr<GroupTrainer> honest_;
  ClientId victim_;
  std::vector<TrainReply>& replies_;
};

TEST_F(SecureSums, AModelByItselfIsNotGivenAway) {
  std::vector<TrainReply> replies;
  DeploymentInMemory deployment({.processes = 4, .states = states_.path(), .host = [&](auto honest) {
                                   return std::make_unique<PryingHost>(std::move(honest), kCheated, replies);
                                 }});
  const auto rounds = lines(deploy(small(kSecureRun), deployment).dir / "rounds.jsonl");
  ASSERT_EQ(replies.size(), 3u);
  for (const TrainReply& reply : replies) {
    const auto* const dropped = std::get_if<Dropped>(&reply);
    ASSERT_TRUE(dropped);
    EXPECT_EQ(dropped->reason, DropReason::kRefused);
  }
  for (const auto& round : rounds) EXPECT_EQ(round["participants"], 12) << "the sum itself goes on: " << round;
}

// Neither in what members say, nor in anything that the server writes down.
TEST_F(SecureSums, NobodyLearnsHowManySamplesAClientHas) {
  Settings settings = kSecureRun;
  settings.emplace_back("secure.samples=hidden");
  const RunSummary simulated = run(small(settings));
  for (const std::uint32_t edges : {0u, 1u}) {
    std::uint32_t said = 0;
    const auto listen = [&](ClientId, const LocalUpdate& update) {
      ++said;
      EXPECT_EQ(update.samples + update.steps + update.samples_trained, 0u);
      EXPECT_GT(update.loss, 0);
    };
    const auto [deployed, ledger] = deploy_with_ledger(
        small(settings), {.edges = edges, .processes = 4, .host = over([&](ClientLink& real) {
                                                            return std::make_unique<TalkingLink>(real, listen);
                                                          })});
    EXPECT_EQ(deployed.signature, simulated.signature);
    EXPECT_EQ(said, edges == 0 ? 36u : 0u) << "an edge hosts its groups itself";
    EXPECT_NE(slurp(deployed.dir / "clients.csv").find("\n3,,,"), std::string::npos);
  }
}

class DyingMembers : public SecureSums, public testing::WithParamInterface<NamedSettings> {};
INSTANTIATE_TEST_SUITE_P(, DyingMembers,
                         testing::Values(NamedSettings{"plain", {}},
                                         NamedSettings{"controls",
                                                       {"local.objective=control-variate",
                                                        "aggregation.global=control-variate"}}),
                         [](const auto& composition) { return test_name(composition.param.name); });

// The simulation says who vanishes in which phase; in the deployment these processes die as they answer, and others
// take their place, which know nothing of the sum.
TEST_P(DyingMembers, CostWhatTheyCostInTheSimulation) {
  Settings settings = kSecureRun;
  settings[0] = "rounds=6";
  settings.insert(settings.end(), GetParam().settings.begin(), GetParam().settings.end());
  Settings faulty = settings;
  faulty.emplace_back("faults.drop=0.4");
  const Records wanted = records_of(run(small(faulty)));
  using Visit = std::pair<std::uint32_t, std::uint32_t>;  // round and client
  std::map<Visit, std::uint32_t> phase_of;
  std::set<std::uint32_t> phases;
  std::uint32_t abandoned = 0;
  for (const nlohmann::json& round : wanted.rounds) {
    abandoned += round["secure"]["abandoned"].get<std::uint32_t>();
    for (const nlohmann::json& lost : round["secure"]["lost"]) {
      for (std::uint32_t phase = 0; phase < 5; ++phase) {
        if (name(static_cast<SumPhase>(phase)) != lost["phase"]) continue;
        phase_of[{round["round"], lost["client"]}] = phase;
        phases.insert(phase);
      }
    }
  }
  ASSERT_EQ(phases.size(), 5u);
  ASSERT_GT(abandoned, 0u);
  for (const std::uint32_t edges : {1u, 2u}) {
    std::mutex mutex;
    std::map<Visit, std::uint32_t> dies = phase_of;
    std::map<std::uint32_t, std::uint32_t> asked;  // the phase that each client was asked last
    std::vector<std::uint32_t> dead;
    DeploymentInMemory deployment({.edges = edges,
                                   .processes = 12,
                                   .states = states_.path() / std::to_string(edges),
                                   .tap = [&](v1::Frame& frame, bool up) {
                                     const std::lock_guard lock(mutex);
                                     if (!up && frame.has_ask() && frame.ask().has_sum()) {
                                       asked[frame.ask().id().client()] = frame.ask().sum().phase();
                                     }
                                     if (!up || !frame.has_reply() || !frame.reply().has_summed()) return true;
                                     const v1::TaskId& id = frame.reply().id();
                                     const auto found = dies.find({id.round(), id.client()});
                                     if (found == dies.end() || found->second != asked[id.client()]) return true;
                                     dies.erase(found);
                                     dead.push_back(id.client());
                                     return false;
                                   }});
    std::jthread nurse([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::vector<std::uint32_t> again;
        {
          const std::lock_guard lock(mutex);
          again.swap(dead);
        }
        for (const std::uint32_t client : again) deployment.restart(client);
      }
    });
    const Records records = records_of(deploy(small(settings), deployment));
    nurse.request_stop();
    nurse.join();
    EXPECT_TRUE(dies.empty()) << edges;
    ASSERT_EQ(records.rounds.size(), wanted.rounds.size());
    for (std::size_t i = 0; i < wanted.rounds.size(); ++i) {
      nlohmann::json secure = records.rounds[i]["secure"];
      nlohmann::json simulated = wanted.rounds[i]["secure"];
      if (simulated["abandoned"] > 0) {  // those who were too few, and are told of as lost, had answered
        secure.erase("bytes_up");
        simulated.erase("bytes_up");
      }
      EXPECT_EQ(secure, simulated) << edges << " edges, round " << i + 1;
      EXPECT_EQ(records.rounds[i]["participants"], wanted.rounds[i]["participants"]);
      EXPECT_EQ(records.rounds[i]["loss"], wanted.rounds[i]["loss"]);
    }
    EXPECT_EQ(tensors_of(records), tensors_of(wanted)) << edges << " edges";
  }
}

// With faults, so that some sums are abandoned.
TEST_F(SecureSums, TheLedgerAddsUpWithoutAnybodysModel) {
  Settings settings = kSecureRun;
  settings[0] = "rounds=6";
  settings.emplace_back("faults.drop=0.4");
  for (const std::uint32_t edges : {0u, 1u}) {
    const auto [deployed, ledger] = deploy_with_ledger(small(settings), {.edges = edges});
    EXPECT_EQ(ledger.rounds, 6u);
    EXPECT_GT(ledger.groups_recomputed, 0u);
    std::uint32_t abandoned = 0;
    for (const auto& round : lines(deployed.dir / "rounds.jsonl"))
      abandoned += round["secure"]["abandoned"].get<std::uint32_t>();
    EXPECT_GT(abandoned, 0u);
  }
}

// Six sites, each with some rows more than the one before, and all of them in one table. Every fifth row is a test
// where a column says so.
struct OwnTables {
  explicit OwnTables(std::uint32_t more, bool marked = false) {
    const std::string columns = marked ? "part,a,b,label\n" : "a,b,label\n";
    std::string all = "client," + columns;
    for (std::uint32_t site = 0; site < 6; ++site) {
      std::string own = columns;
      for (std::uint32_t row = 0; row < 20 + more * site; ++row) {
        const std::string mark = marked ? (row % 5 == 0 ? "1," : "0,") : "";
        const std::string line =
            mark + fmt::format("0.{},0.{},{}\n", (row * 7 + site) % 11, (row * 3 + site) % 5, row % 2);
        own += line;
        all += fmt::format("site-{},{}", site, line);
      }
      files.push_back(kept.write(fmt::format("site-{}.csv", site), own));
    }
    whole = kept.write("all.csv", all);
  }
  void dial(OwnDeployment& deployment) const {
    for (std::uint32_t site = 0; site < 6; ++site) deployment.dial(fmt::format("site-{}", site), files[site]);
  }

  ScratchFolder kept;
  std::vector<std::filesystem::path> files;
  std::filesystem::path whole;
};

// Whatever the server says of names, members believe certificates; here that they are told the same ones.
TEST_F(SecureSums, ClientsWithFilesOfTheirOwnAreSummedByTheirNames) {
  const OwnTables tables(1);
  Recipe recipe = recipe_of({{"data.source=csv", "data.clients=6", "data.test-fraction=0.2", "evaluation.on=clients",
                              "model.name=softmax", "rounds=2", "profile.kind=none", "grouping.method=random",
                              "grouping.size=3", "aggregation.in-group=secure-sum"}});
  Recipe whole = recipe;
  whole.data.path = tables.whole.string();
  const RunSummary simulated = run(whole);
  for (const std::uint32_t edges : {0u, 1u}) {
    OwnDeployment deployment(tables.kept.path() / std::to_string(edges), edges);
    tables.dial(deployment);
    const auto deployed = deployment.run(recipe, options(1));
    ASSERT_TRUE(deployed.ok()) << deployed.error().message;
    EXPECT_EQ(deployed->signature, simulated.signature) << edges;
    EXPECT_EQ(lines(deployed->dir / "rounds.jsonl")[0]["secure"]["lost"].size(), 0u);
  }
}

// Vectors of the widest words that a run may have, of a model that is larger than any other message.
TEST_F(SecureSums, HiddenSamplesHaveRoomInTheWidestWords) {
  for (const char* const bits : {"32", "64"}) {
    Settings settings = kSecureRun;
    settings.insert(settings.end(),
                    {"secure.samples=hidden", fmt::format("secure.bits={}", bits), "model.hidden=[128]"});
    for (const std::uint32_t edges : {0u, 1u}) {
      DeploymentInMemory deployment({.edges = edges, .processes = 4});
      const RunSummary deployed = deploy(small(settings), deployment);
      EXPECT_EQ(deployed.signature, run(small(settings)).signature) << bits << " bits, " << edges << " edges";
    }
  }
}

TEST_F(SecureSums, ClientsWithFilesOfTheirOwnDoNotTellHowManyRowsTheyHave) {
  for (const bool marked : {false, true}) {
    const OwnTables tables(7, marked);
    const Settings settings{"data.source=csv",
                            "data.clients=6",
                            "data.normalize=false",
                            "model.name=softmax",
                            "rounds=2",
                            "profile.kind=none",
                            "grouping.method=random",
                            "grouping.size=3",
                            "secure.samples=hidden",
                            "aggregation.in-group=secure-sum",
                            "secure.most-samples=64",
                            marked ? "data.split=part" : "data.test-fraction=0"};
    Recipe whole = recipe_of({settings});
    whole.data.path = tables.whole.string();
    const RunSummary simulated = run(whole);
    OwnDeployment deployment(tables.kept.path() / "deployed", 0);
    tables.dial(deployment);
    const auto deployed = deployment.run(recipe_of({settings}), options(1));
    ASSERT_TRUE(deployed.ok()) << deployed.error().message;
    EXPECT_EQ(tensors_of(records_of(*deployed)), tensors_of(records_of(simulated)));
    // Of one table the server has what it marks as tests, and scores models on it.
    EXPECT_EQ(deployed->signature == simulated.signature, !marked);
    const auto members = nlohmann::json::parse(slurp(deployed->dir / "membership.json"))["members"];
    ASSERT_EQ(members.size(), 6u);
    for (const auto& member : members) {
      EXPECT_EQ(member["rows"], 1) << member;
      EXPECT_EQ(member["test_rows"], marked ? 1 : 0) << member;
    }
  }
}

}  // namespace
}  // namespace muster
