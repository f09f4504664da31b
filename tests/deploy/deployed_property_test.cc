// A deployed run leaves the records of its simulation, all of them, for any composition, with any number of edges, also
// when it is interrupted, or killed, and resumed, and when clients bring files of their own. With over-selection, where
// that is not promised, its ledger adds up. MUSTER_COMPOSITIONS says how many compositions (default: 5), and
// MUSTER_COMPOSITION with which to begin.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "aggregate/merge_rule.h"
#include "deploy/deployment_in_memory.h"
#include "deploy/ledger_check.h"
#include "deploy/own_deployment.h"
#include "engine/random_composition.h"
#include "engine/run_records.h"
#include "record/checkpoint.h"

namespace muster {
namespace {

std::uint32_t number_from_environment(const char* name, std::uint32_t otherwise) {
  const char* const given = std::getenv(name);
  return given ? static_cast<std::uint32_t>(std::stoul(given)) : otherwise;
}

class DeployedProperty : public SimulationTest {
 protected:
  // Runs, or resumes, with processes that remember in `states`, until `stop` rounds are done (0: to the end).
  Result<RunSummary> go(const Recipe* recipe, const std::string& run, const std::filesystem::path& states,
                        std::uint32_t edges, std::uint32_t stop) {
    DeploymentInMemory deployment({.edges = edges, .states = states, .noise_key = key_});
    std::atomic<bool> interrupt{false};
    SimulationOptions wanted = options(1);
    wanted.interrupt = &interrupt;
    wanted.on_round = [&](std::uint32_t round) { interrupt = stop > 0 && round >= stop; };
    wanted.federation = deployment.maker();
    return recipe ? simulate(*recipe, wanted) : resume(run, {}, wanted);
  }

  void check(std::uint32_t number) { check(number, RandomComposition(6000 + number).draw()); }

  // Those that go with secure sums.
  void check_secure(std::uint32_t number) {
    Settings settings = RandomComposition(9000 + number).draw();
    std::erase_if(settings, [](const std::string& one) { return one.starts_with("aggregation.in-group="); });
    settings.emplace_back("aggregation.in-group=secure-sum");
    if (number % 2 == 0) settings.emplace_back("secure.neighbours=4");
    if (check_settings(settings)) check(number, settings);
  }

