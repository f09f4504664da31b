#include "engine/rank_sweep.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/isa.h"
#include "engine/rank_run.h"
#include "ranks/messages.h"
#include "ranks/patience.h"
#include "train/spare_cores.h"

namespace muster {
namespace {

// How often a rank tells of rounds. Rounds may take less than a millisecond.
constexpr std::chrono::milliseconds kTellRounds{50};
constexpr std::uint64_t kMostMarkBytes = 4096;

// A file that rank 0 leaves in a folder for the others to find, until the object is gone.
class Mark {
 public:
  static Result<Mark> leave(const std::filesystem::path& folder) {
    MUSTER_TRY(make_folder(folder));
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    Mark mark(folder / fmt::format(".ranks-{}-{}-{}", host, ::getpid(), now));
    MUSTER_TRY(write_file(mark.file_, mark.name()));
    return mark;
  }
  // Its content is its name.
  static bool is_in(const std::filesystem::path& folder, const std::string& name) {
    const auto bytes = read_file(folder / name, kMostMarkBytes);
    return bytes && std::string(bytes->begin(), bytes->end()) == name;
  }

  ~Mark() {
    std::error_code ignored;
    if (!file_.empty()) std::filesystem::remove(file_, ignored);
  }
  Mark(Mark&& other) noexcept : file_(std::exchange(other.file_, {})) {}
  Mark& operator=(Mark&&) = delete;

  std::string name() const { return file_.filename().string(); }

 private:
  explicit Mark(std::filesystem::path file) : file_(std::move(file)) {}
  std::filesystem::path file_;
};

Parcel ended_parcel(std::uint64_t run, const Result<std::optional<std::filesystem::path>>& folder) {
  ParcelWriter out;
  out.put(Message::kEnded);
  out.put(run);
  out.put(static_cast<std::uint8_t>(folder.ok()));
  if (folder) {
    out.put_text(*folder ? (*folder)->filename().string() : std::string());
  } else {
    put_error(folder.error(), out);
  }
  return std::move(out).finish();
}

Result<std::optional<std::string>> take_outcome(ParcelReader& in) {
  if (!in.take_flag()) return take_error(in);
  std::string folder = in.take_text();
  return folder.empty() ? std::optional<std::string>() : std::optional(std::move(folder));
}

// A sweep, as one of the ranks that do its runs. One thread speaks with rank 0, the others run.
class ServedSweep {
 public:
  explicit ServedSweep(Ranks& ranks) : ranks_(ranks) {}
  ~ServedSweep() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    asked_.notify_all();
    for (std::thread& worker : crew_) worker.join();
  }
  ServedSweep(const ServedSweep&) = delete;
  ServedSweep& operator=(const ServedSweep&) = delete;

  Status begin(ParcelReader& in) {
    const auto threads = in.take<std::uint32_t>();
    const std::string isa = in.take_text();
    out_ = in.take_text();
    const std::string mark = in.take_text();
    MUSTER_TRY(in.finish("a sweep"));
    MUSTER_TRY(use_isa_named(isa));
    if (!Mark::is_in(out_, mark)) {
      return failure("--out {}: not the folder that rank 0 sees; all machines must share it", out_.string());
    }
    threads_ = rank_threads(ranks_, threads);
    spare_.emplace(threads_);
    for (std::uint32_t i = 0; i < threads_; ++i) crew_.emplace_back([this] { work(); });
    ParcelWriter ready;
    ready.put(Message::kReady);
    ready.put(threads_);
    ready.put_text("");
    ranks_.send(0, std::move(ready).finish());
    return {};
  }

  // Returns when rank 0 has said that it is over, or is gone, and all runs have ended.
  void serve() {
    Patience patience;
    while (true) {
      bool moved = false;
      while (std::optional<Ranks::Arrived> arrived = ranks_.receive()) {
        hear(std::move(arrived->parcel));
        moved = true;
      }
      if (ranks_.lost()) end();
      tell();
      if (moved) patience.moved();
      const std::chrono::microseconds nap = patience.next(ranks_, Patience::Crew::kBusy);
      std::unique_lock lock(mutex_);
      if (over_ && busy_ == 0 && queue_.empty() && told_.empty()) return;
      if (ended_.wait_for(lock, nap, [&] { return !told_.empty(); })) patience.moved();
    }
  }

 private:
  // What runs of a batch share. The first of them reads it, while the others wait.
  struct Batch {
    std::mutex mutex;
    std::shared_ptr<const FederatedData> data;  // guarded by mutex
  };
  struct Given {
    std::uint64_t number = 0;
    std::shared_ptr<Batch> batch;
    WholeRun run;
  };
  struct Rounds {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };

