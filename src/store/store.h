// Store: all runs under one folder (`--out`) in one SQLite file beside them, to be listed, filtered and drawn without
// reading the folders again. The run folders stay the truth: everything here is read from them, and refresh() brings
// the store up to date with whatever they hold, whoever wrote it. The store can be deleted at any time.
//
// How a page follows runs as they go: `muster run` and the other commands refresh the store a few times a second
// (store_keeper.h). Ask changes(seen) about once a second, beginning with seen = 0: it names the runs that have changed
// since, and the number to ask with next. Of each, rounds(id, last) gives the rounds after the last one that is known;
// where `generation` is another than before, rounds were taken back (the run was resumed from an earlier checkpoint),
// so ask for all of them again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster {

enum class RunCondition {
  kRunning,     // a process has its lock
  kUnfinished,  // nobody works on it, and it was interrupted or its process has died; it can be resumed
  kOver,
};
[[nodiscard]] std::string_view name(RunCondition condition);

struct StoredRun {
  std::string id;             // its folder's name
  std::filesystem::path dir;  // its folder
  std::string recipe;         // its name
  std::uint64_t seed = 0;
  RunCondition condition = RunCondition::kUnfinished;
  std::string stopped;       // as in summary.json; "" = it has not stopped yet
  std::string signature;     // "" likewise
  std::uint32_t rounds = 0;  // recorded so far
  std::uint32_t rounds_planned = 0;
  std::optional<double> accuracy_last;
  std::optional<double> accuracy_best;
  std::uint32_t best_round = 0;  // 0 = there is none
  std::optional<double> loss_last;
  std::optional<std::uint32_t> clients;  // where that is known already
  std::optional<std::uint32_t> groups;   // at the end, or as last formed
  std::uint64_t bytes = 0;               // both ways, so far
  double cost_s = 0;                     // simulated, so far
  double wall_s = 0;                     // of its rounds so far, or of all of it once it has stopped
  std::int64_t begun_s = 0;              // since 1970
  std::int64_t changed_s = 0;            // the last round, or the summary
  std::string data;                      // in words; "" = it has not stopped yet
  bool deployed = false;                 // its clients were processes of their own
  std::vector<std::string> tags;         // ascending
  std::string fault;                     // what could not be read of its folder; "" = nothing
  std::string summary;                   // summary.json; "" = none, or of fewer rounds than are recorded
  std::uint64_t sequence = 0;            // of its last change in the store
  std::uint64_t generation = 0;          // of its rounds
};

struct StoredRound {
  std::uint32_t round = 0;
  std::optional<double> accuracy;
  std::optional<double> loss;
  std::optional<double> train_loss;
  std::optional<double> client_accuracy;
  std::optional<double> validation_accuracy;
  std::uint32_t participants = 0;
  std::uint32_t dropped = 0;
  std::uint32_t groups = 0;
  std::uint32_t idle = 0;
  std::uint32_t models = 0;
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::uint64_t bytes_total = 0;  // both ways, since the run began
  double cost_s = 0;              // simulated
  double cost_total_s = 0;
  double wall_s = 0;
};

