#include "store/run_index.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "recipe/recipe_text.h"
#include "store/run_files.h"

namespace muster {
namespace {

constexpr std::uint64_t kMostRecipeBytes = std::uint64_t{1} << 20;
constexpr double kLongestTransactionS = 0.25;  // others wait for it

// How far a file that grows by lines has been read, and the last line that was, by its length and hash: where that line
// stands no more, the file is another.
struct ReadSoFar {
  std::uint64_t bytes = 0;
  std::string last;
};

std::string mark_of(std::string_view line) {
  return fmt::format("{}:{}", line.size(), hex16(hash_bytes(line.data(), line.size())));
}

bool continues(const std::filesystem::path& file, const FileStamp& before, const FileStamp& now,
               const ReadSoFar& so_far) {
  if (so_far.bytes == 0 || before.inode != now.inode || now.bytes < so_far.bytes) return false;
  std::uint64_t length = 0;
  std::from_chars(so_far.last.data(), so_far.last.data() + so_far.last.size(), length);
  if (length + 1 > so_far.bytes) return false;
  bool same = false;
  bool first = true;
  const auto end = read_lines(file, so_far.bytes - length - 1, [&](std::string_view line, std::uint64_t) {
    if (std::exchange(first, false)) same = mark_of(line) == so_far.last;
  });
  return end && same;
}

// What the row of a run remembers of its folder.
struct KnownRun {
  std::int64_t number = 0;
  std::int64_t generation = 0;
  RunStamps stamps;
  ReadSoFar rounds;
  ReadSoFar groups;
};

// Binds the values in order, from the first on.
class Binder {
 public:
  explicit Binder(SQLite::Statement& statement) : statement_(statement) {}
  Binder& operator<<(std::int64_t value) { return statement_.bind(++index_, value), *this; }
  Binder& operator<<(std::uint64_t value) { return *this << static_cast<std::int64_t>(value); }
  Binder& operator<<(std::uint32_t value) { return statement_.bind(++index_, value), *this; }
  Binder& operator<<(double value) { return statement_.bind(++index_, value), *this; }
  Binder& operator<<(const std::string& value) { return statement_.bind(++index_, value), *this; }
  template <typename T>
  Binder& operator<<(const std::optional<T>& value) {
    if (value) return *this << *value;
    return statement_.bind(++index_), *this;  // NULL
  }
  void run() {
    statement_.exec();
    statement_.reset();
  }

 private:
  SQLite::Statement& statement_;
  int index_ = 0;
};

// Reads one folder into the tables, within a transaction of the caller's. Database errors are thrown.
class RunReader {
 public:
  RunReader(SQLite::Database& database, std::filesystem::path folder, std::int64_t sequence)
      : database_(database), folder_(std::move(folder)), id_(folder_.filename().string()), sequence_(sequence) {}

  void read(Look look) {
    const RunStamps stamps = stamps_of(folder_);
    std::optional<KnownRun> known = known_run(look);
    number_ = known ? known->number : new_number();
    const bool anew = !known || known->stamps == RunStamps{};
    if (!known) known.emplace();
    if (anew || !(stamps.recipe == known->stamps.recipe)) read_recipe();
    const bool more_rounds =
        !anew && continues(folder_ / "rounds.jsonl", known->stamps.rounds, stamps.rounds, known->rounds);
    const bool took_back = !more_rounds && known->rounds.bytes > 0;
    read_rounds(stamps.rounds, more_rounds ? known->rounds : ReadSoFar{});
    read_groups(stamps.groups,
                !anew && continues(folder_ / "groups.jsonl", known->stamps.groups, stamps.groups, known->groups)
                    ? known->groups
                    : ReadSoFar{});
    if (anew || !(stamps.clients == known->stamps.clients)) read_clients(stamps.clients);
    read_tags_of_run();
    write_row(stamps, known->generation + (took_back ? 1 : 0));
  }