  // Those whose members add noise to what they sum.
  void check_private(std::uint32_t number) {
    Settings settings = RandomComposition(10'000 + number).draw();
    std::erase_if(settings, [](const std::string& one) {
      return one.starts_with("aggregation.") || one.starts_with("grouping.") || one.starts_with("profile.") ||
             one.starts_with("training.") || one.starts_with("dp.");
    });
    for (const char* const one : {"grouping.method=random", "grouping.size=4", "aggregation.in-group=secure-sum",
                                  "aggregation.global=uniform", "dp.clip=1.0", "dp.noise-multiplier=1.0"}) {
      settings.emplace_back(one);
    }
    if (check_settings(settings)) check(number, settings);
  }

  void check(std::uint32_t number, const Settings& settings) {
    const Recipe recipe = recipe_of({settings});
    SCOPED_TRACE(described(number, settings));
    const ScratchFolder keys;
    key_.clear();
    if (clients_add_noise(recipe)) {
      ASSERT_TRUE(keep_noise_key(keys.path(), {}, true).ok());
      key_ = keys.path() / kNoiseKeyFile;
    }

    Stream stream({.seed = number, .purpose = Purpose::kTest, .part = 3});
    const std::uint32_t edges = number % 3;
    SimulationOptions here = options();
    here.noise_key = key_;
    const auto simulated = simulate(recipe, here);
    const ScratchFolder kept;
    const auto whole = go(&recipe, "", kept.path() / "whole", edges, 0);
    ASSERT_EQ(simulated.ok(), whole.ok()) << (whole.ok() ? simulated : whole).error().message;
    if (!simulated.ok()) {
      EXPECT_EQ(whole.error().message, simulated.error().message);
      return;
    }
    ++compared_;
    const Records wanted = records_of(*simulated);
    expect_equal(records_of(*whole), wanted, fmt::format("with {} edges", edges));

    // The same clients, who may dial others than before.
    auto part = go(&recipe, "", kept.path() / "parts", edges, 1 + stream.below(3));
    ASSERT_TRUE(part.ok()) << part.error().message;
    for (int again = 0; again < 4 && part->stopped == StopReason::kInterrupted; ++again) {
      const auto files = list_checkpoints(part->dir / "checkpoint");
      if (files.size() > 1 && stream.below(2) == 0) std::filesystem::remove(files.front());  // as a kill does
      const std::uint32_t stop = again < 2 ? part->rounds + 1 + stream.below(2) : 0;
      part = go(nullptr, part->dir.string(), kept.path() / "parts", stream.below(3), stop);
      ASSERT_TRUE(part.ok()) << part.error().message;
    }
    expect_equal(records_of(*part), wanted, "interrupted and resumed");
    std::filesystem::remove_all(folder_.path() / "runs");
  }

  // More clients are asked than needed, by edges and by the cloud.
  void check_over_selection(std::uint32_t number) {
    const Settings settings = RandomComposition(7000 + number).draw();
    const Recipe recipe = recipe_of({settings});
    // The checker recomputes means, and nothing that leaves answers out.
    if (find_merge_rule(recipe.aggregation.in_group) || find_merge_rule(recipe.aggregation.global)) return;
    SCOPED_TRACE(described(number, settings));
    const auto simulated = simulate(recipe, options());
    const ScratchFolder kept;
    RunLedger ledger({.vectors = kept.path() / "vectors", .say = {}});
    DeploymentInMemory deployment({.edges = number % 3,
                                   .processes = 5,
                                   .states = kept.path() / "states",
                                   .federation = {.over_select = 1.6},
                                   .ledger = &ledger});
    SimulationOptions wanted = options(1);
    wanted.observers.push_back(&ledger);
    wanted.federation = deployment.maker();
    const auto deployed = simulate(recipe, wanted);
    ASSERT_EQ(simulated.ok(), deployed.ok()) << (deployed.ok() ? simulated : deployed).error().message;
    if (!simulated.ok()) return;
    ++compared_;
    ledger.end_run(*deployed);
    const ledger_check::LedgerFindings found =
        ledger_check::check_ledger({.run = deployed->dir, .vectors = kept.path() / "vectors"});
    EXPECT_EQ(found.faults, std::vector<std::string>());
    EXPECT_EQ(found.rounds, deployed->rounds);
    // The first round is drawn alike: as many answers as the simulation's, or those that came at the same moment.
    const auto alone = json_lines(simulated->dir / "rounds.jsonl");
    const auto many = json_lines(deployed->dir / "rounds.jsonl");
    ASSERT_FALSE(many.empty());
    EXPECT_GE(many[0]["participants"], alone[0]["participants"]);
    for (const auto& round : many) {
      for (const auto& drop : round["dropped"]) {
        not_needed_ += drop["reason"] == "not-needed" ? 1 : 0;
        EXPECT_NE(drop["reason"], "unreachable") << round;
        EXPECT_NE(drop["reason"], "malformed") << round;
      }
    }
    std::filesystem::remove_all(folder_.path() / "runs");
  }

  // Clients with a table each instead of the composition's own data.
  void check_own_data(std::uint32_t number) {
    Settings settings = RandomComposition(8000 + number).draw();
    std::erase_if(settings, [](const std::string& one) {
      return one.starts_with("data.") || one.starts_with("evaluation.on") || one.starts_with("newcomers.");
    });
    constexpr std::uint32_t kSites = 7;
    for (const std::string& one : {std::string("data.source=csv"), fmt::format("data.clients={}", kSites),
                                   std::string("evaluation.on=clients"), std::string("data.test-fraction=0.2")}) {
      settings.push_back(one);
    }
    if (!check_settings(settings)) return;
    const Recipe recipe = recipe_of({settings});
    SCOPED_TRACE(described(number, settings));

    std::mt19937 random(number);
    std::normal_distribution<double> normal;
    const ScratchFolder kept;
    std::string all = "client,a,b,c,label\n";
    std::vector<std::filesystem::path> files;
    for (std::uint32_t site = 0; site < kSites; ++site) {
      std::string own = "a,b,c,label\n";
      for (std::uint32_t row = 0; row < 20 + 4 * site; ++row) {
        const double a = normal(random);
        const std::string line = fmt::format("{:.3f},{:.3f},{:.3f},{}\n", a, normal(random) + site, normal(random),
                                             a > 0.5                 ? "x"
                                             : (row + site) % 3 == 0 ? "y"
                                                                     : "z");
        own += line;
        all += fmt::format("site-{},{}", site, line);
      }
      files.push_back(kept.write(fmt::format("site-{}.csv", site), own));
    }
    Recipe whole = recipe;
    whole.data.path = kept.write("all.csv", all).string();
    const auto simulated = simulate(whole, options());
    OwnDeployment deployment(kept.path() / "states", number % 3);
    for (std::uint32_t site = 0; site < kSites; ++site) deployment.dial(fmt::format("site-{}", site), files[site]);
    const auto deployed = deployment.run(recipe, options(1));
    ASSERT_EQ(simulated.ok(), deployed.ok()) << (deployed.ok() ? simulated : deployed).error().message;
    if (!simulated.ok()) return;
    ++compared_;
    EXPECT_EQ(deployed->signature, simulated->signature);
    EXPECT_EQ(slurp(deployed->dir / "clients.csv"), slurp(simulated->dir / "clients.csv"));
    std::filesystem::remove_all(folder_.path() / "runs");
  }

  static std::string described(std::uint32_t number, const Settings& settings) {
    return fmt::format("MUSTER_COMPOSITION={}: {}", number, fmt::join(settings, " "));
  }

  // Some do not fit the data, and are refused.
  void check_many(const std::function<void(std::uint32_t)>& check_one, std::uint32_t by_default) {
    const std::uint32_t first = number_from_environment("MUSTER_COMPOSITION", 0);
    const std::uint32_t count = number_from_environment("MUSTER_COMPOSITIONS", by_default);
    for (std::uint32_t number = first; compared_ < count && number < first + 60 * count && !HasFailure(); ++number) {
      check_one(number);
    }
    EXPECT_EQ(compared_, count);
  }

  std::filesystem::path key_;  // of clients' noise, where they add it
  std::uint32_t compared_ = 0;
  std::uint32_t not_needed_ = 0;  // clients
};

TEST_F(DeployedProperty, HoldsForRandomCompositions) {
  check_many([this](std::uint32_t number) { check(number); }, 5);
}

TEST_F(DeployedProperty, HoldsForSecureSums) {
  check_many([this](std::uint32_t number) { check_secure(number); }, 3);
}

TEST_F(DeployedProperty, HoldsForNoiseOfMembers) {
  check_many([this](std::uint32_t number) { check_private(number); }, 2);
}

TEST_F(DeployedProperty, OverSelectionLeavesALedgerThatAddsUp) {
  check_many([this](std::uint32_t number) { check_over_selection(number); }, 4);
  // Whether anybody's answer comes too late is a matter of time.
  for (std::uint32_t number = 100; not_needed_ == 0 && number < 120; ++number) check_over_selection(number);
  EXPECT_GT(not_needed_, 0u) << "nobody was ever asked in vain";
}

TEST_F(DeployedProperty, HoldsForClientsWithTablesOfTheirOwn) {
  check_many([this](std::uint32_t number) { check_own_data(number); }, 4);
}

}  // namespace
}  // namespace muster
