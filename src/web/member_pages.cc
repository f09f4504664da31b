#include "web/member_pages.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/names.h"
#include "record/json_text.h"
#include "report/describe.h"
#include "report/record_lines.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostRows = 500;  // of a table
constexpr std::size_t kMostGiven = 1000;
constexpr std::size_t kMostPoints = 1000;  // of a curve
constexpr const char* kOrders[] = {"client", "name", "samples", "group", "trained", "dropped", "accuracy"};

Cell number(double value) {
  return {.number = value};
}

Cell text(std::string value) {
  return {.text = std::move(value)};
}

std::string group_text(std::uint32_t group) {
  return group == kNoGroupNumber ? std::string("none") : fmt::format("group {}", group);
}

const RecordedClient* find_client(const RunRecords& run, std::uint32_t client) {
  // Clients are numbered from 0 in the file, so most are in their place.
  if (client < run.clients.size() && run.clients[client].client == client) return &run.clients[client];
  const auto found = std::ranges::find(run.clients, client, &RecordedClient::client);
  return found == run.clients.end() ? nullptr : &*found;
}

// Where the client was, each time that it changed.
struct Stay {
  std::uint32_t round;
  std::uint32_t group;
  std::uint32_t size;  // of the group; 0 = not told
  std::string why;
};

struct ClientStory {
  std::vector<Stay> stays;
  std::vector<std::pair<std::uint32_t, std::string>> drops;  // round, reason
  std::uint64_t more_drops = 0;
  bool seen = false;
};

void add_grouping(const Json& line, std::uint32_t client, ClientStory& story) {
  const std::uint32_t round = count_of(line, "round");
  const auto move_to = [&](std::uint32_t group, std::size_t size) {
    if (group != kNoGroupNumber) story.seen = true;
    if (story.stays.empty() ? group == kNoGroupNumber : story.stays.back().group == group) return;
    if (story.stays.size() < 10'000) {
      story.stays.push_back({round, group, static_cast<std::uint32_t>(size), shown_name(text_of(line, "why"))});
    }
  };
  if (text_of(line, "why") == "newcomers") {
    for (const Json& placed : inner(line, "placed")) {
      if (count_of(placed, "client", kNoGroupNumber) == client) move_to(count_of(placed, "group", kNoGroupNumber), 0);
    }
    return;
  }
  const Json& members = inner(line, "members");
  for (std::uint32_t g = 0; g < members.size(); ++g) {
    for (const Json& member : members[g]) {
      if (member.is_number_unsigned() && member.get<std::uint64_t>() == client) return move_to(g, members[g].size());
    }
  }
  move_to(kNoGroupNumber, 0);
}

ClientStory read_story(const RunRecords& run, std::uint32_t client) {
  ClientStory story;
  (void)for_each_record(run.folder / "groups.jsonl", [&](const Json& line) {
    add_grouping(line, client, story);
    return true;
  });
  (void)for_each_record(run.folder / "rounds.jsonl", [&](const Json& line) {
    for (const Json& one : inner(line, "dropped")) {
      if (count_of(one, "client", kNoGroupNumber) != client) continue;
      story.seen = true;
      if (story.drops.size() < 100'000) {
        story.drops.emplace_back(count_of(line, "round"), shown_name(text_of(one, "reason")));
      } else {
        ++story.more_drops;
      }
    }
    return true;
  });
  return story;
}

Figure stays_figure(const ClientStory& story) {
  TableFigure table{.columns = {{"before round", Unit::kCount}, {"group"}, {"clients in it", Unit::kCount}, {"why"}}};
  for (const Stay& stay : story.stays) {
    if (table.rows.size() == kMostRows) break;
    table.rows.push_back(
        {number(stay.round), text(group_text(stay.group)), stay.size ? number(stay.size) : text("-"), text(stay.why)});
  }
  return {.id = "client-groups", .title = "Groups it was in", .table = std::move(table)};
}

Figure group_curve(const ClientStory& story, std::uint32_t last_round) {
  Series series{.name = "group", .x = {{}}};
  const auto add = [&](std::uint32_t round, std::uint32_t group) {
    series.x[0].push_back(round);
    series.y.push_back(group == kNoGroupNumber ? std::optional<double>() : group);
  };
  for (std::size_t i = 0; i < std::min(story.stays.size(), kMostPoints / 2); ++i) {
    const std::uint32_t end = i + 1 < story.stays.size() ? story.stays[i + 1].round : last_round;
    add(story.stays[i].round, story.stays[i].group);
    add(std::max(end, story.stays[i].round), story.stays[i].group);
  }
  return {
      .id = "client-group-curve",
      .title = "Its group, round by round",
      .caption = "Groups are numbered as they were formed each time; the same number need not be the same group.",
      .lines = LineFigure{.x = {{"round", Unit::kCount}}, .y = {"group", Unit::kCount}, .series = {std::move(series)}}};
}

