#include "report/run_records.h"

#include <algorithm>

#include "base/file.h"
#include "base/names.h"
#include "data/readers/csv_records.h"
#include "data/shown_text.h"
#include "recipe/recipe.h"
#include "record/json_text.h"
#include "record/lock_probe.h"
#include "report/grouping_reader.h"
#include "report/record_lines.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostRecipeBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostSummaryBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostClientBytes = std::uint64_t{512} << 20;
constexpr std::size_t kMostRounds = 1'000'000;
constexpr std::size_t kMostReasons = 16;
constexpr std::size_t kMostGroupCurves = 20;
constexpr std::size_t kMostNamedClients = 20'000;
constexpr std::size_t kMostDroppedClients = 1'000'000;

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

Result<std::string> text_file(const std::filesystem::path& path, std::uint64_t limit) {
  if (!is_file(path)) return failure("{}: missing", path.string());
  MUSTER_ASSIGN(const auto bytes, read_file(path, limit));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void read_recipe(const std::filesystem::path& file, RunRecords& records) {
  const auto text = text_file(file, kMostRecipeBytes);
  if (!text) return records.notes.push_back(fmt::format("recipe.toml: {}", text.error().message));
  records.recipe_toml = *text;
  const auto recipe = parse_recipe(*text, "recipe.toml");
  if (!recipe) return records.notes.push_back(shown_name(recipe.error().message, 400));
  records.recipe_name = shown_name(recipe->name);
  records.task = shown_name(recipe->task);
  records.seed = recipe->seed;
  records.rounds_wanted = recipe->rounds;
  records.target_accuracy = recipe->target_accuracy.value_or(NAN);
}

Json json_file(const std::filesystem::path& file, std::vector<std::string>& notes) {
  if (!is_file(file)) return {};
  const auto text = text_file(file, kMostSummaryBytes);
  auto json = text ? parse_json(*text) : Result<Json>(text.error());
  if (json && json->is_object()) return std::move(json).value();
  notes.push_back(fmt::format("{}: cannot be read", file.filename().string()));
  return {};
}

void read_class_names(RunRecords& records) {
  const Json preparation = json_file(records.folder / "preparation.json", records.notes);
  for (const Json& name : inner(preparation, "classes")) {
    records.class_names.push_back(name.is_string() ? shown_name(name.get<std::string>()) : std::string());
  }
  if (!records.class_names.empty()) return;
  for (const Json& one : inner(inner(records.summary, "metrics"), "classes")) {
    records.class_names.push_back(shown_name(text_of(one, "name")));
  }
}

class RoundReader {
 public:
  explicit RoundReader(RunRecords& records) : records_(records) {}

  bool add(const Json& line) {
    const std::uint32_t round = count_of(line, "round");
    if (round == 0 || (!records_.rounds.empty() && round <= records_.rounds.back().round)) {
      ++strange_;
      return true;
    }
    RecordedRound now{.round = round};
    now.accuracy = number_of(line, "accuracy", NAN);
    now.of_all = number_of(line, "covered", 1) >= 1;
    now.loss = number_of(line, "loss", NAN);
    now.train_loss = number_of(line, "train_loss", NAN);
    now.client_accuracy = number_of(line, "client_accuracy", NAN);
    now.client_worst = number_of(line, "client_worst", NAN);
    now.client_p10 = number_of(line, "client_p10", NAN);
    now.client_p50 = number_of(line, "client_p50", NAN);
    now.client_p90 = number_of(line, "client_p90", NAN);
    now.validation_accuracy = number_of(line, "validation_accuracy", NAN);
    now.validation_loss = number_of(line, "validation_loss", NAN);
    now.discrepancy = number_of(line, "discrepancy", NAN);
    now.participants = number_of(line, "participants", 0);
    now.groups = number_of(line, "groups", NAN);
    now.idle = number_of(line, "idle", NAN);
    now.models = number_of(line, "models", NAN);
    bytes_up_ += std::max(0.0, number_of(line, "bytes_up", 0));
    bytes_down_ += std::max(0.0, number_of(line, "bytes_down", 0));
    compute_s_ += std::max(0.0, number_of(line, "compute_s", 0));
    cost_s_ = std::max(cost_s_, number_of(line, "cost_total_s", cost_s_));
    wall_s_ += std::max(0.0, number_of(line, "wall_s", 0));
    now.bytes_up = bytes_up_;
    now.bytes_down = bytes_down_;
    now.compute_s = compute_s_;
    now.cost_s = cost_s_;
    now.wall_s = wall_s_;
    const Json& groups = inner(line, "group_accuracy");
    if (groups.size() <= kMostGroupCurves) {
      for (const Json& one : groups) now.group_accuracy.push_back(one.is_number() ? one.get<double>() : NAN);
    }
    add_drops(inner(line, "dropped"), now);
    records_.rounds.push_back(std::move(now));
    return records_.rounds.size() < kMostRounds;
  }
  [[nodiscard]] std::uint64_t strange() const { return strange_; }

 private:
  void add_drops(const Json& dropped, RecordedRound& now) {
    for (const Json& one : dropped) {
      const std::size_t reason = reason_number(shown_name(text_of(one, "reason")));
      if (now.by_reason.size() <= reason) now.by_reason.resize(reason + 1);
      ++now.by_reason[reason];
      ++now.dropped;
      if (records_.drops_of_client.size() < kMostDroppedClients) ++records_.drops_of_client[count_of(one, "client")];
    }
  }
  std::size_t reason_number(const std::string& reason) {
    std::vector<std::string>& known = records_.reasons;
    const auto found = std::ranges::find(known, reason);
    if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
    if (known.size() == kMostReasons) return kMostReasons - 1;
    known.push_back(known.size() + 1 == kMostReasons ? "other" : reason.empty() ? "unknown" : reason);
    return known.size() - 1;
  }

  RunRecords& records_;
  std::uint64_t strange_ = 0;
  double bytes_up_ = 0;
  double bytes_down_ = 0;
  double compute_s_ = 0;
  double cost_s_ = 0;
  double wall_s_ = 0;
};

// A last line without an end is being written, or was when its writer ended: nothing to speak of.
void note_bad_lines(const char* file, std::uint64_t bad, std::vector<std::string>& notes) {
  if (bad > 0) notes.push_back(fmt::format("{}: {} could not be read", file, counted(bad, "line")));
}

double cell_number(std::string_view cell) {
  const auto number = parse_number(cell);
  return number && std::isfinite(*number) ? *number : NAN;
}

void read_clients(RunRecords& records) {
  if (!is_file(records.folder / "clients.csv")) return;
  const auto text = text_file(records.folder / "clients.csv", kMostClientBytes);
  if (!text) return records.notes.push_back("clients.csv: cannot be read");
  CsvRecords rows(*text);
  std::map<std::string, std::size_t> column;
  std::uint64_t bad = 0;
  for (auto more = rows.next();; more = rows.next()) {
    if (!more) return records.notes.push_back("clients.csv: " + shown_name(more.error().message, 400));
    if (!*more) break;
    const auto cells = rows.fields();
    if (column.empty()) {
      for (std::size_t i = 0; i < cells.size(); ++i) column[cells[i]] = i;
      if (!column.contains("client")) return records.notes.push_back("clients.csv: has no column 'client'");
      continue;
    }
    const auto cell = [&](const char* name) -> std::string_view {
      const auto at = column.find(name);
      return at != column.end() && at->second < cells.size() ? std::string_view(cells[at->second]) : std::string_view();
    };
    const double number = cell_number(cell("client"));
    if (!(number >= 0 && number < kNoGroupNumber)) {
      ++bad;
      continue;
    }
    RecordedClient client{.client = static_cast<std::uint32_t>(number)};
    const double group = cell_number(cell("group"));
    if (group >= 0 && group < kNoGroupNumber) client.group = static_cast<std::uint32_t>(group);
    client.samples = cell_number(cell("samples"));
    client.trained = cell_number(cell("trained"));
    client.dropped = cell_number(cell("dropped"));
    client.accuracy = cell_number(cell("accuracy"));
    if (!cell("name").empty() && records.client_names.size() < kMostNamedClients) {
      records.client_names[client.client] = shown_name(cell("name"));
    }
    records.clients.push_back(client);
  }
  note_bad_lines("clients.csv", bad, records.notes);
}

void read_ledger(RunRecords& records) {
  constexpr std::size_t kMostWords = 64;
  RecordedLedger& ledger = records.ledger;
  const auto count = [](std::map<std::string, std::uint64_t>& words, const std::string& word) {
    const std::string shown = shown_name(word.empty() ? "unknown" : word);
    ++words[words.size() < kMostWords || words.contains(shown) ? shown : "other"];
  };
  const LineTally tally = for_each_record(records.folder / "ledger.jsonl", [&](const Json& line) {
    const std::string event = text_of(line, "event");
    ++ledger.lines;
    if (event == "start") ++ledger.starts;
    if (event == "came") ledger.came += inner(line, "clients").size();
    if (event == "went") ledger.went += inner(line, "clients").size();
    if (event == "ask") count(ledger.asks, text_of(line, "kind"));
    if (event == "missed") count(ledger.missed, text_of(line, "reason"));
    if (event == "refused") count(ledger.refused, text_of(line, "reason"));
    if (event == "answer") {
      const auto used = line.find("used");
      if (used != line.end() && used->is_boolean() && used->get<bool>()) {
        ++ledger.used;
      } else {
        count(ledger.unused, text_of(line, "reason"));
      }
    }
    return true;
  });
  note_bad_lines("ledger.jsonl", tally.bad, records.notes);
}

RunPhase phase_of(const RunRecords& records) {
  if (is_locked(records.folder)) return RunPhase::kRunning;
  if (!records.summary.is_object()) return RunPhase::kUnfinished;
  return text_of(records.summary, "stopped") == "interrupted" ? RunPhase::kInterrupted : RunPhase::kDone;
}

}  // namespace