 private:
  // Where something was wrong with the folder, or all is to be read afresh, nothing of it counts as read.
  std::optional<KnownRun> known_run(Look look) {
    SQLite::Statement row(database_,
                          "SELECT number, generation, stamps, rounds_read, rounds_last, groups_read, groups_last, "
                          "fault, recipe, seed, rounds_planned FROM run WHERE id = ?");
    row.bind(1, id_);
    if (!row.executeStep()) return std::nullopt;
    KnownRun known{.number = row.getColumn(0).getInt64(), .generation = row.getColumn(1).getInt64()};
    recipe_ = row.getColumn(8).getString();
    seed_ = row.getColumn(9).getInt64();
    planned_ = row.getColumn(10).getUInt();
    const ReadSoFar rounds{static_cast<std::uint64_t>(row.getColumn(3).getInt64()), row.getColumn(4).getString()};
    const auto stamps = parse_stamps(row.getColumn(2).getString());
    if (look == Look::kAfresh || !stamps || row.getColumn(7).getBytes() > 0) {
      known.rounds = {rounds.bytes, ""};  // whether there were any
      return known;
    }
    known.stamps = *stamps;
    known.rounds = rounds;
    known.groups = {static_cast<std::uint64_t>(row.getColumn(5).getInt64()), row.getColumn(6).getString()};
    return known;
  }

  std::int64_t new_number() {
    SQLite::Statement forget(database_, "DELETE FROM gone WHERE id = ?");
    forget.bind(1, id_);
    forget.exec();
    return database_.execAndGet("SELECT coalesce(max(number), 0) + 1 FROM run").getInt64();
  }

  void fault(const std::string& what) {
    if (fault_.empty()) fault_ = what;
  }

  void forget(const char* table) {
    SQLite::Statement statement(database_, fmt::format("DELETE FROM {} WHERE run = ?", table));
    statement.bind(1, number_);
    statement.exec();
  }

  void read_recipe() {
    forget("recipe_key");
    const auto bytes = read_file(folder_ / "recipe.toml", kMostRecipeBytes);
    if (!bytes) return fault(bytes.error().message);
    const auto keys = recipe_keys_of({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
    if (!keys) return fault("recipe.toml: " + keys.error().message);
    SQLite::Statement insert(database_, "INSERT INTO recipe_key VALUES (?, ?, ?)");
    for (const auto& [key, value] : *keys) (Binder(insert) << number_ << key << value).run();
    const auto text = [&](const char* key) {
      const auto found = keys->find(key);
      return found == keys->end() ? std::string() : found->second;
    };
    const auto number = [&](const char* key) {
      std::uint64_t value = 0;
      const std::string digits = text(key);
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
      return value;
    };
    recipe_ = text("name");
    seed_ = static_cast<std::int64_t>(number("seed"));
    planned_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(number("rounds"), UINT32_MAX));
  }

  // Lines from where the file was left; `take` says whether it is what it should be.
  template <typename Take>
  ReadSoFar read_file_of_lines(const char* file, const FileStamp& stamp, ReadSoFar so_far, const Take& take) {
    if (!stamp.there()) return {};
    std::string last;
    const auto end = read_lines(folder_ / file, so_far.bytes, [&](std::string_view line, std::uint64_t offset) {
      last = mark_of(line);
      if (!take(line, offset)) fault(fmt::format("{}: not the record of a round at byte {}", file, offset));
    });
    if (!end) {
      fault(end.error().message);
      return so_far;
    }
    if (last.empty()) return so_far;
    return {*end, last};
  }

  void read_rounds(const FileStamp& stamp, const ReadSoFar& so_far) {
    if (so_far.bytes == 0) forget("round");
    std::uint64_t total = 0;
    if (so_far.bytes > 0) {
      SQLite::Statement last(database_, "SELECT bytes_total FROM round WHERE run = ? ORDER BY round DESC LIMIT 1");
      last.bind(1, number_);
      if (last.executeStep()) total = static_cast<std::uint64_t>(last.getColumn(0).getInt64());
    }
    SQLite::Statement insert(
        database_, "INSERT OR REPLACE INTO round VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    rounds_ = read_file_of_lines("rounds.jsonl", stamp, so_far, [&](std::string_view line, std::uint64_t) {
      const std::optional<StoredRound> r = parse_round(line);
      if (!r) return false;
      total += r->bytes_up + r->bytes_down;
      (Binder(insert) << number_ << r->round << r->accuracy << r->loss << r->train_loss << r->client_accuracy
                      << r->validation_accuracy << r->participants << r->dropped << r->groups << r->idle << r->models
                      << r->bytes_up << r->bytes_down << total << r->cost_s << r->cost_total_s << r->wall_s)
          .run();
      return true;
    });
  }