// A line of groups.jsonl. Members and distances stay there: at `offset`, `bytes` long without the line's end.
struct StoredGrouping {
  std::uint32_t round = 0;
  std::string method;
  std::string why;
  std::uint32_t groups = 0;
  std::uint32_t idle = 0;
  std::optional<double> cov_mean;
  std::optional<double> cpd_median;
  std::vector<std::uint32_t> sizes;  // of the groups; empty where the line does not list them
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// A line of clients.csv.
struct StoredClient {
  std::uint32_t client = 0;
  std::string name;
  std::optional<std::uint64_t> samples;  // not where secure sums hide them
  std::optional<std::uint32_t> group;
  std::uint32_t trained = 0;
  std::uint32_t dropped = 0;
  std::optional<double> accuracy;
  std::optional<std::uint64_t> test_samples;  // likewise
};

// Runs of more clients keep these in clients.csv alone.
inline constexpr std::uint32_t kMostStoredClients = 10'000;

enum class RunOrder { kDate, kName, kRecipe, kSeed, kRounds, kAccuracy, kBest, kLoss, kBytes, kCost, kTime };
// The words that `--sort` takes, in the order of RunOrder.
[[nodiscard]] const std::vector<std::string>& run_orders();

// All that are given must hold.
struct RunFilter {
  std::string recipe;                   // its name
  std::string tag;                      // it has this one
  std::optional<std::int64_t> since_s;  // begun then or later
  std::string stopped;                  // as in summary.json, or "running" or "unfinished"
  std::vector<std::pair<std::string, std::string>>
      where;  // key of recipe.toml, value as recipe_value() has it; 3 is 3.0, too
  RunOrder order = RunOrder::kDate;
  bool reverse = false;     // else the newest first, the best first, and A before Z
  std::uint32_t limit = 0;  // 0 = all
};

struct StoreChanges {
  std::uint64_t sequence = 0;     // to ask with next
  std::vector<StoredRun> runs;    // that are new or have changed, in the order of their changes
  std::vector<std::string> gone;  // ids of runs whose folder is no longer there
};

struct StoreUpdate {
  std::uint32_t runs = 0;     // in the store now
  std::uint32_t changed = 0;  // were new or read again
  std::uint32_t gone = 0;
};

// How closely refresh() looks for what has changed.
enum class Look {
  kQuick,   // at runs that are not over, and at folders in which a file was made, replaced or removed
  kClose,   // at the sizes and times of all files
  kAfresh,  // all is read again
};

// Any number of processes may have a store open, and any number of threads may use one; they wait for each other. No
// call throws.
class Store {
 public:
  // The file in the folder, `out`/store.sqlite, which is made if it is not there. Where it cannot be written to, or is
  // broken, `why_not` says so in a sentence, and the store is in memory only: made from the folders, as good for
  // reading, and gone afterwards. Fails if there is no such folder.
  [[nodiscard]] static Result<Store> open(const std::filesystem::path& out, std::string* why_not = nullptr);
  // Only the file itself; fails where that cannot be written to. Makes the folder, too.
  [[nodiscard]] static Result<Store> open_file(const std::filesystem::path& out);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  // Reads what is new in the run folders. On failure the store is as it was.
  [[nodiscard]] Result<StoreUpdate> refresh(Look look = Look::kClose);
  // The same of one folder, all of it.
  [[nodiscard]] Status reindex(const std::string& id);

  [[nodiscard]] Result<std::vector<StoredRun>> list(const RunFilter& filter = {}) const;
  // By its id, an unambiguous beginning of it, or the path of its folder. A usage error if there is none, or several.
  [[nodiscard]] Result<StoredRun> find(const std::string& run) const;
  // Ascending; those after `after`.
  [[nodiscard]] Result<std::vector<StoredRound>> rounds(const std::string& id, std::uint32_t after = 0) const;
  [[nodiscard]] Result<std::vector<StoredGrouping>> groupings(const std::string& id) const;
  [[nodiscard]] Result<std::vector<StoredClient>> clients(const std::string& id) const;
  // "section.key" -> value as recipe_value() has it.
  [[nodiscard]] Result<std::map<std::string, std::string>> recipe(const std::string& id) const;
  [[nodiscard]] Result<StoreChanges> changes(std::uint64_t since) const;

  // Tags are kept in the run's folder, too. True if that changed anything. A usage error if the word can be no tag.
  [[nodiscard]] Result<bool> tag(const std::string& id, const std::string& word);
  [[nodiscard]] Result<bool> untag(const std::string& id, const std::string& word);
  // The run's folder and all that the store knows of it, for good. Fails if a process works on it, or if it is a link.
  [[nodiscard]] Status remove(const std::string& id);

  // Where the run folders are.
  [[nodiscard]] const std::filesystem::path& out() const;
  // Another file is where the one that was opened was: it was deleted, or replaced.
  [[nodiscard]] bool replaced() const;

 private:
  struct State;
  [[nodiscard]] Result<bool> change_tags(const std::string& id, const std::string& word, bool there);
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

inline constexpr const char* kStoreFile = "store.sqlite";

}  // namespace muster
