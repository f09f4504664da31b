// A rank that is killed at any point of a run, again and again, costs nothing but time: resumed on any number of ranks
// the run ends with the signature of one that was left alone. A seeded draw says which rank dies, after how many
// parcels, and how many ranks go on. Started alone it starts the jobs; as a job's process it is a rank, whose end may
// be near.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/random.h"
#include "engine/rank_run.h"
#include "ranks/mpi_ranks.h"
#include "run_records.h"

namespace muster {
namespace {

constexpr std::uint64_t kSeed = 12;
constexpr std::uint32_t kMostParcels = 60;  // after which a rank dies; a run has more

Recipe recipe() {
  return small({"local.objective=control-variate", "aggregation.global=control-variate", "plan.sample-clients=6",
                "profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=2", "checkpoint-every=1",
                "plan.regroup-every=2"});
}

// Dies instead of taking its last parcel.
class DyingRanks final : public Ranks {
 public:
  DyingRanks(std::unique_ptr<Ranks> ranks, std::uint32_t parcels) : ranks_(std::move(ranks)), parcels_(parcels) {}
  std::uint32_t rank() const override { return ranks_->rank(); }
  std::uint32_t size() const override { return ranks_->size(); }
  std::vector<std::uint32_t> neighbours() const override { return ranks_->neighbours(); }
  std::string name(std::uint32_t rank) const override { return ranks_->name(rank); }
  void send(std::uint32_t to, Parcel parcel) override { ranks_->send(to, std::move(parcel)); }
  std::optional<Arrived> receive() override {
    std::optional<Arrived> arrived = ranks_->receive();
    if (arrived && --parcels_ == 0) std::raise(SIGKILL);
    return arrived;
  }
  bool sending() override { return ranks_->sending(); }
  void give_all(std::span<const float> values) override { ranks_->give_all(values); }
  void take_all(std::span<float> values) override { ranks_->take_all(values); }
  std::optional<std::uint32_t> lost() override { return ranks_->lost(); }
  Traffic traffic() const override { return ranks_->traffic(); }

 private:
  std::unique_ptr<Ranks> ranks_;
  std::uint32_t parcels_;
};

// The run in `folder`, from its beginning or from where it was left.
int go_on(Ranks* ranks, const std::filesystem::path& folder) {
  SimulationOptions options;
  options.threads = 1;
  options.out = folder;
  options.folder = "run";
  options.quiet = true;
  options.ranks = ranks;
  const bool begun = std::filesystem::exists(folder / "run" / "recipe.toml");
  if (!begun) std::filesystem::remove_all(folder / "run");  // killed before it had a recipe
  const Result<RunSummary> summary = begun ? resume("run", {}, options) : simulate(recipe(), options);
  if (!summary) {
    std::fprintf(stderr, "%s\n", summary.error().message.c_str());
    return 1;
  }
  std::ofstream(folder / "signature") << summary->signature;
  return 0;
}

// FOLDER RANK PARCELS: as a process of a job.
int be_a_rank(char** arguments, std::uint32_t size) {
  Result<std::unique_ptr<Ranks>> joined = join_mpi(size);
  if (!joined) return 1;
  const bool dies = (*joined)->rank() == std::stoul(arguments[2]);
  DyingRanks ranks(std::move(*joined), dies ? static_cast<std::uint32_t>(std::stoul(arguments[3])) : 0);
  if (ranks.rank() > 0) return serve_runs(ranks);
  const int status = go_on(&ranks, arguments[1]);
  if (ranks.lost()) std::_Exit(status);
  quit_ranks(ranks, status);
  return status;
}

std::string slurp_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Starts a job; true if it ended well. What it said is in FOLDER/said.
bool start_job(const std::string& program, const std::string& mpirun, std::uint32_t ranks,
               const std::filesystem::path& folder, std::uint32_t dying, std::uint32_t parcels) {
  const std::string command = fmt::format("'{}' -n {} --oversubscribe '{}' '{}' {} {} >'{}/said' 2>&1", mpirun, ranks,
                                          program, folder.string(), dying, parcels, folder.string());
  return std::system(command.c_str()) == 0;
}

int start_jobs(const std::string& program, const std::string& mpirun, std::uint32_t kills) {
  const ScratchFolder alone;
  if (go_on(nullptr, alone.path()) != 0) return 1;
  const std::string wanted = slurp_file(alone.path() / "signature");
  Stream stream({.seed = kSeed, .purpose = Purpose::kTest});
  std::uint32_t killed = 0;
  std::uint32_t runs = 0;
  while (killed < kills) {
    const ScratchFolder folder;
    bool done = false;
    while (!done) {
      const std::uint32_t ranks = 2 + stream.below(2);
      const std::uint32_t dying = killed < kills ? stream.below(ranks) : ranks;  // nobody, once enough have died
      done = start_job(program, mpirun, ranks, folder.path(), dying, 1 + stream.below(kMostParcels));
      const std::string said = slurp_file(folder.path() / "said");
      if (!done && said.find(fmt::format("rank {} ", dying)) == std::string::npos) {
        std::fprintf(stderr, "rank %u was killed, but not named:\n%s\n", dying, said.c_str());
        return 1;
      }
      killed += done ? 0 : 1;
    }
    ++runs;
    const std::string got = slurp_file(folder.path() / "signature");
    if (got != wanted) {
      std::fprintf(stderr, "run %u: signature %s, want %s\n", runs, got.c_str(), wanted.c_str());
      return 1;
    }
  }
  std::printf("%u ranks killed in %u runs, and every run ended as it should\n", killed, runs);
  return 0;
}

}  // namespace
}  // namespace muster

// rank_kill_test MPIRUN [KILLS]
int main(int argc, char** argv) {
  const char* const size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size) return argc == 4 ? muster::be_a_rank(argv, static_cast<std::uint32_t>(std::stoul(size))) : 2;
  const char* const kills = std::getenv("MUSTER_KILLS");
  if (argc != 2) return 2;
  return muster::start_jobs(argv[0], argv[1], kills ? static_cast<std::uint32_t>(std::stoul(kills)) : 6);
}
