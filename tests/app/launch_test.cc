#include "app/launch.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace muster {
namespace {

Launch launched(const std::map<std::string, std::string>& environment) {
  return read_launch([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, AloneWithoutALauncher) {
  EXPECT_EQ(launched({}).size, 1u);
}

TEST(Launch, ByMpirun) {
  const Launch launch = launched({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_EQ(launch.by, "mpirun");
  EXPECT_EQ(launch.rank, 2u);
  EXPECT_EQ(launch.size, 4u);
}

TEST(Launch, BySrunButNotInABatchScript) {
  EXPECT_EQ(launched({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_NTASKS", "3"}}).size, 3u);
  EXPECT_EQ(launched({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "3"}}).size, 1u);
}

TEST(Launch, NumbersThatAreNoneAreIgnored) {
  EXPECT_EQ(launched({{"PMI_RANK", "x"}, {"PMI_SIZE", "4"}}).size, 1u);
  EXPECT_EQ(launched({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}).size, 1u);
  EXPECT_EQ(launched({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}).by, "mpiexec");
}

}  // namespace
}  // namespace muster
