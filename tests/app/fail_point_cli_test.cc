// The processes of a deployment die at named points (base/fail_point.h): before and after a frame is sent or received,
// a file written, flushed, renamed, a line appended, and in the middle of a line. A first run without deaths tells
// which points every process comes by, and how often; a seeded draw takes them in turn. Each run ends with the
// signature of its simulation and a ledger that its checker accepts; where a client is really lost, or hangs, with such
// a ledger. MUSTER_KILLS says how many runs (default: 3 with deaths, one each with a client that is lost and one that
// hangs).
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "base/fail_point.h"
#include "base/random.h"
#include "killed_federation.h"

namespace muster {
namespace {

// Where a process dies.
struct Death {
  std::string process;
  std::string point;        // POINT@SUBJECT
  std::uint32_t times = 1;  // that the process comes by it in a run without deaths
};

std::uint64_t seed_or(std::uint64_t usual) {
  const char* const asked = std::getenv("MUSTER_KILL_SEED");
  return asked ? std::strtoull(asked, nullptr, 10) : usual;
}

class FailPointRuns : public KilledFederation {
 protected:
  FailPointRuns() {
    clients_ = {"0-1", "2-7", "8"};
    // Groups that the edge hosts, states that clients keep.
    with_states_ = file("states.toml", mixed(R"([local]
batch-size = 8
objective = "control-variate"
[training]
group-rounds = 2
[aggregation]
global = "control-variate"
)"));
    // Everything that the checker can recompute.
    plain_ = file("plain.toml", mixed(R"([local]
batch-size = 8
)"));
    secure_ = file("secure.toml", mixed(R"([local]
batch-size = 8
momentum = 0.5
keep-optimizer = true
[training]
group-rounds = 2
[aggregation]
in-group = "secure-sum"
)"));
    impatient_ = file("lossy.toml", mixed(R"([local]
batch-size = 8
[deployment]
round-deadline-s = 1.0
wait-clients = 0.5
)"));
  }

  // What all recipes have, after their keys of the top level.
  static std::string recipe_text(const std::string& top, const std::string& more) {
    return top + R"(
[data]
source = "synthetic"
clients = 9
samples-min = 40
samples-max = 60
test-fraction = 0.1
[model]
name = "mlp"
hidden = [16]
[evaluation]
on = "global"
)" + more;
  }
  static constexpr const char* kTop = "name = \"killed\"\nrounds = 6\ncheckpoint-every = 2\n";
  // Groups by what clients tell, formed anew.
  static std::string mixed(const std::string& more) {
    return recipe_text(kTop, R"([profile]
kind = "label-histogram"
[grouping]
method = "mediator"
size = 3
[plan]
regroup-every = 3
)" + more);
  }
  static std::string noisy(const std::string& in_group) {
    return recipe_text(kTop, R"([local]
batch-size = 8
[grouping]
method = "random"
size = 3
[dp]
clip = 1.0
noise-multiplier = 0.5
[aggregation]
global = "uniform"
in-group = )" + in_group + "\n");
  }

  // Runs in which the cloud and the edge die, three times in all. `key`: of the noise, once the run is over.
  void expect_the_same_without_hosts(const std::string& recipe, std::uint64_t seed,
                                     const std::function<std::filesystem::path()>& key = {}) {
    const char* const asked = std::getenv("MUSTER_KILLS");
    const int runs = asked ? std::max(1, std::atoi(asked) / 10) : 1;
    Stream stream({.seed = seed_or(seed), .purpose = Purpose::kTest});
    const std::string alone = key ? "" : signature_alone(recipe);
    std::vector<Death> deck;
    int killed = 0;
    for (int run = 0; run < runs; ++run) {
      std::vector<std::pair<std::string, std::string>> planned;
      std::string shown = fmt::format("run {}\n", run);
      while (planned.size() < 3) {
        if (deck.empty()) deck = shuffled(trace(recipe), stream);
        const Death death = deck.back();
        deck.pop_back();
        // The cloud first: whether the edge has anything to do is a matter of who dials it in time.
        if (death.process != "cloud" && (planned.empty() || death.process != "edge")) continue;
        planned.emplace_back(death.process, drawn(death, stream));
        shown += fmt::format("{} {}\n", planned.back().first, planned.back().second);
      }
      const Outcome outcome = run_with(recipe, planned);
      killed += static_cast<int>(outcome.died.size());
      ASSERT_EQ(outcome.status, 0) << shown << log("cloud");
      EXPECT_EQ(signature_told(), key ? signature_alone(recipe, {"--noise-key", key().string()}) : alone)
          << shown << log("cloud");
      const Finished ledger = checked_ledger(true);
      EXPECT_EQ(ledger.status, 0) << shown << ledger.out;
      if (HasFailure()) break;
    }
    EXPECT_GT(killed, 0);
    std::printf("%d runs, %d processes killed\n", runs, killed);
  }

  // Which points each process comes by, in a run of the recipe that nobody dies in.
  std::vector<Death> trace(const std::string& recipe) {
    recipe_ = recipe;
    clear();
    for (const std::string& name : names_) {
      std::filesystem::remove(at("trace-" + name));
      start(name, {{"MUSTER_FAIL_TRACE", at("trace-" + name).string()}});
      for (int waits = 0; name == "edge" && waits < 1000 && log(name).find("listening") == std::string::npos; ++waits) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
    EXPECT_EQ(processes_.at("cloud").wait(120), 0) << log("cloud");
    for (const std::string& name : names_) {
      if (name == "cloud") continue;
      EXPECT_EQ(processes_.at(name).wait(20), 0) << log(name);
    }
    std::vector<Death> deaths;
    for (const std::string& name : names_) {
      std::map<std::string, std::uint32_t> times;
      std::ifstream in(at("trace-" + name));
      for (std::string line; std::getline(in, line);) ++times[line];
      for (const auto& [point, count] : times) deaths.push_back({name, point, count});
    }
    return deaths;
  }

  struct Outcome {
    std::optional<int> status;  // of the cloud
    std::vector<std::string> died;
  };

  // Runs the recipe. Each of the deaths happens once, if its process comes that far: a process has one in mind at a
  // time, and the next one when it is started again. `lost` stays dead. Whoever stops is let go on later.
  Outcome run_with(const std::string& recipe, const std::vector<std::pair<std::string, std::string>>& deaths,
                   const std::string& lost = "") {
    recipe_ = recipe;
    clear();
    std::map<std::string, std::vector<std::string>> planned;
    for (const auto& [process, where] : deaths) planned[process].push_back(where);
    Outcome outcome;
    std::set<std::string> over;
    const auto launch = [&](const std::string& name) {
      Environment variables;
      if (auto& next = planned[name]; !next.empty()) {
        variables.emplace_back("MUSTER_FAIL_AT", next.front());
        next.erase(next.begin());
      }
      over.erase(name);
      start(name, variables);
    };
    for (const std::string& name : names_) launch(name);
    std::map<int, std::chrono::steady_clock::time_point> stopped;
    const auto begun = std::chrono::steady_clock::now();
    while (!outcome.status && std::chrono::steady_clock::now() - begun < std::chrono::seconds(120)) {
      for (const std::string& name : names_) {
        BackgroundProcess& process = processes_.at(name);
        if (process.id() > 0 && is_stopped(process.id())) let_go_on(process.id(), stopped);
        const std::optional<int> status = process.wait(0);
        if (!status) continue;
        if (*status == 128 + SIGKILL) {
          outcome.died.push_back(name);
          if (name == lost) continue;
          launch(name);
        } else if (name == "cloud") {
          outcome.status = *status;
          break;
        } else {
          EXPECT_EQ(*status, 0) << name << ": " << log(name);
          over.insert(name);
        }
      }
      // A cloud that died when the run was over waits for those whom it had told so already.
      const bool began_again = std::ranges::find(outcome.died, "cloud") != outcome.died.end();
      for (const std::string& name : began_again && !outcome.status ? Words(over.begin(), over.end()) : Words()) {
        launch(name);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    for (const auto& [id, since] : stopped) ::kill(id, SIGCONT);
    return outcome;
  }

  static bool is_stopped(int id) {
    std::ifstream in(fmt::format("/proc/{}/stat", id));
    std::string text;
    std::getline(in, text);
    const std::size_t name_end = text.rfind(')');
    return name_end != std::string::npos && name_end + 2 < text.size() && text[name_end + 2] == 'T';
  }

  static void let_go_on(int id, std::map<int, std::chrono::steady_clock::time_point>& stopped) {
    const auto now = std::chrono::steady_clock::now();
    const auto since = stopped.emplace(id, now).first->second;
    if (now - since > std::chrono::milliseconds(1500)) ::kill(id, SIGCONT);
  }

  // The count-th time, drawn from those that the process comes by the point for certain.
  static std::string drawn(const Death& death, Stream& stream) {
    return fmt::format("{}:{}", death.point, 1 + stream.below(std::max(1u, death.times * 3 / 4)));
  }

  static std::vector<Death> shuffled(std::vector<Death> deaths, Stream& stream) {
    for (std::size_t i = deaths.size(); i > 1; --i) {
      std::swap(deaths[i - 1], deaths[stream.below(static_cast<std::uint32_t>(i))]);
    }
    return deaths;
  }

  std::string with_states_;
  std::string plain_;
  std::string secure_;
  std::string impatient_;
};

// Every name that there is, and every file and frame that a run has for certain. (An edge tells of clients that come
// after it has dialled itself, which is a matter of time.)
TEST_F(FailPointRuns, EveryPointIsReached) {
  // Whoever dials before the edge listens goes to the cloud, and then the edge has nothing to do.
  std::set<std::string> reached;
  for (int tries = 0; tries < 5 && !reached.contains("edge receive.after@reply"); ++tries) {
    for (const Death& death : trace(with_states_)) reached.insert(death.process.substr(0, 6) + " " + death.point);
  }
  std::set<std::string> wanted;
  const auto want = [&](const std::string& process, const Words& points, const Words& subjects) {
    for (const std::string& point : points) {
      for (const std::string& subject : subjects) wanted.insert(fmt::format("{} {}@{}", process, point, subject));
    }
  };
  const Words replaced{"write.before", "write.after", "fsync.before", "fsync.after", "rename.before", "rename.after"};
  want("cloud", replaced,
       {"recipe.toml", "incarnation", "round-.checkpoint", "clients.csv", "preparation.json", "model.safetensors",
        "summary.json"});
  want("cloud", {"append.before", "append.half", "append.after"}, {"rounds.jsonl", "groups.jsonl", "ledger.jsonl"});
  want("cloud", {"fsync.before", "fsync.after"}, {"ledger.jsonl"});
  want("cloud", {"commit.before", "commit.after"}, {"store.sqlite"});
  want("client", replaced, {"-.state"});
  const Words down{"welcome", "chunk", "ask", "verdict", "forget", "finished"};
  const Words up{"hello", "chunk", "reply"};
  want("cloud", {"send.before", "send.after"}, down);
  want("cloud", {"receive.before", "receive.after"}, {"hello", "chunk", "reply"});
  want("edge", {"send.before", "send.after"}, {"hello", "chunk", "reply", "welcome", "ask", "verdict"});
  want("edge", {"receive.before", "receive.after"}, {"welcome", "chunk", "ask", "verdict", "hello", "reply"});
  want("client", {"send.before", "send.after"}, up);
  want("client", {"receive.before", "receive.after"}, down);
  for (const std::string& point : wanted) EXPECT_TRUE(reached.contains(point)) << point;
  for (const std::string& name : fail_point_names()) {
    EXPECT_TRUE(std::ranges::any_of(
        wanted, [&](const std::string& one) { return one.find(" " + name + "@") != std::string::npos; }))
        << name << " is not in the list above";
  }
}

TEST_F(FailPointRuns, EndAsTheirSimulation) {
  const char* const asked = std::getenv("MUSTER_KILLS");
  const int runs = asked ? std::atoi(asked) : 3;
  Stream stream({.seed = seed_or(29), .purpose = Purpose::kTest});
  int killed = 0;
  std::set<std::string> points;
  std::map<std::string, std::string> wanted;
  std::map<std::string, std::vector<Death>> left;
  for (int run = 0; run < runs; ++run) {
    const std::string& recipe = run % 2 == 0 ? with_states_ : plain_;
    if (wanted[recipe].empty()) wanted[recipe] = signature_alone(recipe);
    std::vector<Death>& deck = left[recipe];
    // All points in turn, then all over again; few runs have more deaths each.
    const std::size_t deaths = asked ? 1 + stream.below(3) : 4;
    if (deck.size() < deaths) deck = shuffled(trace(recipe), stream);
    std::vector<std::pair<std::string, std::string>> planned;
    std::string shown;
    for (std::size_t i = 0; i < deaths; ++i) {
      const Death death = deck.back();
      deck.pop_back();
      planned.emplace_back(death.process, drawn(death, stream));
      points.insert(death.process + " " + death.point);
      shown += fmt::format("{} {}\n", planned.back().first, planned.back().second);
    }
    const Outcome outcome = run_with(recipe, planned);
    killed += static_cast<int>(outcome.died.size());
    const std::string told = fmt::format("run {} with\n{}", run, shown);
    ASSERT_EQ(outcome.status, 0) << told << log("cloud");
    EXPECT_EQ(signature_told(), wanted[recipe]) << told << log("cloud");
    const Finished ledger = checked_ledger(true);
    EXPECT_EQ(ledger.status, 0) << told << ledger.out;
    if (asked) std::printf("run %d: %d deaths so far; %s", run, killed, ledger.out.c_str());
    if (asked) std::fflush(stdout);
    if (HasFailure()) break;
  }
  std::printf("%d runs, %d processes killed, at %zu points\n", runs, killed, points.size());
}

// Secure sums that are begun again, because whoever hosted them died. (A client that dies loses its secrets, and with
// them its part in the sum.)
TEST_F(FailPointRuns, WithSecureSumsEndAsTheirSimulation) {
  expect_the_same_without_hosts(secure_, 37);
}

// Likewise chains that are walked again, with the keys that their members have still.
TEST_F(FailPointRuns, WithSealedChainsEndAsTheirSimulation) {
  expect_the_same_without_hosts(file("sealed.toml", mixed(R"([local]
batch-size = 8
momentum = 0.5
keep-optimizer = true
[training]
mode = "sequential"
relay = "sealed"
)")),
                                41);
}

// The cloud's key is in the run's folder, and so is what has left of rounds that are made again.
TEST_F(FailPointRuns, OfPrivateRunsEndAsTheirSimulation) {
  expect_the_same_without_hosts(file("private.toml", noisy("\"uniform\"")), 43,
                                [&] { return std::filesystem::path(run_folder()) / "noise.key"; });
}

// Every client process has the same key of noise, for the simulation to repeat it.
TEST_F(FailPointRuns, OfPrivateSumsEndAsTheirSimulation) {
  const std::string key = file("key", std::string(64, '7') + "\n");
  std::filesystem::permissions(key, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  prepare_ = [this, key] {
    for (const char* const name : {"client-0", "client-1", "client-2"}) {
      std::filesystem::create_directories(at(fmt::format("states-{}", name)));
      std::filesystem::copy_file(key, at(fmt::format("states-{}", name)) / "noise.key");
    }
  };
  expect_the_same_without_hosts(file("sums.toml", noisy("\"secure-sum\"")), 47,
                                [&] { return std::filesystem::path(key); });
}

// A client process dies before it answers: in the first round when it is asked for its keys, in the second for its
// shares, and so on. It comes back without its secrets, and is lost from that phase on, in that round.
TEST_F(FailPointRuns, AClientThatDiesInAPhaseOfASecureSumIsLostThere) {
  const std::string recipe = file("phases.toml", recipe_text("name = \"phases\"\nrounds = 6\n", R"([local]
batch-size = 8
[grouping]
method = "random"
size = 9
[aggregation]
in-group = "secure-sum"
)"));
  // Whoever comes back says first that it has lost its part of the sum under way.
  const Outcome outcome = run_with(recipe, {{"client-2", "send.before@reply:1"},
                                            {"client-2", "send.before@reply:3"},
                                            {"client-2", "send.before@reply:4"},
                                            {"client-2", "send.before@reply:5"},
                                            {"client-2", "send.before@reply:6"}});
  ASSERT_EQ(outcome.status, 0) << log("cloud");
  EXPECT_EQ(outcome.died, Words(5, "client-2"));
  std::ifstream lines(std::filesystem::path(run_folder()) / "rounds.jsonl");
  std::size_t rounds = 0;
  const Words phases{"keys", "shares", "input", "agreement", "opening"};
  for (std::string line; std::getline(lines, line); ++rounds) {
    const auto round = nlohmann::json::parse(line);
    const bool hurt = rounds < phases.size();
    ASSERT_EQ(round["secure"]["lost"].size(), hurt ? 1u : 0u) << line;
    EXPECT_EQ(round["secure"]["abandoned"], 0) << line;
    EXPECT_EQ(round["participants"], rounds < 3 ? 8 : 9) << "whoever has sent its vector is in the sum: " << line;
    if (!hurt) continue;
    EXPECT_EQ(round["secure"]["lost"][0]["client"], 8) << line;
    EXPECT_EQ(round["secure"]["lost"][0]["phase"], phases[rounds]) << line;
  }
  EXPECT_EQ(rounds, 6u);
  const Finished ledger = checked_ledger(false);
  EXPECT_EQ(ledger.status, 0) << ledger.out;
}

// A client that dies and does not come back costs its share of the rounds after it, and nothing else.
TEST_F(FailPointRuns, AreRightWithoutAClientThatIsLost) {
  const char* const asked = std::getenv("MUSTER_KILLS");
  const int runs = asked ? std::max(1, std::atoi(asked) / 10) : 1;
  Stream stream({.seed = seed_or(31), .purpose = Purpose::kTest});
  std::vector<Death> deck;
  int lost = 0;
  for (int run = 0; run < runs; ++run) {
    if (deck.empty()) deck = shuffled(trace(plain_), stream);
    // One that is lost for good, and one that comes back.
    std::vector<std::pair<std::string, std::string>> planned;
    const std::string away = stream.below(2) == 0 ? "client-0" : "client-2";
    const auto of = [&](const std::string& process) {
      const auto found = std::ranges::find_if(deck, [&](const Death& death) { return death.process == process; });
      if (found == deck.end()) return;
      planned.emplace_back(process, drawn(*found, stream));
      deck.erase(found);
    };
    of(away);
    if (asked) of(stream.below(2) == 0 ? "cloud" : "client-1");
    const Outcome outcome = run_with(impatient_, planned, away);
    std::string told = fmt::format("run {}: {} is lost\n", run, away);
    for (const auto& [process, where] : planned) told += fmt::format("{} {}\n", process, where);
    ASSERT_EQ(outcome.status, 0) << told << log("cloud");
    lost += std::ranges::find(outcome.died, away) != outcome.died.end() ? 1 : 0;
    const Finished ledger = checked_ledger(false);
    EXPECT_EQ(ledger.status, 0) << told << ledger.out;
    if (asked) std::printf("lossy run %d: %s", run, ledger.out.c_str());
    if (asked) std::fflush(stdout);
    if (HasFailure()) break;
  }
  EXPECT_GT(lost, 0);
}

// A client that hangs until its round has gone on without it, and then answers after all, is refused.
TEST_F(FailPointRuns, RefuseTheAnswerOfAClientThatHung) {
  const Outcome outcome = run_with(impatient_, {{"client-0", "send.before@reply:4:stop"}});
  ASSERT_EQ(outcome.status, 0) << log("cloud");
  const Finished ledger = checked_ledger(false);
  EXPECT_EQ(ledger.status, 0) << ledger.out;
  EXPECT_THAT(ledger.out, testing::Not(testing::HasSubstr(" 0 missed"))) << ledger.out;
  EXPECT_THAT(ledger.out, testing::Not(testing::HasSubstr(" 0 refused"))) << ledger.out;
}

}  // namespace
}  // namespace muster