// Of the group's model on its members' tests, where groups have their own.
std::optional<Figure> accuracy_curve(const RunRecords& run, std::uint32_t group, const std::string& id) {
  Series own{.name = fmt::format("model of group {}", group), .x = {{}}};
  Series all{.name = "all clients", .x = {{}}, .dashed = true};
  std::size_t told = 0;
  const std::size_t step = run.rounds.size() / kMostPoints + 1;
  for (std::size_t i = 0; i < run.rounds.size(); i += step) {
    const RecordedRound& round = run.rounds[i];
    if (group >= round.group_accuracy.size() || !std::isfinite(round.group_accuracy[group])) continue;
    ++told;
    own.x[0].push_back(round.round);
    own.y.push_back(round.group_accuracy[group]);
    all.x[0].push_back(round.round);
    all.y.push_back(std::isfinite(round.accuracy) ? std::optional<double>(round.accuracy) : std::nullopt);
  }
  if (told == 0) return std::nullopt;
  return Figure{
      .id = id,
      .title = "Accuracy of the group's model",
      .caption = "On the members' own tests.",
      .lines = LineFigure{
          .x = {{"round", Unit::kCount}}, .y = {"accuracy", Unit::kShare}, .series = {std::move(own), std::move(all)}}};
}

std::vector<Figure> drop_figures_of(const ClientStory& story) {
  if (story.drops.empty()) return {};
  std::map<std::string, double> by_reason;
  TableFigure table{.columns = {{"round", Unit::kCount}, {"why"}}};
  for (const auto& [round, reason] : story.drops) {
    ++by_reason[reason];
    if (table.rows.size() < kMostRows) table.rows.push_back({number(round), text(reason)});
  }
  BarFigure bars{.categories_axis = {"why"}, .values_axis = {"rounds", Unit::kCount}};
  bars.parts.push_back({.name = "dropped", .values = {}});
  for (const auto& [reason, count] : by_reason) {
    bars.categories.push_back(reason);
    bars.parts[0].values.push_back(count);
  }
  return {{.id = "client-drops-by-reason", .title = "Dropped, by reason", .bars = std::move(bars)},
          {.id = "client-drops",
           .title = "Rounds in which it was dropped",
           .caption =
               story.drops.size() > kMostRows ? fmt::format("The first {} of {}.", kMostRows, story.drops.size()) : "",
           .table = std::move(table)}};
}

Json with_place(Report&& report, const RunRecords& run) {
  report.kind = "member";
  Json json = to_json(report);
  json["run"] = run.run;
  return json;
}

}  // namespace

Result<Json> describe_client(const RunRecords& run, std::uint32_t client) {
  const RecordedClient* const row = find_client(run, client);
  const ClientStory story = read_story(run, client);
  if (!row && !story.seen) return usage_error("this run knows no client {}", client);
  Report report{.title = run.client_text(client)};
  report.facts.push_back({"number", std::to_string(client)});
  const std::uint32_t group = row ? row->group : story.stays.empty() ? kNoGroupNumber : story.stays.back().group;
  report.facts.push_back({"group", group_text(group)});
  if (row) {
    const auto add = [&](const char* name, double value, Unit unit) {
      if (std::isfinite(value)) report.facts.push_back({name, number_text(value, unit)});
    };
    add("samples it trains on", row->samples, Unit::kCount);
    add("accuracy on its own test", row->accuracy, Unit::kShare);
    add("rounds in which it trained", row->trained, Unit::kCount);
    add("rounds in which it was dropped", row->dropped, Unit::kCount);
    std::size_t tested = 0;
    std::size_t below = 0;
    for (const RecordedClient& other : run.clients) {
      tested += std::isfinite(other.accuracy) ? 1 : 0;
      below += other.accuracy < row->accuracy ? 1 : 0;
    }
    if (std::isfinite(row->accuracy) && tested > 1) {
      report.facts.push_back({"among the clients", fmt::format("better than {} of {}", below, tested - 1)});
    }
  } else {
    report.facts.push_back({"rounds in which it was dropped", std::to_string(story.drops.size() + story.more_drops)});
    report.notes.push_back(
        "How often it trained, and how well it does, is written when the run saves a checkpoint or ends.");
  }
  std::vector<Figure> groups;
  if (story.stays.size() > 1) {
    groups.push_back(group_curve(story, run.rounds.empty() ? 0 : run.rounds.back().round));
  }
  if (!story.stays.empty()) groups.push_back(stays_figure(story));
  if (auto curve = accuracy_curve(run, group, "client-group-accuracy")) groups.push_back(std::move(*curve));
  if (!groups.empty()) report.sections.push_back({"groups", "Groups", std::move(groups)});
  if (auto drops = drop_figures_of(story); !drops.empty()) {
    report.sections.push_back({"dropped", "Dropped", std::move(drops)});
  }
  Json json = with_place(std::move(report), run);
  json["client"] = client;
  json["group"] = group == kNoGroupNumber ? Json(nullptr) : Json(group);
  return json;
}

