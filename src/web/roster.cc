#include "web/roster.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "record/json_text.h"
#include "report/record_lines.h"
#include "report/run_records.h"
#include "store/run_files.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kMostClients = 1'000'000;  // that a roster is shown of

std::vector<std::uint32_t> clients_of(const Json& line) {
  std::vector<std::uint32_t> clients;
  for (const Json& one : inner(line, "clients")) {
    if (one.is_number_unsigned() && one.get<std::uint64_t>() < kMostClients)
      clients.push_back(one.get<std::uint32_t>());
  }
  return clients;
}

// What has been appended to `file` since `read`, as far as it says `word`. A file that became shorter was cut after its
// writer ended, and is read again.
void read_more(const std::filesystem::path& file, std::uint64_t& read, std::initializer_list<std::string_view> words,
               const std::function<void(const Json&)>& use) {
  const FileStamp stamp = stamp_of(file);
  if (!stamp.there() || stamp.bytes == read) return;
  const auto end = read_lines(file, read, [&](std::string_view line, std::uint64_t) {
    const auto in_line = [&](std::string_view word) { return line.find(word) != std::string_view::npos; };
    if (!std::any_of(words.begin(), words.end(), in_line)) return;
    if (const auto parsed = parse_json(line); parsed && parsed->is_object()) use(*parsed);
  });
  if (end) read = *end;
}

}  // namespace

void RosterReader::add_event(const Json& line) {
  const std::string event = text_of(line, "event");
  if (event == "start") {
    roster_ = count_of(line, "clients");
    for (auto& [client, row] : rows_) {
      if (row.here) row.why = "the cloud was started again";
      row.here = false;
    }
  } else if (event == "came") {
    for (const std::uint32_t client : clients_of(line)) {
      PageRoster::Row& row = rows_[client];
      row.here = true;
      row.peer = shown_name(text_of(line, "peer"));
      const auto edge = line.find("edge");
      row.by_edge = edge != line.end() && edge->is_boolean() && edge->get<bool>();
      row.why.clear();
    }
  } else if (event == "went") {
    for (const std::uint32_t client : clients_of(line)) {
      PageRoster::Row& row = rows_[client];
      row.here = false;
      row.why = "its connection was lost or ended";
    }
  }
}

void RosterReader::add_round(const Json& line) {
  const std::uint32_t round = count_of(line, "round");
  for (const Json& one : inner(line, "dropped")) {
    const std::uint32_t client = count_of(one, "client", kMostClients);
    if (client >= kMostClients) continue;
    PageRoster::Row& row = rows_[client];
    ++row.drops;
    row.last_drop_round = round;
    row.last_drop_reason = shown_name(text_of(one, "reason"));
  }
}

PageRoster RosterReader::read(bool running) {
  if (stamp_of(folder_ / "ledger.jsonl").bytes < ledger_read_ ||
      stamp_of(folder_ / "rounds.jsonl").bytes < rounds_read_) {
    ledger_read_ = rounds_read_ = 0;
    rows_.clear();
  }
  read_more(folder_ / "ledger.jsonl", ledger_read_, {"\"start\"", "\"came\"", "\"went\""},
            [this](const Json& line) { add_event(line); });
  read_more(folder_ / "rounds.jsonl", rounds_read_, {"\"reason\""}, [this](const Json& line) { add_round(line); });
  PageRoster roster{.roster = roster_};
  for (const auto& [client, known] : rows_) {
    PageRoster::Row row = known;
    row.client = client;
    if (!running && row.here) {
      row.here = false;
      row.why = "the run is over";
    }
    roster.here += row.here ? 1 : 0;
    roster.rows.push_back(std::move(row));
  }
  roster.roster = std::max(roster.roster, static_cast<std::uint32_t>(roster.rows.size()));
  return roster;
}

Json to_json(const PageRoster& roster, std::size_t most) {
  std::vector<const PageRoster::Row*> rows;
  for (const PageRoster::Row& row : roster.rows) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return a->here != b->here ? b->here : a->drops > b->drops; });
  Json json{{"roster", roster.roster}, {"here", roster.here}, {"known", rows.size()}, {"rows", Json::array()}};
  for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) {
    const PageRoster::Row& row = *rows[i];
    json["rows"].push_back({{"client", row.client},
                            {"name", shown_name(row.name)},
                            {"here", row.here},
                            {"peer", shown_name(row.peer)},
                            {"by_edge", row.by_edge},
                            {"since_s", row.since_s},
                            {"why", shown_name(row.why, 300)},
                            {"drops", row.drops},
                            {"last_drop_round", row.last_drop_round},
                            {"last_drop_reason", shown_name(row.last_drop_reason)}});
  }
  return json;
}

}  // namespace muster
