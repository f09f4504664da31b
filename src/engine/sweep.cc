#include "engine/sweep.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "engine/expected_work.h"
#include "engine/known_runs.h"
#include "engine/rank_sweep.h"
#include "engine/whole_run.h"
#include "ranks/patience.h"
#include "recipe/fit_to_data.h"
#include "recipe/keys.h"
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

std::uint32_t cores_here(const SweepOptions& options, const RankSweep* ranks) {
  if (ranks) return ranks->threads().front();
  return options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
}

class Sweep {
 public:
  // `ranks`, which have begun, may be null; borrowed.
  Sweep(std::span<const SweepRun> runs, const SweepOptions& options, RankSweep* ranks)
      : runs_(runs),
        options_(options),
        ranks_(ranks),
        cores_(cores_here(options, ranks)),
        spare_(cores_),
        known_(options.out),
        progress_(runs.size(), options.quiet, options.progress),
        threads_(ranks ? ranks->threads() : std::vector{cores_}),
        busy_(threads_.size(), 0),
        jobs_(runs.size()) {
    result_.runs.resize(runs.size());
  }

  Result<SweepResult> run() {
    plan();
    std::vector<std::thread> helpers;
    for (std::size_t i = ranks_ ? 0 : 1; i < std::min<std::size_t>(cores_, runs_.size()); ++i)
      helpers.emplace_back([this] { work(); });
    if (ranks_) {
      helpers.emplace_back([this] { read_ahead(); });
      deal();
    } else {
      work();
    }
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
    std::vector<std::string> resumable;  // folders under options_.out
  };
  // Runs that share data.
  struct Batch {
    std::vector<std::size_t> runs;
    std::shared_ptr<const FederatedData> data;  // from when it is read until the last of its runs has begun
    std::size_t to_begin = 0;
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
    }
  }

  [[nodiscard]] bool stopping() const { return stop_ || (options_.interrupt && *options_.interrupt); }
  [[nodiscard]] bool all_read() const { return next_batch_ == batches_.size() && reading_ == 0; }

  // The rank that the next run goes to: of which the smallest share is busy; none if all of each is. This one comes
  // last among equals, as it reads data for all.
  [[nodiscard]] std::optional<std::uint32_t> freest() const {
    std::optional<std::uint32_t> found;
    for (std::size_t i = 1; i <= threads_.size(); ++i) {
      const auto rank = static_cast<std::uint32_t>(i % threads_.size());
      if (busy_[rank] >= threads_[rank]) continue;
      if (!found || std::uint64_t{busy_[rank]} * threads_[*found] < std::uint64_t{busy_[*found]} * threads_[rank]) {
        found = rank;
      }
    }
    return found;
  }

  // What each thread does: a run that is ready, else the next data, else wait for whoever reads some or deals.
  void work() {
    std::unique_lock lock(mutex_);
    while (!stopping()) {
      if (!ready_.empty() && freest() == 0u) {
        do_next_run(lock);
      } else if (ready_.empty() && next_batch_ < batches_.size()) {
        read_next_batch(lock);
      } else if (!ready_.empty() || !all_read()) {
        changed_.wait(lock);
      } else {
        break;
      }
    }
  }

  // Where there are other ranks, one more thread reads data as soon as one of them would have to wait for these.
  void read_ahead() {
    std::unique_lock lock(mutex_);
    while (!stopping() && next_batch_ < batches_.size()) {
      if (ready_.empty() && reading_ == 0 && freest()) {
        read_next_batch(lock);
      } else {
        changed_.wait(lock);
      }
    }
  }

  void do_next_run(std::unique_lock<std::mutex>& lock) {
    const std::size_t run = ready_.front();
    ready_.erase(ready_.begin());
    const std::shared_ptr<const FederatedData> data = batches_[jobs_[run].batch].data;
    begun(run);
    on_a_core(lock, [&] { return do_run(run, data); });
  }

  void read_next_batch(std::unique_lock<std::mutex>& lock) {
    const std::size_t batch = next_batch_++;
    ++reading_;
    std::vector<std::size_t> ready;
    on_a_core(lock, [&] { return prepare(batch, ready); });
    --reading_;
    ready_.insert(ready_.end(), ready.begin(), ready.end());
    batches_[batch].to_begin = ready.size();
    if (ready.empty()) batches_[batch].data.reset();
    changed_.notify_all();
  }

  template <typename Work>
  void on_a_core(std::unique_lock<std::mutex>& lock, const Work& work) {
    ++busy_[0];
    lock.unlock();
    spare_.begin();
    Status status = work();
    spare_.end();
    lock.lock();
    --busy_[0];
    if (!status) fail(std::move(status).error());
    changed_.notify_all();
  }

  // The first error ends the sweep.
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
    stop_ = true;
  }

  // What the calling thread does where there are other ranks: gives them runs, and hears what becomes of these.
  void deal() {
    Patience patience;
    while (!ranks_->over()) {
      std::unique_lock lock(mutex_);
      if (stopping()) {
        stop_ = true;
        changed_.notify_all();
      } else {
        give_runs();
      }
      for (const std::size_t batch : std::exchange(all_begun_, {})) ranks_->forget(batch);
      if (stop_ || (ready_.empty() && all_read() && ranks_->all_ended())) ranks_->end();
      lock.unlock();
      Result<std::optional<RankSweep::Heard>> heard = ranks_->hear();
      lock.lock();
      if (!heard) {
        fail(std::move(heard).error());
        changed_.notify_all();
        return;
      }
      if (*heard) {
        lock.unlock();
        std::visit([this](auto& word) { take(word); }, **heard);
        patience.moved();
      } else {
        changed_.wait_for(lock, patience.next(*options_.ranks, Patience::Crew::kBusy));
      }
    }
  }

  // With mutex_ held.
  void give_runs() {
    while (!ready_.empty()) {
      const std::optional<std::uint32_t> rank = freest();
      if (!rank || *rank == 0) return;
      const std::size_t run = ready_.front();
      ready_.erase(ready_.begin());
      const Job& job = jobs_[run];
      ranks_->give(*rank, run, job.batch, whole_run(run, job.settled));
      ++busy_[*rank];
      begun(run);
      changed_.notify_all();
    }
  }

  void take(const RankSweep::Rounds& rounds) {
    progress_.round(rounds.run, rounds.first);
    progress_.round(rounds.run, rounds.last);
  }
  void take(const RankSweep::Note& note) { say(note.text); }
  void take(RankSweep::Ended& ended) {
    Status status;
    if (!ended.folder) {
      status = std::move(ended.folder).error();
    } else if (*ended.folder) {
      const std::filesystem::path folder = options_.out / **ended.folder;
      // A network file system may remember that a file was not there; not once its folder has been listed.
      std::error_code ignored;
      for (std::filesystem::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
      }
      status = finish(ended.run, folder);
    }
    status = within(ended.run, std::move(status));
    const std::lock_guard lock(mutex_);
    --busy_[ended.rank];
    if (!status) fail(std::move(status).error());
    changed_.notify_all();
  }

  // Reads the data of a batch, settles its recipes, and finds what is done already; the rest is ready.
  Status prepare(std::size_t number, std::vector<std::size_t>& ready) {
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
    for (const std::size_t run : batch.runs) {
      if (jobs_[run].same_as != run) {
        progress_.done(run, false);
      } else if (!find_finished(run)) {
        ready.push_back(run);
      }
    }
    std::ranges::stable_sort(ready, std::greater(), [&](std::size_t run) { return jobs_[run].work; });
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
        jobs_[run].resumable.push_back(folder.filename().string());
      }
    }
    return false;
  }

  // With mutex_ held.
  void begun(std::size_t run) {
    const std::size_t number = jobs_[run].batch;
    if (--batches_[number].to_begin > 0) return;
    batches_[number].data.reset();
    all_begun_.push_back(number);
  }

  void finish(std::size_t run, RunCurve curve, bool now) {
    progress_.done(run, now);
    const std::lock_guard lock(mutex_);
    result_.runs[run] = std::move(curve);
    result_.ran += now ? 1 : 0;
  }

  // The same for a run that this sweep has made.
  Status finish(std::size_t run, const std::filesystem::path& folder) {
    MUSTER_ASSIGN(std::optional<RunCurve> curve, read_run_curve(folder));
    if (!curve) return failure("{}: the run is over, but its summary cannot be seen from here", folder.string());
    finish(run, std::move(*curve), true);
    return {};
  }

  Status do_run(std::size_t run, std::shared_ptr<const FederatedData> data) {
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
    options.data = std::move(data);
    MUSTER_ASSIGN(const std::optional<std::filesystem::path> folder,
                  within(run, do_whole_run(whole_run(run, runs_[run].recipe), std::move(options),
                                           [this](const std::string& note) { say(note); })));
    return folder ? within(run, finish(run, *folder)) : Status();
  }

  [[nodiscard]] WholeRun whole_run(std::size_t run, const Recipe& recipe) const {
    return {.recipe = recipe,
            .name = folder_name(runs_[run], recipe_hash(jobs_[run].settled)),
            .resumable = jobs_[run].resumable};
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
  RankSweep* const ranks_;  // used by the calling thread
  const std::uint32_t cores_;
  SpareCores spare_;
  const KnownRuns known_;
  SweepProgress progress_;
  std::atomic<bool> stop_{false};
  std::mutex say_mutex_;
  std::set<std::string> said_;  // guarded by say_mutex_

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::vector<std::uint32_t> threads_;  // of each rank; of one where there is no other
  std::vector<std::uint32_t> busy_;           // that many of them; guarded by mutex_
  std::vector<Job> jobs_;                     // each belongs to whoever prepares its batch, then to whoever runs it
  std::vector<Batch> batches_;                // `data` and `to_begin` guarded by mutex_ once prepared
  std::size_t next_batch_ = 0;                // guarded by mutex_
  std::uint32_t reading_ = 0;                 // threads that read data, guarded by mutex_
  std::vector<std::size_t> ready_;            // guarded by mutex_
  std::vector<std::size_t> all_begun_;        // batches whose data other ranks need not keep; guarded by mutex_
  std::optional<Error> error_;                // the first, guarded by mutex_
  SweepResult result_;                        // guarded by mutex_
};

}  // namespace

Result<SweepResult> run_sweep(std::span<const SweepRun> runs, const SweepOptions& options) {
  std::optional<RankSweep> ranks;
  if (options.ranks && options.ranks->size() > 1) {
    MUSTER_TRY(ranks.emplace(*options.ranks).begin(options.out, options.threads));
  }
  return Sweep(runs, options, ranks ? &*ranks : nullptr).run();
}

}  // namespace muster
