#include "store/run_query.h"

#include <sqlite3.h>

#include <nlohmann/json.hpp>

#include "record/lock_probe.h"

namespace muster {
namespace {

constexpr const char* kRunColumns =
    "number, id, recipe, seed, stopped, signature, rounds, rounds_planned, accuracy_last, accuracy_best, best_round, "
    "loss_last, clients, groups, bytes, cost_s, wall_s, begun_s, changed_s, data, deployed, fault, summary, sequence, "
    "generation";

// In the order of RunOrder. What is not known comes last either way.
constexpr const char* kOrders[] = {
    "begun_s DESC, id DESC",                       // date
    "id",                                          // name
    "recipe, seed, begun_s DESC, id",              // recipe
    "seed, recipe, begun_s DESC, id",              // seed
    "rounds DESC, begun_s DESC, id",               // rounds
    "accuracy_last DESC, begun_s DESC, id",        // accuracy
    "accuracy_best DESC, begun_s DESC, id",        // best
    "loss_last ASC NULLS LAST, begun_s DESC, id",  // loss
    "bytes, begun_s DESC, id",                     // bytes
    "cost_s, begun_s DESC, id",                    // cost
    "wall_s, begun_s DESC, id",                    // time
};

// The columns of a row, one after the other.
class Columns {
 public:
  explicit Columns(SQLite::Statement& row) : row_(row) {}
  Columns& operator>>(std::string& value) { return value = next().getString(), *this; }
  Columns& operator>>(std::uint32_t& value) { return value = next().getUInt(), *this; }
  Columns& operator>>(std::int64_t& value) { return value = next().getInt64(), *this; }
  Columns& operator>>(std::uint64_t& value) { return value = static_cast<std::uint64_t>(next().getInt64()), *this; }
  Columns& operator>>(double& value) { return value = next().getDouble(), *this; }
  Columns& operator>>(bool& value) { return value = next().getInt() != 0, *this; }
  template <typename T>
  Columns& operator>>(std::optional<T>& value) {
    if (row_.getColumn(index_).isNull()) {
      ++index_;
      return value.reset(), *this;
    }
    return *this >> value.emplace();
  }

 private:
  SQLite::Column next() { return row_.getColumn(index_++); }
  SQLite::Statement& row_;
  int index_ = 0;
};

// The rounds of a run, straight from SQLite: of a million of them every call counts, and SQLiteCpp's columns cost
// several times as much as the values.
class RoundRows {
 public:
  RoundRows(SQLite::Database& database, std::int64_t run, std::uint32_t after) : database_(database) {
    constexpr const char* kQuery =
        "SELECT round, accuracy, loss, train_loss, client_accuracy, validation_accuracy, participants, dropped, "
        "groups, idle, models, bytes_up, bytes_down, bytes_total, cost_s, cost_total_s, wall_s FROM round "
        "WHERE run = ? AND round > ? ORDER BY round";
    sqlite3_stmt* made = nullptr;
    const int result = sqlite3_prepare_v2(database.getHandle(), kQuery, -1, &made, nullptr);
    if (result != SQLITE_OK) throw SQLite::Exception(database.getHandle(), result);
    rows_.reset(made);
    sqlite3_bind_int64(made, 1, run);
    sqlite3_bind_int64(made, 2, after);
  }
  bool next() {
    const int result = sqlite3_step(rows_.get());
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) throw SQLite::Exception(database_.getHandle(), result);
    return false;
  }
  [[nodiscard]] std::uint32_t count(int column) const {
    return static_cast<std::uint32_t>(sqlite3_column_int64(rows_.get(), column));
  }
  [[nodiscard]] std::uint64_t bytes(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(rows_.get(), column));
  }
  [[nodiscard]] std::optional<double> number(int column) const {
    if (sqlite3_column_type(rows_.get(), column) == SQLITE_NULL) return std::nullopt;
    return sqlite3_column_double(rows_.get(), column);
  }

 private:
  SQLite::Database& database_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> rows_{nullptr, &sqlite3_finalize};
};

RunCondition condition_of(const StoredRun& run) {
  if (is_locked(run.dir)) return RunCondition::kRunning;
  return run.stopped.empty() || run.stopped == "interrupted" ? RunCondition::kUnfinished : RunCondition::kOver;
}

