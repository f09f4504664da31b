#include "grouping/grouping.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "grouping/group_defaults.h"
#include "grouping/groupers.h"

namespace muster {
namespace {

Status check_input(const GroupingMethod& method, const GroupingInput& input) {
  const std::size_t clients = input.samples.size();
  const auto check = [&](const char* what, std::size_t entries) -> Status {
    if (entries == 0 || entries == clients) return {};
    return usage_error("{}: rows for {} clients, but there are {} clients", what, entries, clients);
  };
  MUSTER_TRY(check("labels", input.labels.count()));
  MUSTER_TRY(check("vectors", input.vectors.count()));
  MUSTER_TRY(check("edges", input.edges.size()));
  MUSTER_TRY(check("selected", input.selected.size()));
  const auto lacks = [&](const char* what) {
    return usage_error("grouping.method: {} groups clients by their {}, which are not given", method.entry.name, what);
  };
  switch (method.entry.need) {
    case GroupingNeed::kNothing:
      break;
    case GroupingNeed::kLabels:
      if (input.labels.empty()) return lacks("label counts");
      break;
    case GroupingNeed::kVectors:
      if (input.vectors.empty()) return lacks("vectors");
      break;
    case GroupingNeed::kLabelsOrVectors:
      if (input.labels.empty() && input.vectors.empty()) return lacks("label counts or vectors");
      break;
  }
  if (method.entry.need == GroupingNeed::kNothing || method.entry.need == GroupingNeed::kLabels) return {};
  for (std::uint32_t k = 0; k < input.vectors.count() && !method.entry.takes_broken_vectors; ++k) {
    if (input.samples[k] == 0) continue;
    for (const float value : input.vectors.row(k)) {
      if (!std::isfinite(value)) return failure("vectors: client {} has {}, want finite numbers", k, value);
    }
  }
  return {};
}

template <typename T>
Rows<T> chosen_rows(const RowsView<T>& rows, std::span<const std::uint32_t> clients) {
  if (rows.empty()) return {};
  Rows<T> chosen(static_cast<std::uint32_t>(clients.size()), rows.width);
  for (std::uint32_t i = 0; i < clients.size(); ++i) std::ranges::copy(rows.row(clients[i]), chosen.row(i).begin());
  return chosen;
}

std::vector<std::uint32_t> chosen(std::span<const std::uint32_t> values, std::span<const std::uint32_t> clients) {
  std::vector<std::uint32_t> result;
  if (values.empty()) return result;
  result.reserve(clients.size());
  for (const std::uint32_t client : clients) result.push_back(values[client]);
  return result;
}

// Methods may be added from outside: what they answer is checked like any input.
Status check_draft(const std::string& method, const Draft& draft, std::size_t clients) {
  std::vector<bool> placed(clients);
  for (const std::vector<std::uint32_t>& group : draft.groups) {
    if (group.empty()) return failure("grouping method {} formed a group without clients", method);
    for (const std::uint32_t client : group) {
      if (client >= clients) {
        return failure("grouping method {} put client {} in a group, want 0 to {}", method, client, clients - 1);
      }
      if (placed[client]) return failure("grouping method {} put client {} in two groups", method, client);
      placed[client] = true;
    }
  }
  return {};
}

// Runs the method on some of the clients; the draft's numbers are those of `clients`.
Result<Draft> group_some(const GroupingMethod& method, const GroupingOptions& options, const GroupingInput& input,
                         const GroupingCall& call, std::span<const std::uint32_t> clients) {
  GroupingCall own = call;
  if (clients.size() == input.samples.size()) {  // no copy of large vectors
    MUSTER_ASSIGN(Draft draft, method.group(options, input, own));
    MUSTER_TRY(check_draft(method.entry.name, draft, clients.size()));
    return draft;
  }
  const std::vector<std::uint32_t> samples = chosen(input.samples, clients);
  const std::vector<std::uint32_t> selected = chosen(input.selected, clients);
  const Rows<std::uint32_t> labels = chosen_rows(input.labels, clients);
  const Rows<float> vectors = chosen_rows(input.vectors, clients);
  own.clients = clients;
  MUSTER_ASSIGN(Draft draft, method.group(options,
                                          {.samples = samples,
                                           .labels = labels,
                                           .vectors = vectors,
                                           .edges = {},
                                           .selected = selected,
                                           .centres = input.centres},
                                          own));
  MUSTER_TRY(check_draft(method.entry.name, draft, clients.size()));
  for (std::vector<std::uint32_t>& group : draft.groups) {
    for (std::uint32_t& member : group) member = clients[member];
  }
  return draft;
}

struct Edge {
  std::uint32_t number = 0;
  std::vector<std::uint32_t> clients;  // with samples, ascending; at least one
};

std::vector<Edge> edges_of(const GroupingInput& input) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> clients;  // numbers may be anything
  for (std::uint32_t k = 0; k < input.samples.size(); ++k) {
    if (input.samples[k] > 0) clients[input.edges.empty() ? 0 : input.edges[k]].push_back(k);
  }
  std::vector<Edge> edges;
  for (auto& [number, members] : clients) edges.push_back({number, std::move(members)});
  return edges;
}

// Shares `groups` out to edges by their clients: largest remainders, at least one each.
std::vector<std::uint32_t> share_groups(std::uint32_t groups, const std::vector<Edge>& edges) {
  std::uint64_t clients = 0;
  for (const Edge& edge : edges) clients += edge.clients.size();
  std::vector<std::uint32_t> shares(edges.size());
  std::vector<std::pair<std::uint64_t, std::uint32_t>> remainders;
  std::uint64_t given = 0;
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    const std::uint64_t exact = std::uint64_t{groups} * edges[e].clients.size();
    shares[e] = static_cast<std::uint32_t>(exact / clients);
    given += shares[e];
    remainders.emplace_back(exact % clients, e);
  }
  std::ranges::stable_sort(remainders, [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; given < groups; ++i, ++given) ++shares[remainders[i].second];
  for (std::uint32_t& share : shares) share = std::max(share, 1u);
  return shares;
}

Error no_samples(const GroupingInput& input) {
  return failure("none of the {} clients has training samples", input.samples.size());
}

// Members ascending, groups by their first member, everyone else idle.
Grouping canonical(std::vector<std::vector<std::uint32_t>> groups, std::uint32_t clients) {
  for (auto& group : groups) std::ranges::sort(group);
  std::ranges::sort(groups, [](const auto& a, const auto& b) { return a.front() < b.front(); });
  Grouping grouping;
  std::vector<bool> placed(clients);
  std::vector<ClientId> members;
  for (const auto& group : groups) {
    members.clear();
    for (const std::uint32_t client : group) {
      placed[client] = true;
      members.push_back({client});
    }
    grouping.add(members);
  }
  for (std::uint32_t k = 0; k < clients; ++k) {
    if (!placed[k]) grouping.add_idle({k});
  }
  return grouping;
}

}  // namespace