  void hear(Parcel parcel) {
    ParcelReader in(std::move(parcel));
    const auto message = in.take_below<Message>(kMessages);
    Status status;
    if (!in.failed() && message == Message::kOver) {
      end();
    } else if (!in.failed() && message == Message::kSimulate) {
      status = take_run(in);
    } else if (!in.failed() && message == Message::kForget) {
      const std::lock_guard lock(mutex_);
      batches_.erase(in.take<std::uint64_t>());
    } else {
      status = failure("rank 0 said something that is not understood");
    }
    if (!status) ranks_.send(0, failed_parcel(status.error()));
  }

  Status take_run(ParcelReader& in) {
    Given given;
    given.number = in.take<std::uint64_t>();
    const auto batch = in.take<std::uint64_t>();
    const std::string recipe = in.take_text();
    given.run.name = in.take_text();
    given.run.resumable.resize(in.take_count(sizeof(std::uint64_t)));
    for (std::string& folder : given.run.resumable) folder = in.take_text();
    MUSTER_TRY(in.finish("a run"));
    MUSTER_ASSIGN(given.run.recipe, parse_recipe(recipe, "rank 0"));
    {
      const std::lock_guard lock(mutex_);
      std::shared_ptr<Batch>& known = batches_[batch];
      if (!known) known = std::make_shared<Batch>();
      given.batch = known;
      queue_.push_back(std::move(given));
    }
    asked_.notify_one();
    return {};
  }

  // Runs that go on save; those that have not begun do not.
  void end() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    stop_ = true;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      asked_.wait(lock, [&] { return !queue_.empty() || quit_; });
      if (queue_.empty()) return;
      const Given given = std::move(queue_.front());
      queue_.pop_front();
      ++busy_;
      lock.unlock();
      spare_->begin();
      Parcel ended = ended_parcel(given.number, run(given));
      spare_->end();
      lock.lock();
      --busy_;
      told_.push_back(std::move(ended));
      ended_.notify_one();
    }
  }

  Result<std::optional<std::filesystem::path>> run(const Given& given) {
    SimulationOptions options;
    if (!stop_) {
      const Recipe& recipe = given.run.recipe;
      Batch& batch = *given.batch;
      const std::lock_guard lock(batch.mutex);
      if (!batch.data) {
        MUSTER_ASSIGN(batch.data, make_federated_data(recipe.data, recipe.data_seed.value_or(recipe.seed)));
      }
      options.data = batch.data;
    }
    if (stop_) return std::optional<std::filesystem::path>();
    options.threads = threads_;
    options.out = out_;
    options.quiet = true;
    options.interrupt = &stop_;
    options.spare = &*spare_;
    options.on_round = [this, number = given.number](std::uint32_t round) {
      if (round == 0) return;
      const std::lock_guard lock(mutex_);
      Rounds& made = rounds_.try_emplace(number, Rounds{.first = round}).first->second;
      made.last = round;
    };
    return do_whole_run(given.run, std::move(options), [this](const std::string& text) {
      ParcelWriter note;
      note.put(Message::kNote);
      note.put_text(text);
      const std::lock_guard lock(mutex_);
      told_.push_back(std::move(note).finish());
    });
  }

  // Sends what there is to be told: the rounds of a run before its end.
  void tell() {
    std::map<std::uint64_t, Rounds> rounds;
    std::deque<Parcel> told;
    {
      const std::lock_guard lock(mutex_);
      const auto now = std::chrono::steady_clock::now();
      if (told_.empty() && now - rounds_told_ < kTellRounds) return;
      rounds_told_ = now;
      rounds.swap(rounds_);
      told.swap(told_);
    }
    for (const auto& [run, made] : rounds) {
      ParcelWriter out;
      out.put(Message::kRounds);
      out.put(run);
      out.put(made.first);
      out.put(made.last);
      ranks_.send(0, std::move(out).finish());
    }
    for (Parcel& parcel : told) ranks_.send(0, std::move(parcel));
  }

  Ranks& ranks_;
  std::filesystem::path out_;
  std::uint32_t threads_ = 1;
  std::optional<SpareCores> spare_;
  std::atomic<bool> stop_{false};

  std::mutex mutex_;
  std::condition_variable asked_;                            // to run, or to end
  std::condition_variable ended_;                            // something is to be told
  std::deque<Given> queue_;                                  // guarded by mutex_
  std::map<std::uint64_t, std::shared_ptr<Batch>> batches_;  // guarded by mutex_
  std::map<std::uint64_t, Rounds> rounds_;                   // not told yet; guarded by mutex_
  std::deque<Parcel> told_;                                  // to be sent; guarded by mutex_
  std::chrono::steady_clock::time_point rounds_told_{};
  std::uint32_t busy_ = 0;  // threads at a run; guarded by mutex_
  bool over_ = false;       // guarded by mutex_
  bool quit_ = false;       // guarded by mutex_
  std::vector<std::thread> crew_;
};

}  // namespace

