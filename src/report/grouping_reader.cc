#include "report/grouping_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "report/record_lines.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostKept = 32;
constexpr std::uint32_t kMostClients = 20'000'000;  // a larger number is no client's
constexpr std::size_t kMostMovers = 300;
constexpr std::size_t kMostFlows = 2000;
constexpr std::size_t kMostCompared = 200;  // clients of a matrix of distances
constexpr std::size_t kMostGroupings = 1'000'000;

std::vector<std::uint32_t> clients_in(const Json& list) {
  std::vector<std::uint32_t> clients;
  if (!list.is_array()) return clients;
  for (const Json& client : list) {
    if (client.is_number_unsigned() && client.get<std::uint64_t>() < kMostClients) {
      clients.push_back(client.get<std::uint32_t>());
    }
  }
  return clients;
}

std::vector<double> numbers_in(const Json& list) {
  std::vector<double> numbers;
  if (!list.is_array()) return numbers;
  for (const Json& value : list) numbers.push_back(value.is_number() ? value.get<double>() : NAN);
  return numbers;
}

std::uint32_t group_in(const std::vector<std::uint32_t>& group_of, std::uint32_t client) {
  return client < group_of.size() ? group_of[client] : kNoGroupNumber;
}

}  // namespace

bool GroupingReader::add(const Json& line) {
  const std::uint32_t round = count_of(line, "round", 0xffffffffu);
  if (round == 0xffffffffu || (!groupings_.empty() && round < groupings_.back().round)) return false;
  if (groupings_.size() >= kMostGroupings) return false;
  if (text_of(line, "why") == "newcomers") {
    add_newcomers(line);
  } else {
    add_formed(line, round);
  }
  return true;
}

void GroupingReader::add_formed(const Json& line, std::uint32_t round) {
  DetailedGrouping now{.about = {.round = round,
                                 .method = shown_name(text_of(line, "method")),
                                 .why = shown_name(text_of(line, "why")),
                                 .count = count_of(line, "count"),
                                 .idle = static_cast<std::uint32_t>(inner(line, "idle").size())}};
  for (const auto& [name, value] : inner(line, "quality").items()) {
    if (value.is_number()) now.about.quality[name] = value.get<double>();
  }
  for (const Json& group : inner(line, "members")) now.members.push_back(clients_in(group));
  for (const auto& group : now.members) now.about.sizes.push_back(static_cast<std::uint32_t>(group.size()));
  if (!now.members.empty()) now.about.count = static_cast<std::uint32_t>(now.members.size());
  for (const Json& counts : inner(line, "labels")) now.labels.push_back(numbers_in(counts));
  for (const Json& note : inner(line, "notes")) {
    if (note.is_string()) now.notes.push_back(shown_name(note.get<std::string>(), 400));
  }
  if (!groupings_.empty()) {
    now.before = groupings_.back().round;
    now.count_before = groupings_.back().count;
    compare(now.members, now);
  }
  std::fill(group_of_.begin(), group_of_.end(), kNoGroupNumber);
  for (std::uint32_t g = 0; g < now.members.size(); ++g) {
    for (const std::uint32_t client : now.members[g]) {
      if (client >= group_of_.size()) group_of_.resize(std::size_t{client} + 1, kNoGroupNumber);
      group_of_[client] = g;
    }
  }
  add_distances(inner(line, "distances"), round);
  groupings_.push_back(now.about);
  keep(std::move(now));
}

void GroupingReader::add_newcomers(const Json& line) {
  for (const Json& placed : inner(line, "placed")) {
    const std::uint32_t client = count_of(placed, "client", kMostClients);
    if (client >= kMostClients) continue;
    if (client >= group_of_.size()) group_of_.resize(std::size_t{client} + 1, kNoGroupNumber);
    group_of_[client] = count_of(placed, "group", kNoGroupNumber);
  }
}

