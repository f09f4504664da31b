// Any process of a deployment may be killed at any moment: cloud, edge or client, again and again. Started again, the
// cloud with --resume, the run ends with the signature of its simulation. A seeded draw says who dies and when;
// MUSTER_KILLS says how many (default: 6).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/background_process.h"
#include "base/random.h"
#include "command_line.h"
#include "free_port.h"

namespace muster {
namespace {

constexpr std::uint64_t kSeed = 13;

class KilledFederation : public CommandLineTest {
 protected:
  KilledFederation() {
    recipe_ = file("recipe.toml", R"(
name = "killed"
rounds = 12
checkpoint-every = 3
[data]
source = "synthetic"
clients = 12
samples-min = 60
samples-max = 120
test-fraction = 0.1
[model]
name = "mlp"
hidden = [64]
[local]
batch-size = 4
epochs = 20
learning-rate = 0.05
objective = "control-variate"
[profile]
kind = "label-histogram"
[grouping]
method = "mediator"
size = 3
[plan]
regroup-every = 4
sample-clients = 8
[aggregation]
global = "control-variate"
)");
    cloud_ = "127.0.0.1:" + std::to_string(free_port());
    edge_ = "127.0.0.1:" + std::to_string(free_port());
  }

  [[nodiscard]] std::filesystem::path at(const std::string& name) const { return scratch_.path() / name; }

  void start(const std::string& name) {
    Words words{MUSTER_BINARY};
    if (name == "cloud") {
      const std::string run = run_folder();
      words.insert(words.end(), {"cloud", "--listen", cloud_, "--out", at("runs").string(), "--json"});
      if (run.empty()) {
        words.push_back(recipe_);
      } else {
        words.insert(words.end(), {"--resume", run});
      }
    } else if (name == "edge") {
      words.insert(words.end(), {"edge", "--cloud", cloud_, "--listen", edge_});
    } else {
      const int first = (name.back() - '0') * 4;
      // The second process is behind the edge, and goes to the cloud when that is gone.
      words.insert(words.end(), {"client", "--to", name == "client-1" ? edge_ + "," + cloud_ : cloud_, "--clients",
                                 fmt::format("{}-{}", first, first + 3), "--state", at("states-" + name).string()});
    }
    words.emplace_back("--insecure");
    auto started = BackgroundProcess::start(words, at(name + ".log"));
    ASSERT_TRUE(started.ok()) << started.error().message;
    processes_.insert_or_assign(name, std::move(started).value());
  }

  // Where the run is, once it has a recipe; "" before.
  [[nodiscard]] std::string run_folder() const {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(at("runs"), error)) {
      if (std::filesystem::exists(entry.path() / "recipe.toml")) return entry.path().string();
    }
    return "";
  }

  std::string log(const std::string& name) const {
    std::ifstream in(at(name + ".log"));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string recipe_;
  std::string cloud_;
  std::string edge_;
  std::map<std::string, BackgroundProcess> processes_;
};

TEST_F(KilledFederation, EndsAsItsSimulation) {
  const Finished alone = muster({"run", recipe_, "--json", "--quiet", "--out", at("alone").string()});
  ASSERT_EQ(alone.status, 0) << alone.err;
  const std::string wanted = nlohmann::json::parse(alone.out)["signature"];
  const char* const asked = std::getenv("MUSTER_KILLS");
  const int kills = asked ? std::atoi(asked) : 6;
  const Words names{"cloud", "edge", "client-0", "client-1", "client-2"};
  Stream stream({.seed = kSeed, .purpose = Purpose::kTest});
  int killed = 0;
  for (int run = 0; killed < kills; ++run) {
    std::filesystem::remove_all(at("runs"));
    for (const std::string& name : names) {
      std::filesystem::remove(at(name + ".log"));
      std::filesystem::remove_all(at("states-" + name));
      start(name);
    }
    std::optional<int> ended;
    const auto begun = std::chrono::steady_clock::now();
    while (!ended && std::chrono::steady_clock::now() - begun < std::chrono::seconds(120)) {
      ended = processes_.at("cloud").wait(0.05 + 0.9 * stream.uniform());
      if (ended || killed >= kills) continue;
      const std::string& victim = names[stream.below(static_cast<std::uint32_t>(names.size()))];
      ::kill(processes_.at(victim).id(), SIGKILL);
      (void)processes_.at(victim).wait(10);
      ++killed;
      start(victim);
    }
    ASSERT_EQ(ended, 0) << log("cloud");
    const std::string said = log("cloud");
    const std::size_t result = said.rfind("{\"run\"");
    ASSERT_NE(result, std::string::npos) << said;
    EXPECT_EQ(nlohmann::json::parse(said.substr(result))["signature"], wanted)
        << "run " << run << " after " << killed << " kills\n"
        << said;
    for (const std::string& name : names) {
      // Who was away when the run ended, and came back too late to be told, gives up later.
      if (name == "cloud") continue;
      EXPECT_EQ(processes_.at(name).wait(10).value_or(0), 0) << name << ": " << log(name);
    }
    processes_.clear();
  }
  std::printf("%d processes killed\n", killed);
}

}  // namespace
}  // namespace muster