// Waits for the last word of each rank, so that none is taken for one of what comes next.
RankSweep::~RankSweep() {
  if (!begun_) return;
  end();
  while (left_ > 0) {
    Result<Ranks::Arrived> arrived = wait_for_parcel(ranks_);
    if (!arrived) return;
    ParcelReader in(std::move(arrived->parcel));
    if (in.take<Message>() == Message::kDone) --left_;
  }
}

Status RankSweep::begin(const std::filesystem::path& out, std::uint32_t threads) {
  MUSTER_ASSIGN(const Mark mark, Mark::leave(out));
  begun_ = true;
  left_ = ranks_.size() - 1;
  ParcelWriter said;
  said.put(Message::kSweep);
  said.put(threads);
  said.put_text(name(current_isa()));
  said.put_text(out.string());
  said.put_text(mark.name());
  tell_others(ranks_, said);
  std::vector<std::string> notes;
  MUSTER_ASSIGN(threads_, wait_until_ready(ranks_, threads, notes));
  return {};
}

void RankSweep::give(std::uint32_t rank, std::size_t number, std::size_t batch, const WholeRun& run) {
  ParcelWriter out;
  out.put(Message::kSimulate);
  out.put(std::uint64_t{number});
  out.put(std::uint64_t{batch});
  out.put_text(format_recipe(run.recipe));
  out.put_text(run.name);
  out.put(std::uint64_t{run.resumable.size()});
  for (const std::string& folder : run.resumable) out.put_text(folder);
  ranks_.send(rank, std::move(out).finish());
  given_[number] = rank;
  batches_at_[batch].insert(rank);
}

void RankSweep::forget(std::size_t batch) {
  for (const std::uint32_t rank : batches_at_[batch]) {
    ParcelWriter out;
    out.put(Message::kForget);
    out.put(std::uint64_t{batch});
    ranks_.send(rank, std::move(out).finish());
  }
  batches_at_.erase(batch);
}

Result<std::optional<RankSweep::Heard>> RankSweep::hear() {
  std::optional<Ranks::Arrived> arrived = ranks_.receive();
  if (!arrived) {
    if (const auto gone = ranks_.lost()) {
      return failure("{} has died, and the job with it; the same command goes on from the last checkpoints",
                     ranks_.name(*gone));
    }
    return std::optional<Heard>();
  }
  ParcelReader in(std::move(arrived->parcel));
  Result<std::optional<Heard>> heard = read(arrived->from, in);
  if (heard) {
    if (Status whole = in.finish("what it said"); !whole) heard = std::move(whole).error();
  }
  if (!heard) return std::move(heard).error().within(ranks_.name(arrived->from));
  return heard;
}

Result<std::optional<RankSweep::Heard>> RankSweep::read(std::uint32_t from, ParcelReader& in) {
  const auto message = in.take_below<Message>(kMessages);
  if (message == Message::kDone) {
    (void)in.take<std::uint64_t>();  // its own memory
    (void)in.take<std::uint64_t>();  // and its arenas
    left_ -= ended_ ? 1 : 0;
    return std::optional<Heard>();
  }
  if (message == Message::kNote) return std::optional<Heard>(Note{in.take_text()});
  if (message == Message::kFailed) return take_error(in);
  const std::size_t run = in.take<std::uint64_t>();
  const auto given = given_.find(run);
  if (given == given_.end() || given->second != from) in.fail();
  if (message == Message::kRounds) {
    Rounds rounds{.run = run, .first = in.take<std::uint32_t>()};
    rounds.last = in.take<std::uint32_t>();
    return std::optional<Heard>(rounds);
  }
  if (message != Message::kEnded) in.fail();
  Ended ended{.run = run, .rank = from, .folder = take_outcome(in)};
  if (!ended.folder) ended.folder = std::move(ended.folder).error().within(ranks_.name(from));
  if (!in.failed()) given_.erase(given);
  return std::optional<Heard>(std::move(ended));
}

void RankSweep::end() {
  if (std::exchange(ended_, true)) return;
  ParcelWriter out;
  out.put(Message::kOver);
  tell_others(ranks_, out);
}

Status serve_sweep(Ranks& ranks, ParcelReader& in) {
  ServedSweep sweep(ranks);
  MUSTER_TRY(sweep.begin(in));
  sweep.serve();
  return {};
}

}  // namespace muster
