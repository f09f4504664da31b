// `muster compare` as users call it on a cluster: as a job of several processes.
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "command_line.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RankCompare : public CommandLineTest {
 protected:
  static Words on_ranks(int ranks, const Words& words) {
    Words all{"/usr/bin/env"};
    std::istringstream environment(MUSTER_MPI_ENVIRONMENT);
    for (std::string setting; environment >> setting;) all.push_back(setting);
    all.insert(all.end(), {MUSTER_MPIRUN, "-n", std::to_string(ranks), "--oversubscribe", MUSTER_BINARY});
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  std::string out(const std::string& name) const { return (scratch_.path() / name).string(); }
  Words line(int rounds, const std::string& out_name) const {
    Words all{"compare",   "fedavg", "fedprox", "scaffold",    "--seeds",  "1,2",
              "--threads", "1",      "--out",   out(out_name), "--rounds", std::to_string(rounds)};
    for (const char* setting : {"data.source=blobs", "data.clients=20", "model.name=softmax"}) {
      all.insert(all.end(), {"--set", setting});
    }
    return all;
  }
  static Words quietly(Words words) {
    words.insert(words.end(), {"--json", "--quiet"});
    return words;
  }
  // All but what depends on the clock.
  static nlohmann::json table(const Finished& finished) {
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
    auto json = nlohmann::json::parse(finished.out, nullptr, false);
    if (!json.is_object()) return finished.out;
    for (auto& method : json["methods"]) {
      method.erase("wall_s_mean");
      method.erase("wall_s_std");
    }
    return json;
  }
  std::size_t runs_that_record(const std::string& folder) const {
    std::size_t count = 0;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(out(folder), none)) {
      count += std::filesystem::exists(entry.path() / "rounds.jsonl") ? 1 : 0;
    }
    return count;
  }
};

TEST_F(RankCompare, SignalledAndResumedItIsTheTableOfOneProcess) {
  const nlohmann::json alone = table(muster(quietly(line(40, "alone"))));
  const Process process(scratch_, on_ranks(3, line(40, "cut")));
  for (int i = 0; i < 20000 && runs_that_record("cut") < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  process.kill(SIGUSR1);
  const Finished cut = process.wait();
  EXPECT_EQ(cut.status, 75) << cut.err;
  EXPECT_THAT(cut.err, AllOf(HasSubstr("interrupted with "), HasSubstr("the same command goes on from here")));
  EXPECT_EQ(table(Process(scratch_, on_ranks(2, quietly(line(40, "cut")))).wait()), alone);
}

}  // namespace
}  // namespace muster
