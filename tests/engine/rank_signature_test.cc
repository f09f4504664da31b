// What runs leave behind does not depend on the number of ranks. Started by mpirun: rank 0 runs the tests, and with
// them the runs; the other ranks serve all of them in turn. Fails where a signature is not the stored one; of half of
// the compositions, another half for odd and even numbers of ranks, all records are compared with those of one process.
// One rank runs as one process does, so it has every eighth; of the recipes, whose networks are larger, two and three
// ranks have every other one each. With MUSTER_SIGNATURES=all each has all.
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/noise_record.h"
#include "engine/rank_run.h"
#include "ranks/mpi_ranks.h"
#include "run_records.h"
#include "stored_signatures.h"

namespace muster {
namespace {

Ranks* job = nullptr;

class RanksTest : public SimulationTest {
 protected:
  RunSummary run_on_ranks(const Recipe& recipe, std::uint32_t threads, const std::filesystem::path& noise_key = {}) {
    SimulationOptions wanted = options(threads);
    wanted.ranks = job;
    wanted.noise_key = noise_key;
    const auto summary = simulate(recipe, wanted);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary.ok() ? *summary : RunSummary{};
  }
};

class OnRanks : public RanksTest, public testing::WithParamInterface<Stored> {};

// Asked for once the job is known.
std::vector<Stored> of_this_job() {
  std::vector<Stored> all = all_stored(current_isa());
  const char* const which = std::getenv("MUSTER_SIGNATURES");
  if (which && std::string_view(which) == "all") return all;
  std::vector<Stored> some;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool recipe = all[i].name.starts_with("recipe-");
    if (job->size() == 1 ? i % 8 == 0 : !recipe || i % 2 == job->size() % 2) some.push_back(std::move(all[i]));
  }
  return some;
}

INSTANTIATE_TEST_SUITE_P(, OnRanks, testing::ValuesIn(of_this_job()),
                         [](const auto& param_info) { return test_name(param_info.param.name); });

TEST_P(OnRanks, SignatureIsAsStored) {
  const Stored& wanted = GetParam();
  const std::uint32_t threads = 1 + static_cast<std::uint32_t>(wanted.name.size() % 2);
  const RunSummary summary = run_on_ranks(wanted.recipe(), threads);
  const auto found = stored_signatures().find(fmt::format("{} {}", wanted.name, name(wanted.isa)));
  ASSERT_NE(found, stored_signatures().end());
  EXPECT_EQ(summary.signature, found->second);
  const auto composition = std::ranges::find(kCompositions, wanted.name, &NamedSettings::name);
  if (composition == kCompositions.end() || (composition - kCompositions.begin()) % 2 != job->size() % 2) return;
  expect_equal(records_of(summary), records_of(run(wanted.recipe(), 2)), "one process");
}

// The members of a secure sum are on any rank, and their noise comes from a key that is in a file of rank 0.
TEST_F(RanksTest, HaveTheNoiseOfOneKey) {
  const Recipe recipe = small({"rounds=2", "dp.clip=1.0", "dp.noise-multiplier=1.0", "aggregation.global=uniform",
                               "aggregation.in-group=secure-sum", "grouping.method=random", "grouping.size=4"});
  const ScratchFolder folder;
  ASSERT_TRUE(keep_noise_key(folder.path(), {}, true).ok());
  const std::filesystem::path key = folder.path() / kNoiseKeyFile;
  SimulationOptions alone = options(2);
  alone.noise_key = key;
  const auto wanted = simulate(recipe, alone);
  ASSERT_TRUE(wanted.ok()) << wanted.error().message;
  EXPECT_EQ(run_on_ranks(recipe, 1, key).signature, wanted->signature);
  EXPECT_NE(run_on_ranks(recipe, 1).signature, wanted->signature) << "noise from the seed";
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const char* const size = std::getenv("OMPI_COMM_WORLD_SIZE");
  auto ranks = muster::join_mpi(size ? static_cast<std::uint32_t>(std::stoul(size)) : 1);
  if (!ranks) {
    std::fprintf(stderr, "%s\n", ranks.error().message.c_str());
    return 1;
  }
  if ((*ranks)->rank() > 0) return muster::serve_runs(**ranks);
  muster::job = ranks->get();
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  muster::quit_ranks(**ranks, status);
  return status;
}