void Grouping::add(std::span<const ClientId> members) {
  const bool alone = ends_.empty() && members.size() == 1;
  if (!alone && ends_.empty()) {
    ends_.resize(members_.size());
    std::iota(ends_.begin(), ends_.end(), 1u);
  }
  members_.insert(members_.end(), members.begin(), members.end());
  if (!alone) ends_.push_back(static_cast<std::uint32_t>(members_.size()));
}

std::vector<GroupId> groups_of_clients(const Grouping& grouping, std::uint32_t clients) {
  std::vector<GroupId> group_of(clients, kNoGroup);
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    for (const ClientId client : grouping.members({g})) group_of[client.value] = {g};
  }
  return group_of;
}

Result<std::string> chosen_word(const char* key, const std::string& word, std::initializer_list<const char*> accepted) {
  if (std::ranges::find(accepted, word) != accepted.end()) return word;
  return usage_error("grouping.{}: \"{}\", want {}", key, word, fmt::join(accepted, " | "));
}

Result<FormedGroups> form_groups(const GroupingOptions& given, const GroupingInput& input, const GroupingCall& call) {
  MUSTER_TRY(check_grouping(given, {.groups_in_call = call.groups.has_value(), .centres = !input.centres.empty()}));
  const GroupingOptions options = with_defaults(given, static_cast<std::uint32_t>(input.labels.width));
  MUSTER_ASSIGN(const GroupingMethod* const method, find_grouping_method(options.method));
  MUSTER_TRY(check_input(*method, input));
  if (!method->group) {
    // Singletons: a list per client, as other methods return, would cost more memory than the clients themselves.
    FormedGroups alone{.grouping = group_singletons(input)};
    if (alone.grouping.count() == 0) return no_samples(input);
    return alone;
  }
  const std::vector<Edge> edges = edges_of(input);
  std::uint32_t eligible = 0;
  for (const Edge& edge : edges) eligible += static_cast<std::uint32_t>(edge.clients.size());
  if (eligible == 0) return no_samples(input);

  const std::optional<std::uint32_t> groups = call.groups ? call.groups : options.groups;
  std::vector<std::uint32_t> shares;
  if (groups) {
    if (*groups == 0 || *groups > eligible) {
      return usage_error("grouping.groups: {}, want 1 to {}, the number of clients with samples", *groups, eligible);
    }
    shares = share_groups(*groups, edges);
  }

  FormedGroups formed;
  std::vector<std::vector<std::uint32_t>> all;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto name = [&] { return fmt::format("edge {}", edges[e].number); };
    GroupingCall own = call;
    own.edge = edges[e].number;
    if (groups) own.groups = shares[e];
    Result<Draft> draft = group_some(*method, options, input, own, edges[e].clients);
    if (!draft) return edges.size() == 1 ? std::move(draft).error() : std::move(draft).error().within(name());
    std::ranges::move(draft->groups, std::back_inserter(all));
    for (std::string& note : draft->notes) {
      formed.notes.push_back(edges.size() == 1 ? std::move(note) : fmt::format("{}: {}", name(), note));
    }
  }
  if (all.empty()) {
    return usage_error("{}",
                       formed.notes.empty() ? fmt::format("{} formed no group", options.method) : formed.notes.front());
  }
  formed.grouping = canonical(std::move(all), static_cast<std::uint32_t>(input.samples.size()));
  return formed;
}

}  // namespace muster
