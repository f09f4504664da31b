// A run that is killed with SIGKILL again and again, at moments nobody chooses, and continues from its checkpoints.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "base/random.h"
#include "clients/client_state.h"
#include "record/checkpoint.h"
#include "scratch_folder.h"

namespace muster {
namespace {

constexpr std::size_t kValues = 300;
constexpr std::uint32_t kClients = 30;
constexpr std::uint32_t kClientsPerRound = 4;

std::vector<std::uint32_t> clients_of(std::uint32_t round) {
  Stream stream({.seed = 5, .round = round});
  std::vector<std::uint32_t> clients(kClientsPerRound);
  for (std::uint32_t& client : clients) client = stream.below(kClients);
  return clients;
}

std::vector<float> state_of(std::uint32_t client, std::uint32_t round) {
  return std::vector<float>(kValues, static_cast<float>(round * kClients + client));
}

ClientStateOptions options_of(const std::filesystem::path& run) {
  return {.folder = run / "states", .memory_limit_bytes = 6 * kValues * sizeof(float), .log_file_bytes = 20'000};
}

// Goes on from the newest checkpoint until it is killed; tells of every step with a byte.
[[noreturn]] void run_until_killed(const std::filesystem::path& run, int telling) {
  ClientStates states(options_of(run));
  std::uint32_t round = 0;
  if (const auto files = list_checkpoints(run / "checkpoint"); !files.empty()) {
    const auto checkpoint = read_checkpoint(files[0]);
    if (!checkpoint || !states.restore(checkpoint->sections.at("states"))) ::_exit(1);
    round = checkpoint->round;
  }
  const auto tell = [&] {
    if (::write(telling, "x", 1) != 1) ::_exit(2);
  };
  while (true) {
    ++round;
    for (const std::uint32_t client : clients_of(round)) {
      if (!states.put({client}, 0, state_of(client, round))) ::_exit(3);
      tell();
    }
    Checkpoint checkpoint;
    checkpoint.round = round;
    auto manifest = states.save();
    if (!manifest) ::_exit(4);
    tell();
    checkpoint.put_string("states", std::move(*manifest));
    if (!write_checkpoint(run / "checkpoint", checkpoint)) ::_exit(5);
    tell();
  }
}

void expect_whole(const std::filesystem::path& run, const Checkpoint& checkpoint) {
  ClientStates states(options_of(run));
  const Status restored = states.restore(checkpoint.sections.at("states"));
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  std::map<std::uint32_t, std::uint32_t> rounds;  // client -> the last it took part in
  for (std::uint32_t round = 1; round <= checkpoint.round; ++round) {
    for (const std::uint32_t client : clients_of(round)) rounds[client] = round;
  }
  EXPECT_EQ(states.size(), rounds.size());
  for (const auto& [client, round] : rounds) {
    std::vector<float> out(kValues);
    const auto found = states.get({client}, 0, out);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_TRUE(*found);
    EXPECT_EQ(out, state_of(client, round)) << "client " << client << " after round " << checkpoint.round;
  }
}

TEST(Kill, TheLastTwoCheckpointsAreWholeAfterEveryKill) {
  const ScratchFolder folder;
  std::uint32_t last_round = 0;
  for (std::uint32_t trial = 0; trial < 25; ++trial) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(pipe[0]);
      run_until_killed(folder.path(), pipe[1]);
    }
    ::close(pipe[1]);
    // Two rounds are 12 steps, so a kill falls into any part of a round, and each child gets at least one round done.
    const std::uint32_t steps = 7 + Stream({.seed = trial}).below(24);
    char step = 0;
    for (std::uint32_t i = 0; i < steps; ++i) ASSERT_EQ(::read(pipe[0], &step, 1), 1) << "trial " << trial;
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "exit " << WEXITSTATUS(status);
    ::close(pipe[0]);

    const auto files = list_checkpoints(folder / "checkpoint");
    ASSERT_FALSE(files.empty());
    for (const auto& file : files) {
      const auto checkpoint = read_checkpoint(file);
      ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message;
      expect_whole(folder.path(), *checkpoint);
    }
    const auto newest = read_checkpoint(files[0]);
    EXPECT_GT(newest->round, last_round);
    last_round = newest->round;
  }
  // Every kill leaves a file begun and perhaps a torn one; they must not pile up. Live: 30 states of 1.2 kB.
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "states")) bytes += entry.file_size();
  EXPECT_LT(bytes, 300'000u);
}

}  // namespace
}  // namespace muster
