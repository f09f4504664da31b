// The program as a job of mpirun, as users see it: who speaks, what a signal or a death does, and that a run goes on
// after either to the signature of one that was left alone.
#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/random.h"
#include "command_line.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using Json = nlohmann::json;

const Words kRun{"run",
                 "fedavg",
                 "--seed",
                 "4",
                 "--threads",
                 "1",
                 "--rounds",
                 "30",
                 "--json",
                 "--set",
                 "data.source=synthetic",
                 "--set",
                 "data.clients=40",
                 "--set",
                 "model.name=mlp",
                 "--set",
                 "plan.sample-clients=10",
                 "--set",
                 "checkpoint-every=1"};

class RankJob : public CommandLineTest {
 protected:
  static void SetUpTestSuite() {
    for (const char* variable : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}) {
      ::setenv(variable, "1", 1);
    }
    ::setenv("OMPI_MCA_btl", "self,vader", 1);
    ::setenv("OMPI_MCA_oob_tcp_if_include", "lo", 1);
  }

  Words job(std::uint32_t ranks, const std::string& program, Words words) const {
    words.insert(words.begin(), {MUSTER_MPIRUN, "-n", std::to_string(ranks), "--oversubscribe", program});
    return words;
  }
  // The run from its beginning, or from where it was left.
  Words run_or_resume() const {
    Words words = kRun;
    const std::filesystem::path runs = scratch_.path() / "runs";
    if (std::filesystem::exists(runs)) {
      for (const auto& entry : std::filesystem::directory_iterator(runs)) {
        if (std::filesystem::exists(entry.path() / "recipe.toml")) words = {"run", "--resume", entry.path(), "--json"};
      }
    }
    words.insert(words.end(), {"--out", runs.string()});
    return words;
  }
  // How many rounds have been recorded.
  std::ptrdiff_t rounds() const {
    const std::filesystem::path runs = scratch_.path() / "runs";
    std::ptrdiff_t recorded = 0;
    if (!std::filesystem::exists(runs)) return recorded;
    for (const auto& entry : std::filesystem::directory_iterator(runs)) {
      std::ifstream in(entry.path() / "rounds.jsonl");
      recorded += std::count(std::istreambuf_iterator<char>(in), {}, '\n');
    }
    return recorded;
  }
  // Until all ranks are at work. The launcher of Debian 12 may hang when one dies before: docs/cluster.md.
  void wait_for_rounds(const Process& mpirun) const {
    const std::ptrdiff_t before = rounds();
    while (rounds() < before + 2 && runs(mpirun)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::string signature_alone() const {
    Words words = kRun;
    words.insert(words.begin(), MUSTER_BINARY);
    words.insert(words.end(), {"--out", (scratch_.path() / "alone").string()});
    return signature_of(Process(scratch_, words).wait());
  }
  static std::string signature_of(const Finished& finished) {
    EXPECT_EQ(finished.status, 0) << finished.err;
    return Json::parse(finished.out, nullptr, false).value("signature", "none: " + finished.err);
  }
  // Until all ranks are there and have seen to signals; before that a signal ends them as it ends any program.
  static void wait_for_ranks(const Process& mpirun, std::uint32_t ranks) {
    std::uint32_t ready = 0;
    while (ready < ranks && runs(mpirun)) {
      ready = 0;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const pid_t process = process_of(mpirun, std::to_string(rank));
        if (process > 0 && sees_to_signals(process)) ++ready;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  static bool runs(const Process& process) {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(process.id()), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0;
  }
  // What the kernel says of a process; nothing of one that has just ended.
  static std::string told_of(pid_t process, const std::string& what) {
    std::ifstream in(fmt::format("/proc/{}/{}", process, what), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Whether SIGUSR1 is caught or ignored.
  static bool sees_to_signals(pid_t process) {
    std::istringstream status(told_of(process, "status"));
    std::uint64_t masks = 0;
    for (std::string word; status >> word;) {
      if (word != "SigIgn:" && word != "SigCgt:") continue;
      status >> word;
      masks |= std::stoull(word, nullptr, 16);
    }
    return (masks >> (SIGUSR1 - 1)) & 1;
  }
  // The process of a rank, by what mpirun put into its environment.
  static pid_t process_of(const Process& mpirun, const std::string& rank) {
    std::istringstream children(told_of(mpirun.id(), fmt::format("task/{}/children", mpirun.id())));
    for (pid_t child = 0; children >> child;) {
      const std::string environment = told_of(child, "environ");
      if (environment.find(fmt::format("OMPI_COMM_WORLD_RANK={}", rank) + '\0') != std::string::npos) return child;
    }
    return 0;
  }
};

TEST_F(RankJob, GivesOneResult) {
  const Finished finished = Process(scratch_, job(3, MUSTER_MPI_BINARY, run_or_resume())).wait();
  EXPECT_EQ(signature_of(finished), signature_alone());
  EXPECT_EQ(std::count(finished.out.begin(), finished.out.end(), '\n'), 1) << finished.out;
  const Json ranks = Json::parse(finished.out)["ranks"];
  EXPECT_EQ(ranks["count"], 3);
  EXPECT_EQ(ranks["others"].size(), 2u);
  for (const Json& other : ranks["others"]) {
    EXPECT_GT(other["own_bytes"], other["arena_bytes"]);
    EXPECT_GT(other["arena_bytes"], 0);
  }
}

TEST_F(RankJob, ErrorsAreSaidOnce) {
  const Finished finished = Process(scratch_, job(3, MUSTER_MPI_BINARY, {"run", "fedavgg"})).wait();
  EXPECT_EQ(finished.status, 2);
  EXPECT_EQ(finished.err.find("fedavgg"), finished.err.rfind("fedavgg")) << finished.err;
}

TEST_F(RankJob, ThePlainProgramRefusesToRunSeveralTimes) {
  const Finished finished = Process(scratch_, job(3, MUSTER_BINARY, {"run", "fedavg"})).wait();
  EXPECT_EQ(finished.status, 2);
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err, AllOf(HasSubstr("mpirun started 3 processes"), HasSubstr("./muster --with mpi")));
  EXPECT_EQ(finished.err.find("started 3"), finished.err.rfind("started 3")) << finished.err;
}

TEST_F(RankJob, ARankThatDiesIsNamed) {
  for (const char* rank : {"1", "0"}) {
    const Process process(scratch_, job(2, MUSTER_MPI_BINARY, run_or_resume()));
    wait_for_rounds(process);
    const pid_t victim = process_of(process, rank);
    ASSERT_GT(victim, 0);
    ::kill(victim, SIGKILL);
    const Finished finished = process.wait();
    EXPECT_EQ(finished.status, 137);
    EXPECT_THAT(finished.err, Not(HasSubstr("finishing this round")));
    EXPECT_THAT(finished.err, AnyOf(HasSubstr(fmt::format("muster: rank {} on ", rank)),
                                    HasSubstr(fmt::format(" noticed that process rank {} ", rank))));
  }
  EXPECT_EQ(signature_of(Process(scratch_, job(2, MUSTER_MPI_BINARY, run_or_resume())).wait()), signature_alone());
}

// To mpirun, which passes SIGUSR1 on to all ranks, or to rank 0; also before MPI is there.
TEST_F(RankJob, GoesOnAfterSignalsAtAnyTime) {
  const std::string wanted = signature_alone();
  Stream stream({.seed = 12, .purpose = Purpose::kTest});
  std::uint32_t interrupted = 0;
  for (int i = 0; i < 12; ++i) {
    const std::uint32_t ranks = 2 + stream.below(2);
    const bool warning = stream.below(2) == 0;
    const std::chrono::milliseconds until(stream.below(700));
    const Process process(scratch_, job(ranks, MUSTER_MPI_BINARY, run_or_resume()));
    wait_for_ranks(process, ranks);
    std::this_thread::sleep_for(until);
    const pid_t first = process_of(process, "0");
    if (first > 0) ::kill(warning ? process.id() : first, warning ? SIGUSR1 : SIGTERM);
    const Finished finished = process.wait();
    if (finished.status == 0) {
      EXPECT_EQ(signature_of(finished), wanted);
    } else {
      EXPECT_EQ(finished.status, warning ? 75 : 143) << finished.err;
      ++interrupted;
    }
  }
  EXPECT_GE(interrupted, 4u);
  EXPECT_EQ(signature_of(Process(scratch_, job(2, MUSTER_MPI_BINARY, run_or_resume())).wait()), wanted);
}

}  // namespace
}  // namespace muster