  void read_groups(const FileStamp& stamp, const ReadSoFar& so_far) {
    if (so_far.bytes == 0) forget("grouping");
    SQLite::Statement count(database_, "SELECT count(*) FROM grouping WHERE run = ?");
    count.bind(1, number_);
    count.executeStep();
    std::int64_t place = count.getColumn(0).getInt64();
    SQLite::Statement insert(database_, "INSERT INTO grouping VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    groups_ = read_file_of_lines("groups.jsonl", stamp, so_far, [&](std::string_view line, std::uint64_t offset) {
      const std::optional<StoredGrouping> g = parse_grouping(line);
      if (!g) return false;
      (Binder(insert) << number_ << place++ << g->round << g->method << g->why << g->groups << g->idle << g->cov_mean
                      << g->cpd_median << nlohmann::json(g->sizes).dump() << offset << g->bytes)
          .run();
      return true;
    });
  }

  void read_clients(const FileStamp& stamp) {
    forget("client");
    if (!stamp.there()) return;
    std::vector<StoredClient> clients;
    std::string record;  // a name may hold line ends, in quotes
    bool head = true;
    bool whole = true;
    const auto end = read_lines(folder_ / "clients.csv", 0, [&](std::string_view line, std::uint64_t) {
      if (std::exchange(head, false) || clients.size() > kMostStoredClients) return;
      record += line;
      if (std::ranges::count(record, '"') % 2 != 0) {
        record += '\n';
        return;
      }
      if (const auto client = parse_client(record)) {
        clients.push_back(*client);
      } else {
        whole = false;
      }
      record.clear();
    });
    if (!end) return fault(end.error().message);
    if (!whole || !record.empty()) fault("clients.csv: not a table of clients");
    if (clients.size() > kMostStoredClients) return;
    SQLite::Statement insert(database_, "INSERT OR REPLACE INTO client VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const StoredClient& c : clients) {
      (Binder(insert) << number_ << c.client << c.name << c.samples << c.group << c.trained << c.dropped << c.accuracy
                      << c.test_samples)
          .run();
    }
  }

  void read_tags_of_run() {
    forget("tag");
    SQLite::Statement insert(database_, "INSERT INTO tag VALUES (?, ?)");
    for (const std::string& word : read_tags(folder_ / "tags")) (Binder(insert) << number_ << word).run();
  }

  // What the rounds tell of a run that has not stopped.
  SummaryFigures figures_of_rounds(std::uint64_t& bytes, double& cost_s) {
    SummaryFigures figures;
    SQLite::Statement last(
        database_, "SELECT round, bytes_total, cost_total_s FROM round WHERE run = ? ORDER BY round DESC LIMIT 1");
    last.bind(1, number_);
    if (!last.executeStep()) return figures;
    figures.rounds = last.getColumn(0).getUInt();
    bytes = static_cast<std::uint64_t>(last.getColumn(1).getInt64());
    cost_s = last.getColumn(2).getDouble();
    SQLite::Statement sum(database_, "SELECT total(wall_s) FROM round WHERE run = ?");
    sum.bind(1, number_);
    if (sum.executeStep()) figures.wall_s = sum.getColumn(0).getDouble();
    SQLite::Statement evaluated(database_,
                                "SELECT accuracy, loss FROM round WHERE run = ? AND accuracy IS NOT NULL "
                                "ORDER BY round DESC LIMIT 1");
    evaluated.bind(1, number_);
    if (evaluated.executeStep()) {
      figures.accuracy_last = evaluated.getColumn(0).getDouble();
      if (!evaluated.getColumn(1).isNull()) figures.loss_last = evaluated.getColumn(1).getDouble();
    }
    SQLite::Statement best(database_,
                           "SELECT accuracy, round FROM round WHERE run = ? AND accuracy IS NOT NULL "
                           "ORDER BY accuracy DESC, round LIMIT 1");
    best.bind(1, number_);
    if (best.executeStep()) {
      figures.accuracy_best = best.getColumn(0).getDouble();
      figures.best_round = best.getColumn(1).getUInt();
    }
    SQLite::Statement formed(database_,
                             "SELECT groups FROM grouping WHERE run = ? AND groups > 0 ORDER BY place DESC LIMIT 1");
    formed.bind(1, number_);
    if (formed.executeStep()) figures.groups = formed.getColumn(0).getUInt();
    return figures;
  }