// Groups have no names, so those of before go on as those of now with which they share most clients, the largest share
// first, each once; whoever is elsewhere has moved.
void GroupingReader::compare(const Members& members, DetailedGrouping& now) const {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> shared;
  std::vector<std::uint32_t> group_now(group_of_.size(), kNoGroupNumber);
  for (std::uint32_t to = 0; to < members.size(); ++to) {
    for (const std::uint32_t client : members[to]) {
      const std::uint32_t from = group_in(group_of_, client);
      if (from == kNoGroupNumber) {
        ++now.about.joined;
      } else {
        ++shared[{from, to}];
        group_now[client] = to;
      }
    }
  }
  for (std::size_t client = 0; client < group_of_.size(); ++client) {
    if (group_of_[client] != kNoGroupNumber && group_now[client] == kNoGroupNumber) ++now.about.left;
  }
  for (const auto& [pair, clients] : shared) now.flows.push_back({pair.first, pair.second, clients});
  std::ranges::stable_sort(now.flows, [](const auto& a, const auto& b) { return a.clients > b.clients; });
  std::map<std::uint32_t, std::uint32_t> goes_on_as;
  std::vector<bool> taken(members.size(), false);
  for (const DetailedGrouping::Flow& flow : now.flows) {
    if (goes_on_as.contains(flow.from) || taken[flow.to]) continue;
    goes_on_as[flow.from] = flow.to;
    taken[flow.to] = true;
  }
  for (const DetailedGrouping::Flow& flow : now.flows) {
    const auto same = goes_on_as.find(flow.from);
    (same != goes_on_as.end() && same->second == flow.to ? now.about.stayed : now.about.moved) += flow.clients;
  }
  for (std::uint32_t client = 0; client < group_now.size() && now.movers.size() < kMostMovers; ++client) {
    const std::uint32_t from = group_of_[client];
    if (from == kNoGroupNumber || group_now[client] == kNoGroupNumber) continue;
    const auto same = goes_on_as.find(from);
    if (same == goes_on_as.end() || same->second != group_now[client]) {
      now.movers.push_back({client, from, same == goes_on_as.end() ? kNoGroupNumber : same->second, group_now[client]});
    }
  }
  if (now.flows.size() > kMostFlows) now.flows.resize(kMostFlows);
}

void GroupingReader::add_distances(const Json& distances, std::uint32_t round) {
  RecordedDistances found{.round = round, .metric = shown_name(text_of(distances, "metric"))};
  found.clients = clients_in(inner(distances, "clients"));
  for (const Json& row : inner(distances, "rows")) found.rows.push_back(numbers_in(row));
  const std::size_t size = found.clients.size();
  const bool square = found.rows.size() == size &&
                      std::ranges::all_of(found.rows, [size](const auto& row) { return row.size() == size; });
  if (size == 0 || size > kMostCompared || !square) return;
  for (const std::uint32_t client : found.clients) found.group_of.push_back(group_in(group_of_, client));
  if (distances_.size() == 2) distances_.pop_back();
  distances_.push_back(std::move(found));
}

// The first, then ever fewer of those between, evenly; the last is always at hand.
void GroupingReader::keep(DetailedGrouping&& now) {
  const std::size_t index = groupings_.size() - 1;
  if (index % keep_every_ == 0) kept_.push_back(now);
  last_ = std::move(now);
  if (kept_.size() <= kMostKept) return;
  std::vector<DetailedGrouping> half;
  for (std::size_t i = 0; i < kept_.size(); i += 2) half.push_back(std::move(kept_[i]));
  kept_ = std::move(half);
  keep_every_ *= 2;
}

void GroupingReader::finish(RunRecords& records) {
  if (last_ && (kept_.empty() || (groupings_.size() - 1) % keep_every_ != 0)) kept_.push_back(std::move(*last_));
  records.groupings = std::move(groupings_);
  records.detailed = std::move(kept_);
  records.distances = std::move(distances_);
}

}  // namespace muster
