#include "store/store.h"

#include <algorithm>
#include <mutex>

#include "base/file.h"
#include "store/run_files.h"
#include "store/run_index.h"
#include "store/run_query.h"
#include "store/run_removal.h"
#include "store/store_file.h"

namespace muster {
namespace {

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// The id that a path means, if it is one of a folder under `out`.
std::string id_of_path(const std::string& run, const std::filesystem::path& out) {
  std::filesystem::path clean = std::filesystem::path(run).lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();
  std::error_code error;
  if (!std::filesystem::equivalent(clean.has_parent_path() ? clean.parent_path() : ".", out, error)) return "";
  return clean.filename().string();
}

}  // namespace

std::string_view name(RunCondition condition) {
  switch (condition) {
    case RunCondition::kRunning:
      return "running";
    case RunCondition::kUnfinished:
      return "unfinished";
    case RunCondition::kOver:
      return "over";
  }
  return "?";
}

struct Store::State {
  std::filesystem::path out;
  StoreFile file;
  std::mutex mutex;  // a transaction belongs to the connection, not to the thread that began it

  // One call at a time.
  template <typename Work>
  auto ask(const Work& work) {
    const std::lock_guard lock(mutex);
    return file.attempt([&] { return work(file.database()); });
  }
};

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open_file(const std::filesystem::path& out) {
  MUSTER_TRY(make_folder(out));
  MUSTER_ASSIGN(StoreFile file, StoreFile::open(out / kStoreFile));
  return Store(std::unique_ptr<State>(new State{.out = out, .file = std::move(file)}));
}

Result<Store> Store::open(const std::filesystem::path& out, std::string* why_not) {
  if (!is_folder(out)) return usage_error("{}: no such folder; want the folder that holds the runs", out.string());
  Result<Store> stored = open_file(out);
  if (stored) return stored;
  if (why_not) *why_not = stored.error().message;
  MUSTER_ASSIGN(StoreFile file, StoreFile::in_memory());
  Store store(std::unique_ptr<State>(new State{.out = out, .file = std::move(file)}));
  MUSTER_TRY(store.refresh(Look::kAfresh));
  return store;
}

Result<StoreUpdate> Store::refresh(Look look) {
  const std::lock_guard lock(state_->mutex);
  return refresh_runs(state_->file, state_->out, look);
}

Status Store::reindex(const std::string& id) {
  const std::lock_guard lock(state_->mutex);
  return update_run(state_->file, state_->out, id, Look::kAfresh);
}

Result<bool> Store::change_tags(const std::string& id, const std::string& word, bool there) {
  MUSTER_TRY(check_tag(word));
  MUSTER_ASSIGN(const StoredRun run, find(id));
  const std::filesystem::path file = run.dir / "tags";
  bool changed = false;
  const std::lock_guard lock(state_->mutex);
  // Others that tag wait meanwhile, so that no word is lost.
  MUSTER_TRY(update_run(state_->file, state_->out, run.id, Look::kClose, [&]() -> Status {
    std::vector<std::string> tags = read_tags(file);
    const auto place = std::ranges::lower_bound(tags, word);
    if ((place != tags.end() && *place == word) == there) return {};
    changed = true;
    if (there) {
      tags.insert(place, word);
    } else {
      tags.erase(place);
    }
    return write_tags(file, tags);
  }));
  return changed;
}

Result<bool> Store::tag(const std::string& id, const std::string& word) {
  return change_tags(id, word, true);
}

Result<bool> Store::untag(const std::string& id, const std::string& word) {
  return change_tags(id, word, false);
}

Status Store::remove(const std::string& id) {
  MUSTER_ASSIGN(const StoredRun run, find(id));
  MUSTER_TRY(remove_run(run.dir));
  const std::lock_guard lock(state_->mutex);
  return update_run(state_->file, state_->out, run.id, Look::kClose);
}

Result<std::vector<StoredRun>> Store::list(const RunFilter& filter) const {
  return state_->ask([&](SQLite::Database& database) { return query_runs(database, state_->out, filter); });
}

Result<StoredRun> Store::find(const std::string& run) const {
  const std::string named = id_of_path(run, state_->out);
  for (const std::string& id : {run, named}) {
    MUSTER_ASSIGN(std::optional<StoredRun> found,
                  state_->ask([&](SQLite::Database& database) { return query_run(database, state_->out, id); }));
    if (found) return std::move(*found);
  }
  MUSTER_ASSIGN(std::vector<std::string> ids, state_->ask(query_ids));
  std::erase_if(ids, [&](const std::string& id) { return run.empty() || !id.starts_with(run); });
  if (ids.size() == 1) return find(ids.front());
  if (ids.size() > 1) {
    return usage_error("{}: {} runs begin so, among them {} and {}; want more of the name", run, ids.size(),
                       ids.front(), ids.back());
  }
  return usage_error("{}: no run there; want a run's id, its beginning or its folder, of {}", run,
                     state_->out.string());
}

Result<std::vector<StoredRound>> Store::rounds(const std::string& id, std::uint32_t after) const {
  return state_->ask([&](SQLite::Database& database) { return query_rounds(database, id, after); });
}

Result<std::vector<StoredGrouping>> Store::groupings(const std::string& id) const {
  return state_->ask([&](SQLite::Database& database) { return query_groupings(database, id); });
}

Result<std::vector<StoredClient>> Store::clients(const std::string& id) const {
  return state_->ask([&](SQLite::Database& database) { return query_clients(database, id); });
}

Result<std::map<std::string, std::string>> Store::recipe(const std::string& id) const {
  return state_->ask([&](SQLite::Database& database) { return query_recipe(database, id); });
}

Result<StoreChanges> Store::changes(std::uint64_t since) const {
  return state_->ask([&](SQLite::Database& database) { return query_changes(database, state_->out, since); });
}

const std::filesystem::path& Store::out() const {
  return state_->out;
}

bool Store::replaced() const {
  return state_->file.replaced();
}

}  // namespace muster