  void write_row(const RunStamps& stamps, std::int64_t generation) {
    std::uint64_t bytes = 0;
    double cost_s = 0;
    SummaryFigures figures = figures_of_rounds(bytes, cost_s);
    if (stamps.summary.there()) {
      auto told = read_summary_figures(folder_ / "summary.json");
      if (!told) fault("summary.json: not the summary of a run");
      // Of a run that was resumed it tells of the rounds before.
      if (told && told->rounds == figures.rounds) figures = std::move(*told);
    }
    const std::int64_t changed_ns =
        std::max({stamps.recipe.modified_ns, stamps.rounds.modified_ns, stamps.summary.modified_ns});
    SQLite::Statement insert(
        database_,
        "INSERT OR REPLACE INTO run (number, id, recipe, seed, stopped, signature, rounds, rounds_planned, "
        "accuracy_last, accuracy_best, best_round, loss_last, clients, groups, bytes, cost_s, wall_s, begun_s, "
        "changed_s, data, deployed, fault, summary, sequence, generation, stamps, rounds_read, rounds_last, "
        "groups_read, groups_last) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
        "?, ?, ?, ?, ?)");
    (Binder(insert) << number_ << id_ << recipe_ << seed_ << figures.stopped << figures.signature << figures.rounds
                    << planned_ << figures.accuracy_last << figures.accuracy_best << figures.best_round
                    << figures.loss_last << figures.clients << figures.groups << bytes << cost_s << figures.wall_s
                    << begun_at(folder_, stamps.recipe) << changed_ns / 1'000'000'000 << figures.data
                    << std::uint32_t{stamps.ledger.there()} << fault_ << figures.text << sequence_ << generation
                    << to_text(stamps) << rounds_.bytes << rounds_.last << groups_.bytes << groups_.last)
        .run();
  }

  SQLite::Database& database_;
  const std::filesystem::path folder_;
  const std::string id_;
  const std::int64_t sequence_;
  std::int64_t number_ = 0;
  std::string recipe_;
  std::int64_t seed_ = 0;
  std::uint32_t planned_ = 0;
  std::string fault_;
  ReadSoFar rounds_;
  ReadSoFar groups_;
};

std::int64_t next_sequence(SQLite::Database& database) {
  database.exec("UPDATE counter SET sequence = sequence + 1");
  return database.execAndGet("SELECT sequence FROM counter").getInt64();
}

void forget_run(SQLite::Database& database, const std::string& id) {
  SQLite::Statement find(database, "SELECT number FROM run WHERE id = ?");
  find.bind(1, id);
  if (!find.executeStep()) return;
  const std::int64_t number = find.getColumn(0).getInt64();
  find.reset();
  for (const char* table : {"recipe_key", "round", "grouping", "client", "tag"}) {
    SQLite::Statement rows(database, fmt::format("DELETE FROM {} WHERE run = ?", table));
    rows.bind(1, number);
    rows.exec();
  }
  SQLite::Statement row(database, "DELETE FROM run WHERE number = ?");
  row.bind(1, number);
  row.exec();
  SQLite::Statement gone(database, "INSERT OR REPLACE INTO gone VALUES (?, ?)");
  (Binder(gone) << id << next_sequence(database)).run();
}

bool is_run(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / "recipe.toml", ignored);
}

