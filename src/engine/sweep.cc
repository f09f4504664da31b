#include "engine/sweep.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "engine/expected_work.h"
#include "engine/known_runs.h"
#include "engine/simulation.h"
#include "recipe/fit_to_data.h"
#include "recipe/keys.h"
#include "record/run_lock.h"
#include "record/sweep_progress.h"
#include "train/spare_cores.h"

namespace muster {
namespace {

// Equal for recipes that make_federated_data() makes the same data of.
std::string data_key(const Recipe& recipe) {
  std::string key = std::to_string(recipe.data_seed.value_or(recipe.seed));
  for (const Key& one : recipe_key_table()) {
    if (one.info.section == "data") key += fmt::format("\n{}", one.get(recipe));
  }
  return fmt::format("{}\n{}", key, recipe.data.fewer_exemplars);
}

// "fedavg-s1-0123456789abcdef": letters, digits, dots, dashes and underscores only.
std::string folder_name(const SweepRun& run, const std::string& hash) {
  std::string safe;
  for (const char c : run.label) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || (c == '.' && !safe.empty());
    safe += plain ? c : '-';
  }
  return fmt::format("{}-s{}-{}", safe.substr(0, 80), run.recipe.seed, hash.substr(0, 10));
}

class Sweep {
 public:
  Sweep(std::span<const SweepRun> runs, const SweepOptions& options)
      : runs_(runs),
        options_(options),
        cores_(options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency())),
        spare_(cores_),
        known_(options.out),
        progress_(runs.size(), options.quiet, options.progress),
        jobs_(runs.size()) {
    result_.runs.resize(runs.size());
  }

  Result<SweepResult> run() {
    plan();
    std::vector<std::thread> helpers;
    for (std::size_t i = 1; i < std::min<std::size_t>(cores_, runs_.size()); ++i)
      helpers.emplace_back([this] { work(); });
    work();
    for (std::thread& helper : helpers) helper.join();
    progress_.finish();
    if (error_) return std::move(*error_);
    for (std::size_t i = 0; i < runs_.size(); ++i) result_.runs[i] = result_.runs[jobs_[i].same_as];
    result_.interrupted = std::ranges::any_of(result_.runs, [](const auto& run) { return !run; });
    return std::move(result_);
  }

 private:
  struct Job {
    std::size_t same_as = 0;  // the run that is this one too: itself, or an earlier one
    std::size_t batch = 0;
    Recipe settled;
    double work = 0;
    std::vector<std::filesystem::path> resumable;
  };
  // Runs that share data.
  struct Batch {
    std::vector<std::size_t> runs;
    std::shared_ptr<const FederatedData> data;  // from when it is read until the last of its runs is over
    std::size_t left = 0;
  };

