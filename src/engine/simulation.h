// A federation simulated on this machine, from a recipe to a run folder and a summary.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "data/federated_data.h"
#include "engine/round_observer.h"
#include "ranks/rank_times.h"
#include "recipe/recipe.h"
#include "record/run_record.h"
#include "solver/solver_times.h"

namespace muster {

class Federation;
class LocalFederation;
class Ranks;
class SpareCores;
struct ProgressSink;

// Where the time of a run goes, in seconds. All but `solvers` is the wall time of the one thread that does it.
struct RunTimes {
  std::uint32_t threads = 0;
  double prepare_s = 0;  // before the first round
  double run_s = 0;      // all groups, rounds and results, of which
  double group_s = 0;    // groups, without the clients' work for their profiles
  double plan_s = 0;
  double aggregate_s = 0;
  double records_s = 0;  // lines, events, the files at the end
  double checkpoints_s = 0;
  RankTimes calls;                   // of rank 0, where there are several
  std::vector<SolverTimes> solvers;  // one per thread of this process
};

struct SimulationOptions {
  std::uint32_t threads = 0;  // 0 = all cores
  std::filesystem::path out = "runs";
  std::string folder = {};  // of a new run, under `out`; "" = named after the recipe, the seed and the time
  bool quiet = false;       // no progress on stderr
  // When it becomes true the run finishes the round, saves a checkpoint and stops.
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const std::string&)> say;               // notes for people, e.g. what data were found
  std::function<void(std::uint32_t round)> on_round;         // called with 0 when all is ready, then after every round
  std::function<void(const RoundRecord& record)> on_record;  // called with every round as it is recorded
  const ProgressSink* progress = nullptr;                    // where progress goes; null: stderr. Borrowed
  RunTimes* times = nullptr;                                 // filled as the run goes on; borrowed
  std::vector<RoundObserver*> observers;                     // that watch besides Muster's own; borrowed
  // Of runs side by side. The data that make_federated_data() would give, where they have been read already; and what
  // lends cores, which this run has begun with (train/spare_cores.h): `threads` is then the most that it uses.
  // Borrowed.
  std::shared_ptr<const FederatedData> data;
  SpareCores* spare = nullptr;
  // Whether `data` have the samples of all clients. Else nothing is recorded that only a simulation can know (Oracle).
  bool knows_samples = true;
  // Makes the federation of a run whose clients are elsewhere, around what this process has of it: the roster, the
  // server's samples, threads. Called once the recipe is settled, with the run's folder. Does not go with `ranks`.
  std::function<Result<std::unique_ptr<Federation>>(const Recipe& recipe, std::unique_ptr<LocalFederation> here,
                                                    const std::filesystem::path& folder)>
      federation;
  // The job that this is rank 0 of, whose other ranks are in serve_runs() (engine/rank_run.h); null, or of one rank:
  // this process does all by itself. `threads` is then of each rank. Borrowed; does not go with `spare`.
  Ranks* ranks = nullptr;
  // Of private runs: the noise comes from a key, which is kept in the run's folder (engine/noise_record.h), instead of
  // the recipe's seed. A file of another run, to repeat that; or drawn from the system, where others know the recipe.
  std::filesystem::path noise_key = {};
  bool secret_noise = false;
};

// Trains, evaluates, records. A run that diverges is a result, not an error. An error before the first round is
// recorded leaves nothing behind.
[[nodiscard]] Result<RunSummary> simulate(const Recipe& recipe, const SimulationOptions& options);

// Continues the run in the folder (a path, or an id under options.out) from its newest whole checkpoint; `settings`
// may change how long it goes on (resumable_keys()) and nothing else. A run that is over stays as it is; fewer rounds
// than are done are refused. What is read back is checked against the recipe, and a resume that is refused leaves the
// folder as it was.
[[nodiscard]] Result<RunSummary> resume(const std::string& run, const std::vector<std::string>& settings,
                                        const SimulationOptions& options);

}  // namespace muster