std::string_view name(RunPhase phase) {
  switch (phase) {
    case RunPhase::kRunning:
      return "running";
    case RunPhase::kDone:
      return "done";
    case RunPhase::kInterrupted:
      return "interrupted";
    case RunPhase::kUnfinished:
      return "unfinished";
  }
  return "?";
}

std::string RunRecords::client_text(std::uint32_t client) const {
  const auto name = client_names.find(client);
  return name == client_names.end() ? fmt::format("client {}", client) : name->second;
}

std::string shown_name(std::string_view text, std::size_t most) {
  constexpr std::size_t kMostBytes = 4;  // of a letter
  std::string shown = shown_text(text.substr(0, most * kMostBytes));
  std::size_t at = 0;
  for (std::size_t letters = 0; at < shown.size() && letters < most; ++letters) {
    at += std::max<std::size_t>(utf8_character(std::string_view(shown).substr(at)), 1);
  }
  if (at >= shown.size() && text.size() <= most * kMostBytes) return shown;
  shown.resize(std::min(at, shown.size()));
  return shown + "...";
}

Result<RunRecords> read_run_records(const std::filesystem::path& folder) {
  if (!is_file(folder / "recipe.toml") && !is_file(folder / "rounds.jsonl")) {
    return failure("{}: not a run's folder: it has neither recipe.toml nor rounds.jsonl", folder.string());
  }
  RunRecords records;
  records.folder = folder;
  const std::filesystem::path named = folder.has_filename() ? folder : folder.parent_path();
  records.run = shown_name(named.filename().string(), 200);
  records.summary = json_file(folder / "summary.json", records.notes);
  read_recipe(folder / "recipe.toml", records);
  read_class_names(records);
  RoundReader rounds(records);
  const LineTally round_lines =
      for_each_record(folder / "rounds.jsonl", [&](const Json& line) { return rounds.add(line); });
  note_bad_lines("rounds.jsonl", round_lines.bad + rounds.strange(), records.notes);
  if (records.rounds.size() >= kMostRounds) records.notes.push_back("rounds.jsonl: too long; its end is left out");
  GroupingReader groupings;
  std::uint64_t strange = 0;
  const LineTally group_lines = for_each_record(folder / "groups.jsonl", [&](const Json& line) {
    if (!groupings.add(line)) ++strange;
    return true;
  });
  note_bad_lines("groups.jsonl", group_lines.bad + strange, records.notes);
  groupings.finish(records);
  read_clients(records);
  read_ledger(records);
  records.phase = phase_of(records);
  return records;
}

}  // namespace muster
