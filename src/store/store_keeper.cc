#include "store/store_keeper.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace muster {
namespace {

// Between two looks. A look that takes long, because there are many runs or long ones, is done less often: at most a
// hundredth of a core is for the store.
constexpr double kLeastPauseS = 0.3;
constexpr double kMostPauseS = 60;
constexpr double kPausePerLook = 100;

double thread_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

bool any_run(const std::filesystem::path& out) {
  std::error_code error;
  std::filesystem::directory_iterator entry(out, error);
  for (const std::filesystem::directory_iterator end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(entry->path() / "recipe.toml", ignored)) return true;
  }
  return false;
}

}  // namespace

StoreKeeper::StoreKeeper(std::filesystem::path out, std::function<void(const std::string&)> say)
    : out_(std::move(out)), say_(std::move(say)), thread_([this] { work(); }) {}

StoreKeeper::~StoreKeeper() {
  stop();
}

void StoreKeeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StoreKeeper::finish() {
  stop();
  const std::string complaint = std::exchange(complaint_, "");
  if (complaint.empty() || !say_) return;
  say_(fmt::format("note: {}; the runs are as they should be, and `muster runs` reads their folders", complaint));
}

void StoreKeeper::work() {
  std::unique_lock lock(mutex_);
  double pause_s = kLeastPauseS;
  while (true) {
    changed_.wait_for(lock, std::chrono::duration<double>(pause_s), [this] { return finished_; });
    const bool last = finished_;
    lock.unlock();
    const double begun_s = thread_seconds();
    look();
    const double took_s = thread_seconds() - begun_s;
    cpu_s_ += took_s;
    pause_s = std::clamp(kPausePerLook * took_s, kLeastPauseS, kMostPauseS);
    lock.lock();
    if (last) return;
  }
}

void StoreKeeper::look() {
  if (store_ && store_->replaced()) store_.reset();
  if (!store_ && !any_run(out_)) return;
  Status status;
  if (!store_) {
    Result<Store> opened = Store::open_file(out_);
    if (opened) {
      store_.emplace(std::move(opened).value());
    } else {
      status = std::move(opened).error();
    }
  }
  if (store_) {
    if (auto update = store_->refresh(Look::kQuick); !update) status = std::move(update).error();
  }
  if (!status && complaint_.empty()) complaint_ = status.error().message;
}

}  // namespace muster
