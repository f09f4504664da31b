#include "web/run_shelf.h"

#include "base/clock.h"
#include "store/run_json.h"

namespace muster {
namespace {

constexpr double kFreshS = 0.4;

using Json = nlohmann::json;

template <typename T>
Json known(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Whether `path` and all that lies in it directly is below `out` itself.
bool stays_inside(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(std::filesystem::symlink_status(folder, error)) || error) return false;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->is_symlink(error)) return false;
  }
  return !error;
}

}  // namespace

Result<Store*> RunShelf::store() {
  if (store_ && store_->replaced()) store_.reset();
  if (!store_) {
    MUSTER_ASSIGN(store_, Store::open(out_));
    looked_s_ = -1;
  }
  if (looked_s_ < 0 || now_s() - looked_s_ > kFreshS) {
    MUSTER_TRY(store_->refresh(looked_s_ < 0 ? Look::kClose : Look::kQuick));
    looked_s_ = now_s();
  }
  return &*store_;
}

Result<StoreChanges> RunShelf::changes(std::uint64_t since) {
  std::error_code error;
  if (!std::filesystem::exists(out_, error)) return StoreChanges{};
  const std::lock_guard lock(mutex_);
  MUSTER_ASSIGN(Store* const opened, store());
  MUSTER_ASSIGN(StoreChanges found, opened->changes(since));
  if (found.sequence >= since) return found;
  return opened->changes(0);
}

Result<StoredRun> RunShelf::find(const std::string& id) {
  std::error_code error;
  if (!std::filesystem::exists(out_, error)) return usage_error("there are no runs yet");
  const std::lock_guard lock(mutex_);
  MUSTER_ASSIGN(Store* const opened, store());
  Result<StoredRun> found = opened->find(id);
  // A beginning of an id, or a path, is not enough here.
  if (!found || found->id != id) return usage_error("there is no such run");
  if (!stays_inside(out_ / id)) return usage_error("this run's folder holds links to elsewhere, and is not shown");
  found->dir = out_ / id;
  return found;
}

nlohmann::json row_json(const StoredRun& run) {
  return {{"run", run.id},
          {"recipe", run.recipe},
          {"seed", run.seed},
          {"condition", name(run.condition)},
          {"stopped", run.stopped},
          {"signature", run.signature},
          {"rounds", run.rounds},
          {"rounds_planned", run.rounds_planned},
          {"accuracy", known(run.accuracy_last)},
          {"best", known(run.accuracy_best)},
          {"best_round", run.best_round},
          {"loss", known(run.loss_last)},
          {"clients", known(run.clients)},
          {"groups", known(run.groups)},
          {"bytes", run.bytes},
          {"wall_s", run.wall_s},
          {"begun", utc_text(run.begun_s)},
          {"deployed", run.deployed},
          {"tags", run.tags},
          {"fault", run.fault}};
}

}  // namespace muster