StoredRun read_run(SQLite::Statement& row, const std::filesystem::path& out, std::int64_t& number) {
  StoredRun run;
  Columns columns(row);
  columns >> number >> run.id >> run.recipe >> run.seed >> run.stopped >> run.signature >> run.rounds >>
      run.rounds_planned >> run.accuracy_last >> run.accuracy_best >> run.best_round >> run.loss_last >> run.clients >>
      run.groups >> run.bytes >> run.cost_s >> run.wall_s >> run.begun_s >> run.changed_s >> run.data >> run.deployed >>
      run.fault >> run.summary >> run.sequence >> run.generation;
  run.dir = out / run.id;
  run.condition = condition_of(run);
  return run;
}

// All rows of a query for kRunColumns, with their tags.
std::vector<StoredRun> read_runs(SQLite::Database& database, SQLite::Statement& rows,
                                 const std::filesystem::path& out) {
  std::vector<StoredRun> runs;
  std::map<std::int64_t, std::size_t> place;
  while (rows.executeStep()) {
    std::int64_t number = 0;
    StoredRun run = read_run(rows, out, number);
    place[number] = runs.size();
    runs.push_back(std::move(run));
  }
  SQLite::Statement tags(database, "SELECT run, word FROM tag ORDER BY run, word");
  while (!runs.empty() && tags.executeStep()) {
    const auto found = place.find(tags.getColumn(0).getInt64());
    if (found != place.end()) runs[found->second].tags.push_back(tags.getColumn(1).getString());
  }
  return runs;
}

bool passes(const StoredRun& run, const std::string& stopped) {
  if (stopped.empty()) return true;
  if (stopped == name(RunCondition::kRunning)) return run.condition == RunCondition::kRunning;
  if (stopped == name(RunCondition::kUnfinished)) return run.condition == RunCondition::kUnfinished;
  return run.stopped == stopped && run.condition != RunCondition::kRunning;
}

std::vector<std::uint32_t> sizes_of(const std::string& text) {
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  std::vector<std::uint32_t> sizes;
  if (!list.is_array()) return sizes;
  for (const auto& size : list) sizes.push_back(size.is_number_unsigned() ? size.get<std::uint32_t>() : 0);
  return sizes;
}

}  // namespace

const std::vector<std::string>& run_orders() {
  static const std::vector<std::string> names{"date", "name", "recipe", "seed", "rounds", "accuracy",
                                              "best", "loss", "bytes",  "cost", "time"};
  return names;
}

std::vector<StoredRun> query_runs(SQLite::Database& database, const std::filesystem::path& out,
                                  const RunFilter& filter) {
  std::string sql = fmt::format("SELECT {} FROM run WHERE 1", kRunColumns);
  std::vector<std::string> values;
  const auto add = [&](const char* condition, std::initializer_list<std::string> bound) {
    sql += condition;
    values.insert(values.end(), bound);
  };
  if (!filter.recipe.empty()) add(" AND recipe = ?", {filter.recipe});
  if (!filter.tag.empty()) {
    add(" AND EXISTS (SELECT 1 FROM tag WHERE tag.run = number AND word = ?)", {filter.tag});
  }
  for (const auto& [key, value] : filter.where) {
    // A whole number is meant by 3 where the key may have fractions, too.
    add(" AND EXISTS (SELECT 1 FROM recipe_key WHERE recipe_key.run = number AND key = ? AND value IN (?, ?))",
        {key, value, value.find_first_not_of("0123456789") == std::string::npos ? value + ".0" : value});
  }
  if (filter.since_s) sql += fmt::format(" AND begun_s >= {}", *filter.since_s);
  sql += fmt::format(" ORDER BY {}", kOrders[static_cast<std::size_t>(filter.order)]);
  SQLite::Statement rows(database, sql);
  for (std::size_t i = 0; i < values.size(); ++i) rows.bind(static_cast<int>(i) + 1, values[i]);
  std::vector<StoredRun> runs = read_runs(database, rows, out);
  std::erase_if(runs, [&](const StoredRun& run) { return !passes(run, filter.stopped); });
  if (filter.reverse) std::ranges::reverse(runs);
  if (filter.limit > 0 && runs.size() > filter.limit) runs.resize(filter.limit);
  return runs;
}