struct KnownFolder {
  RunStamps stamps;
  bool over = false;
};

std::map<std::string, KnownFolder> known_folders(SQLite::Database& database) {
  std::map<std::string, KnownFolder> known;
  SQLite::Statement rows(database, "SELECT id, stamps, stopped FROM run");
  while (rows.executeStep()) {
    const std::string stopped = rows.getColumn(2).getString();
    known[rows.getColumn(0).getString()] = {.stamps = parse_stamps(rows.getColumn(1).getString()).value_or(RunStamps{}),
                                            .over = !stopped.empty() && stopped != "interrupted"};
  }
  return known;
}

bool may_have_changed(const std::filesystem::path& folder, const KnownFolder& known, Look look) {
  if (look == Look::kAfresh) return true;
  if (look == Look::kQuick && known.over && stamp_of(folder) == known.stamps.folder) return false;
  return !(stamps_of(folder) == known.stamps);
}

struct Differences {
  std::vector<std::string> changed;
  std::vector<std::string> gone;
  std::uint32_t runs = 0;
};

Result<Differences> differences(SQLite::Database& database, const std::filesystem::path& out, Look look) {
  std::map<std::string, KnownFolder> known = known_folders(database);
  Differences found;
  std::error_code error;
  std::filesystem::directory_iterator entry(out, error);
  for (const std::filesystem::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const std::string id = entry->path().filename().string();
    const auto row = known.find(id);
    if (row == known.end()) {
      if (!is_run(entry->path())) continue;
      found.changed.push_back(id);
    } else {
      const bool changed = may_have_changed(entry->path(), row->second, look);
      if (changed && !is_run(entry->path())) continue;  // its row stays in `known`, which then is of none
      if (changed) found.changed.push_back(id);
      known.erase(row);
    }
    ++found.runs;
  }
  if (error) return failure("{}: cannot read: {}", out.string(), error.message());
  for (const auto& [id, ignored] : known) found.gone.push_back(id);
  std::ranges::sort(found.changed);
  return found;
}

}  // namespace

Result<StoreUpdate> refresh_runs(StoreFile& file, const std::filesystem::path& out, Look look) {
  SQLite::Database& database = file.database();
  MUSTER_ASSIGN(const Result<Differences> looked, file.attempt([&] { return differences(database, out, look); }));
  if (!looked) return looked.error();
  MUSTER_TRY(file.attempt([&] {
    // A few at a time, so that others need not wait for long.
    std::optional<SQLite::Transaction> transaction;
    double begun_s = 0;
    const auto within = [&](const auto& work) {
      if (!transaction) {
        begun_s = now_s();
        transaction.emplace(database, SQLite::TransactionBehavior::IMMEDIATE);
      }
      work();
      if (now_s() - begun_s < kLongestTransactionS) return;
      file.commit(*transaction);
      transaction.reset();
    };
    for (const std::string& id : looked->gone) within([&] { forget_run(database, id); });
    for (const std::string& id : looked->changed) {
      within([&] { RunReader(database, out / id, next_sequence(database)).read(look); });
    }
    if (transaction) file.commit(*transaction);
    return 0;
  }));
  return StoreUpdate{.runs = looked->runs,
                     .changed = static_cast<std::uint32_t>(looked->changed.size()),
                     .gone = static_cast<std::uint32_t>(looked->gone.size())};
}

Status update_run(StoreFile& file, const std::filesystem::path& out, const std::string& id, Look look,
                  const std::function<Status()>& first) {
  SQLite::Database& database = file.database();
  MUSTER_ASSIGN(const Status updated, file.attempt([&]() -> Status {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    if (first) MUSTER_TRY(first());
    if (is_run(out / id)) {
      RunReader(database, out / id, next_sequence(database)).read(look);
    } else {
      forget_run(database, id);
    }
    file.commit(transaction);
    return {};
  }));
  return updated;
}

}  // namespace muster