Result<Json> describe_group(const RunRecords& run, std::uint32_t group) {
  if (run.detailed.empty() || group >= run.detailed.back().members.size()) {
    return usage_error("this run has no group {} now", group);
  }
  const DetailedGrouping& last = run.detailed.back();
  // Newcomers joined it since; what clients.csv says is the latest.
  std::set<std::uint32_t> members(last.members[group].begin(), last.members[group].end());
  for (const RecordedClient& row : run.clients) {
    if (row.group == group) members.insert(row.client);
  }
  Report report{.title = fmt::format("Group {}", group)};
  report.facts.push_back({"clients", std::to_string(members.size())});
  report.facts.push_back(
      {"formed", fmt::format("before round {} by {} ({})", last.about.round, last.about.method, last.about.why)});
  double samples = 0;
  double accuracy = 0;
  double tested = 0;
  Json rows = Json::array();
  for (const std::uint32_t client : members) {
    const RecordedClient* const row = find_client(run, client);
    const RecordedClient shown =
        row ? *row : RecordedClient{.client = client, .samples = NAN, .trained = NAN, .dropped = NAN};
    if (std::isfinite(shown.samples)) samples += shown.samples;
    if (std::isfinite(shown.accuracy)) accuracy += shown.accuracy;
    if (std::isfinite(shown.accuracy)) ++tested;
    if (rows.size() == kMostGiven) continue;
    rows.push_back({{"client", client},
                    {"name", run.client_text(client)},
                    {"samples", json_number(shown.samples)},
                    {"group", group},
                    {"trained", json_number(shown.trained)},
                    {"dropped", json_number(shown.dropped)},
                    {"accuracy", json_number(shown.accuracy)}});
  }
  if (samples > 0) report.facts.push_back({"samples", number_text(samples, Unit::kCount)});
  if (tested > 0)
    report.facts.push_back({"mean accuracy of its clients", number_text(accuracy / tested, Unit::kShare)});
  std::vector<Figure> figures;
  if (group < last.labels.size() && !last.labels[group].empty()) {
    BarFigure bars{.categories_axis = {"class"}, .values_axis = {"samples", Unit::kCount}};
    bars.parts.push_back({.name = "samples", .values = {}});
    for (std::size_t c = 0; c < std::min<std::size_t>(last.labels[group].size(), 200); ++c) {
      const bool named = c < run.class_names.size() && !run.class_names[c].empty();
      bars.categories.push_back(named ? run.class_names[c] : std::to_string(c));
      bars.parts[0].values.push_back(last.labels[group][c]);
    }
    figures.push_back({.id = "group-classes", .title = "Samples by class", .bars = std::move(bars)});
  }
  if (auto curve = accuracy_curve(run, group, "group-accuracy")) figures.push_back(std::move(*curve));
  if (!figures.empty()) report.sections.push_back({"group", "What it holds", std::move(figures)});
  Json json = with_place(std::move(report), run);
  json["group"] = group;
  json["groups"] = last.members.size();
  json["members"] = std::move(rows);
  return json;
}

Result<ClientOrder> parse_client_order(const std::string& word) {
  for (std::size_t i = 0; i < std::size(kOrders); ++i) {
    if (word == kOrders[i]) return static_cast<ClientOrder>(i);
  }
  return usage_error("{}",
                     unknown_name("order", word, std::vector<std::string>(std::begin(kOrders), std::end(kOrders))));
}

Json client_rows(const RunRecords& run, const ClientQuery& query) {
  const auto lower = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  };
  const std::string filter = lower(query.filter);
  std::vector<const RecordedClient*> found;
  for (const RecordedClient& row : run.clients) {
    if (filter.empty() || std::to_string(row.client) == filter ||
        lower(run.client_text(row.client)).find(filter) != std::string::npos) {
      found.push_back(&row);
    }
  }
  const auto value = [&](const RecordedClient& row) {
    switch (query.order) {
      case ClientOrder::kSamples:
        return row.samples;
      case ClientOrder::kGroup:
        return row.group == kNoGroupNumber ? NAN : static_cast<double>(row.group);
      case ClientOrder::kTrained:
        return row.trained;
      case ClientOrder::kDropped:
        return row.dropped;
      case ClientOrder::kAccuracy:
        return row.accuracy;
      case ClientOrder::kName:
      case ClientOrder::kNumber:
        break;
    }
    return static_cast<double>(row.client);
  };
  // What is not known comes last, either way.
  std::ranges::stable_sort(found, [&](const RecordedClient* a, const RecordedClient* b) {
    if (query.order == ClientOrder::kName) {
      const std::string x = run.client_text(a->client);
      const std::string y = run.client_text(b->client);
      return query.down ? y < x : x < y;
    }
    const double x = value(*a);
    const double y = value(*b);
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
    return query.down ? y < x : x < y;
  });
  Json rows = Json::array();
  for (std::size_t i = query.from; i < found.size() && rows.size() < std::min(query.count, kMostGiven); ++i) {
    const RecordedClient& row = *found[i];
    rows.push_back({{"client", row.client},
                    {"name", run.client_text(row.client)},
                    {"samples", json_number(row.samples)},
                    {"group", row.group == kNoGroupNumber ? Json(nullptr) : Json(row.group)},
                    {"trained", json_number(row.trained)},
                    {"dropped", json_number(row.dropped)},
                    {"accuracy", json_number(row.accuracy)}});
  }
  return {{"total", run.clients.size()}, {"found", found.size()}, {"rows", std::move(rows)}};
}

}  // namespace muster