StoreChanges query_changes(SQLite::Database& database, const std::filesystem::path& out, std::uint64_t since) {
  SQLite::Transaction together(database);
  StoreChanges changes;
  changes.sequence = static_cast<std::uint64_t>(database.execAndGet("SELECT sequence FROM counter").getInt64());
  SQLite::Statement rows(database, fmt::format("SELECT {} FROM run WHERE sequence > ? ORDER BY sequence", kRunColumns));
  rows.bind(1, static_cast<std::int64_t>(since));
  changes.runs = read_runs(database, rows, out);
  SQLite::Statement gone(database, "SELECT id FROM gone WHERE sequence > ? ORDER BY id");
  gone.bind(1, static_cast<std::int64_t>(since));
  while (gone.executeStep()) changes.gone.push_back(gone.getColumn(0).getString());
  return changes;
}

std::vector<std::string> query_ids(SQLite::Database& database) {
  std::vector<std::string> ids;
  SQLite::Statement rows(database, "SELECT id FROM run ORDER BY id");
  while (rows.executeStep()) ids.push_back(rows.getColumn(0).getString());
  return ids;
}

std::optional<StoredRun> query_run(SQLite::Database& database, const std::filesystem::path& out,
                                   const std::string& id) {
  SQLite::Statement rows(database, fmt::format("SELECT {} FROM run WHERE id = ?", kRunColumns));
  rows.bind(1, id);
  std::vector<StoredRun> runs = read_runs(database, rows, out);
  if (runs.empty()) return std::nullopt;
  return std::move(runs.front());
}

std::vector<StoredRound> query_rounds(SQLite::Database& database, const std::string& id, std::uint32_t after) {
  SQLite::Statement run(database, "SELECT number, rounds FROM run WHERE id = ?");
  run.bind(1, id);
  if (!run.executeStep()) return {};
  std::vector<StoredRound> rounds;
  rounds.reserve(run.getColumn(1).getUInt() - std::min(after, run.getColumn(1).getUInt()));
  RoundRows rows(database, run.getColumn(0).getInt64(), after);
  while (rows.next()) {
    StoredRound& r = rounds.emplace_back();
    r.round = rows.count(0);
    r.accuracy = rows.number(1);
    r.loss = rows.number(2);
    r.train_loss = rows.number(3);
    r.client_accuracy = rows.number(4);
    r.validation_accuracy = rows.number(5);
    r.participants = rows.count(6);
    r.dropped = rows.count(7);
    r.groups = rows.count(8);
    r.idle = rows.count(9);
    r.models = rows.count(10);
    r.bytes_up = rows.bytes(11);
    r.bytes_down = rows.bytes(12);
    r.bytes_total = rows.bytes(13);
    r.cost_s = rows.number(14).value_or(0);
    r.cost_total_s = rows.number(15).value_or(0);
    r.wall_s = rows.number(16).value_or(0);
  }
  return rounds;
}

std::vector<StoredGrouping> query_groupings(SQLite::Database& database, const std::string& id) {
  std::vector<StoredGrouping> groupings;
  SQLite::Statement rows(database,
                         "SELECT round, method, why, groups, idle, cov_mean, cpd_median, offset, bytes, sizes "
                         "FROM grouping WHERE run = (SELECT number FROM run WHERE id = ?) ORDER BY place");
  rows.bind(1, id);
  while (rows.executeStep()) {
    StoredGrouping& g = groupings.emplace_back();
    std::string sizes;
    Columns columns(rows);
    columns >> g.round >> g.method >> g.why >> g.groups >> g.idle >> g.cov_mean >> g.cpd_median >> g.offset >>
        g.bytes >> sizes;
    g.sizes = sizes_of(sizes);
  }
  return groupings;
}

std::vector<StoredClient> query_clients(SQLite::Database& database, const std::string& id) {
  std::vector<StoredClient> clients;
  SQLite::Statement rows(database,
                         "SELECT client, name, samples, grp, trained, dropped, accuracy, test_samples FROM client "
                         "WHERE run = (SELECT number FROM run WHERE id = ?) ORDER BY client");
  rows.bind(1, id);
  while (rows.executeStep()) {
    StoredClient& c = clients.emplace_back();
    Columns columns(rows);
    columns >> c.client >> c.name >> c.samples >> c.group >> c.trained >> c.dropped >> c.accuracy >> c.test_samples;
  }
  return clients;
}

std::map<std::string, std::string> query_recipe(SQLite::Database& database, const std::string& id) {
  std::map<std::string, std::string> keys;
  SQLite::Statement rows(database,
                         "SELECT key, value FROM recipe_key WHERE run = (SELECT number FROM run WHERE id = ?)");
  rows.bind(1, id);
  while (rows.executeStep()) keys[rows.getColumn(0).getString()] = rows.getColumn(1).getString();
  return keys;
}

}  // namespace muster