  void plan() {
    std::map<std::string, std::size_t> batch_of;
    std::map<std::string, std::size_t> first_of;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      Job& job = jobs_[i];
      job.same_as = first_of.try_emplace(recipe_hash(runs_[i].recipe), i).first->second;
      job.batch = batch_of.try_emplace(data_key(runs_[i].recipe), batches_.size()).first->second;
      if (job.batch == batches_.size()) batches_.emplace_back();
      batches_[job.batch].runs.push_back(i);
      batches_[job.batch].left += job.same_as == i ? 1 : 0;
    }
  }

  [[nodiscard]] bool stopping() const { return stop_ || (options_.interrupt && *options_.interrupt); }

  // What each thread does: a run that is ready, else the next data, else wait for whoever reads some.
  void work() {
    std::unique_lock lock(mutex_);
    while (!stopping()) {
      Status status;
      if (!ready_.empty()) {
        const std::size_t run = ready_.front();
        ready_.erase(ready_.begin());
        status = on_a_core(lock, [&] { return do_run(run); });
      } else if (next_batch_ < batches_.size()) {
        const std::size_t batch = next_batch_++;
        ++reading_;
        status = on_a_core(lock, [&] { return prepare(batch); });
        --reading_;
      } else if (reading_ > 0) {
        changed_.wait(lock);
      } else {
        break;
      }
      if (!status && !error_) error_ = std::move(status).error();
      if (error_) stop_ = true;
      changed_.notify_all();
    }
  }

  template <typename Work>
  Status on_a_core(std::unique_lock<std::mutex>& lock, const Work& work) {
    lock.unlock();
    spare_.begin();
    Status status = work();
    spare_.end();
    lock.lock();
    return status;
  }

  // Reads the data of a batch, settles its recipes, and finds what is done already.
  Status prepare(std::size_t number) {
    Batch& batch = batches_[number];
    const Recipe& first = runs_[batch.runs.front()].recipe;
    auto read = make_federated_data(first.data, first.data_seed.value_or(first.seed));
    if (!read) return std::move(read).error();
    batch.data = std::move(read).value();
    std::vector<Recipe> settled;
    for (const std::size_t run : batch.runs) {
      MUSTER_TRY(within(run, settle(run, *batch.data)));
      settled.push_back(jobs_[run].settled);
    }
    if (options_.check) MUSTER_TRY(options_.check(batch.runs, settled));
    std::vector<std::size_t> ready;
    for (const std::size_t run : batch.runs) {
      if (jobs_[run].same_as != run) {
        progress_.done(run, false);
      } else if (!find_finished(run)) {
        ready.push_back(run);
      }
    }
    std::ranges::stable_sort(ready, std::greater(), [&](std::size_t run) { return jobs_[run].work; });
    const std::lock_guard lock(mutex_);
    ready_.insert(ready_.end(), ready.begin(), ready.end());
    if (batch.left == 0) batch.data.reset();
    return {};
  }

  Status settle(std::size_t run, const FederatedData& data) {
    Job& job = jobs_[run];
    job.settled = runs_[run].recipe;
    MUSTER_TRY(check_recipe(job.settled));
    MUSTER_ASSIGN(const std::vector<std::string> notes, settle_recipe(job.settled, data));
    for (const std::string& note : notes) say(fmt::format("{}: {}", runs_[run].label, note));
    job.work = expected_work(job.settled, data);
    progress_.expect(run, job.work, job.settled.rounds);
    return {};
  }

  // True if a finished run of the same recipe is there; others that may be gone on with are remembered.
  bool find_finished(std::size_t run) {
    for (const std::filesystem::path& folder : known_.of(jobs_[run].settled)) {
      Result<std::optional<RunCurve>> curve = read_run_curve(folder);
      if (!curve) {
        say(fmt::format("{}; {} is left alone", curve.error().message, folder.string()));
      } else if (*curve) {
        finish(run, std::move(**curve), false);
        return true;
      } else {
        jobs_[run].resumable.push_back(folder);
      }
    }
    return false;
  }

  void finish(std::size_t run, RunCurve curve, bool now) {
    progress_.done(run, now);
    const std::lock_guard lock(mutex_);
    result_.runs[run] = std::move(curve);
    result_.ran += now ? 1 : 0;
    Batch& batch = batches_[jobs_[run].batch];
    if (--batch.left == 0) batch.data.reset();
  }

  Status do_run(std::size_t run) {
    MUSTER_ASSIGN(const std::optional<std::filesystem::path> folder, within(run, simulate_or_resume(run)));
    if (!folder) return {};  // interrupted
    Result<std::optional<RunCurve>> curve = read_run_curve(*folder);
    if (!curve) return within(run, Status(std::move(curve).error()));
    if (*curve) finish(run, std::move(**curve), true);
    return {};
  }

  // The folder of the run that is over, or nothing if it was interrupted.
  Result<std::optional<std::filesystem::path>> simulate_or_resume(std::size_t run) {
    SimulationOptions options = options_of(run);
    for (const std::filesystem::path& folder : jobs_[run].resumable) {
      if (const auto lock = RunLock::take(folder); !lock) return lock.error();
      const Result<RunSummary> summary = resume(folder.string(), {}, options);
      if (summary) return outcome(*summary);
      say(fmt::format("{}; {} is left alone", summary.error().message, folder.string()));
    }
    options.folder = free_name(run);
    MUSTER_ASSIGN(const RunSummary summary, simulate(runs_[run].recipe, options));
    return outcome(summary);
  }

  static std::optional<std::filesystem::path> outcome(const RunSummary& summary) {
    if (summary.stopped == StopReason::kInterrupted) return std::nullopt;
    return summary.dir;
  }

  std::string free_name(std::size_t run) {
    const std::string name = folder_name(runs_[run], recipe_hash(jobs_[run].settled));
    std::string free = name;
    std::error_code ignored;
    for (int i = 2; std::filesystem::exists(std::filesystem::symlink_status(options_.out / free, ignored)); ++i) {
      free = fmt::format("{}-{}", name, i);
    }
    if (free != name) {
      say(fmt::format("{}: not a run that can be used; it is left alone, and {} is used",
                      (options_.out / name).string(), free));
    }
    return free;
  }

  SimulationOptions options_of(std::size_t run) {
    SimulationOptions options;
    options.threads = cores_;
    options.out = options_.out;
    options.quiet = true;
    options.interrupt = &stop_;
    options.spare = &spare_;
    options.on_round = [this, run](std::uint32_t round) {
      if (stopping()) stop_ = true;
      if (round > 0) progress_.round(run, round);
    };
    const std::lock_guard lock(mutex_);
    options.data = batches_[jobs_[run].batch].data;
    return options;
  }

  // Adds whose error it is.
  template <typename T>
  T within(std::size_t run, T result) const {
    if (result) return result;
    return std::move(result).error().within(fmt::format("{}, seed {}", runs_[run].label, runs_[run].recipe.seed));
  }

  // Each note once.
  void say(const std::string& note) {
    if (!options_.say) return;
    const std::lock_guard lock(say_mutex_);
    if (!said_.insert(note).second) return;
    progress_.make_room();
    options_.say(note);
  }

  const std::span<const SweepRun> runs_;
  const SweepOptions& options_;
  const std::uint32_t cores_;
  SpareCores spare_;
  const KnownRuns known_;
  SweepProgress progress_;
  std::atomic<bool> stop_{false};
  std::mutex say_mutex_;
  std::set<std::string> said_;  // guarded by say_mutex_

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job> jobs_;           // each belongs to whoever prepares its batch, then to whoever runs it
  std::vector<Batch> batches_;      // `data` and `left` guarded by mutex_ once prepared
  std::size_t next_batch_ = 0;      // guarded by mutex_
  std::uint32_t reading_ = 0;       // threads that read data, guarded by mutex_
  std::vector<std::size_t> ready_;  // guarded by mutex_
  std::optional<Error> error_;      // the first, guarded by mutex_
  SweepResult result_;              // guarded by mutex_
};

}  // namespace

Result<SweepResult> run_sweep(std::span<const SweepRun> runs, const SweepOptions& options) {
  return Sweep(runs, options).run();
}

}  // namespace muster
