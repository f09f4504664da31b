#include "grouping/grouping.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/names.h"
#include "grouping/groupers.h"

namespace muster {
namespace {

struct Method {
  GrouperEntry entry;
  Result<Draft> (*group)(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
};

const std::vector<Method>& methods() {
  static const std::vector<Method> list{
      {{"singletons", "every client is its own group", {}, GroupingNeed::kNothing}, nullptr},
      {{"random", "groups of `size` drawn at random", {"size"}, GroupingNeed::kNothing}, group_random},
      {{"inter-cluster",
        "a client of every cluster of like clients in each group",
        {"groups", "max-iterations", "rows"},
        GroupingNeed::kLabels},
       group_inter_cluster},
      {{"greedy-complement",
        "filled one by one with whoever complements the members best, to `min-samples` or `max-clients`",
        {"score", "min-samples", "max-clients", "first"},
        GroupingNeed::kLabelsOrVectors},
       group_greedy_complement},
      {{"kmeans-deal",
        "drawn in turn from clusters of like clients, to `min-samples` or `max-clients`",
        {"min-samples", "max-clients", "clusters"},
        GroupingNeed::kLabelsOrVectors},
       group_kmeans_deal},
      {{"coefficient-of-variation",
        "groups grow by the client that evens their labels most",
        {"min-size", "max-cov", "tail"},
        GroupingNeed::kLabels},
       group_by_coefficient_of_variation},
      {{"kl-greedy",
        "grown side by side by the client and group that lower a divergence from uniform the most",
        {"min-size"},
        GroupingNeed::kLabels},
       group_kl_greedy},
      {{"cluster-deal",
        "clusters of like clients dealt out to groups of `min-size` and more",
        {"min-size"},
        GroupingNeed::kLabels},
       group_cluster_deal},
      {{"qcid", "clients are drawn that even a group's labels", {"min-size", "lambda"}, GroupingNeed::kLabels},
       group_by_qcid},
      {{"mediator",
        "groups of `size`, filled one by one with whoever brings the labels nearest to uniform",
        {"size"},
        GroupingNeed::kLabels},
       group_mediator},
      {{"decomposed-cosine",
        "updates by their cosines with the leading singular directions, clustered by k-means",
        {"groups"},
        GroupingNeed::kVectors},
       group_decomposed_cosine},
      {{"mean-absolute-cosine",
        "updates by their cosines with all others, clustered by complete linkage",
        {"groups"},
        GroupingNeed::kVectors},
       group_mean_absolute_cosine},
      {{"agglomerative",
        "near vectors merged until there are `groups`, or none nearer than `threshold`",
        {"metric", "linkage", "threshold", "groups"},
        GroupingNeed::kVectors},
       group_agglomerative},
      {{"gap-voting",
        "models bounded by the largest gap in their distances; finds the number of groups itself",
        {"min-gap", "weighted"},
        GroupingNeed::kVectors,
        true},
       group_gap_voting},
      {{"bipartition",
        "one split in two where updates disagree",
        {"epsilon-mean", "epsilon-max", "linkage"},
        GroupingNeed::kVectors},
       group_bipartition},
      {{"nearest-centre",
        "vectors by the nearest centre, given or found by k-means",
        {"groups"},
        GroupingNeed::kVectors},
       group_nearest_centre},
      {{"argmin-loss", "clients by the model with the smallest loss", {"groups"}, GroupingNeed::kVectors},
       group_argmin_loss},
  };
  return list;
}

Result<const Method*> find_method(const std::string& name) {
  std::vector<std::string> names;
  for (const Method& method : methods()) {
    if (method.entry.name == name) return &method;
    names.push_back(method.entry.name);
  }
  return Error{ErrorCode::kUsage, unknown_name("grouping method", name, names)};
}

// The keys that are set, as the user types them.
std::vector<std::string> set_keys(const GroupingOptions& o) {
  std::vector<std::string> keys;
  const auto note = [&](const char* key, bool is_set) {
    if (is_set) keys.emplace_back(key);
  };
  note("size", o.size.has_value());
  note("groups", o.groups.has_value());
  note("max-iterations", o.max_iterations.has_value());
  note("rows", !o.rows.empty());
  note("score", !o.score.empty());
  note("min-samples", o.min_samples.has_value());
  note("max-clients", o.max_clients.has_value());
  note("first", !o.first.empty());
  note("clusters", o.clusters.has_value());
  note("min-size", o.min_size.has_value());
  note("max-cov", o.max_cov.has_value());
  note("tail", !o.tail.empty());
  note("lambda", o.lambda.has_value());
  note("metric", !o.metric.empty());
  note("linkage", !o.linkage.empty());
  note("threshold", o.threshold.has_value());
  note("min-gap", o.min_gap.has_value());
  note("weighted", o.weighted.has_value());
  note("epsilon-mean", o.epsilon_mean.has_value());
  note("epsilon-max", o.epsilon_max.has_value());
  return keys;
}

Status check_input(const Method& method, const GroupingInput& input) {
  const std::size_t clients = input.samples.size();
  const auto check = [&](const char* what, std::size_t entries) -> Status {
    if (entries == 0 || entries == clients) return {};
    return usage_error("{}: {} clients, want {} as everywhere else", what, entries, clients);
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

// Runs the method on some of the clients; the draft's numbers are those of `clients`.
Result<Draft> group_some(const Method& method, const GroupingOptions& options, const GroupingInput& input,
                         const GroupingCall& call, std::span<const std::uint32_t> clients) {
  if (clients.size() == input.samples.size()) return method.group(options, input, call);  // no copy of large vectors
  const std::vector<std::uint32_t> samples = chosen(input.samples, clients);
  const std::vector<std::uint32_t> selected = chosen(input.selected, clients);
  const Rows<std::uint32_t> labels = chosen_rows(input.labels, clients);
  const Rows<float> vectors = chosen_rows(input.vectors, clients);
  GroupingCall own = call;
  own.clients = clients;
  MUSTER_ASSIGN(Draft draft, method.group(options,
                                          {.samples = samples,
                                           .labels = labels,
                                           .vectors = vectors,
                                           .edges = {},
                                           .selected = selected,
                                           .centres = input.centres},
                                          own));
  for (std::vector<std::uint32_t>& group : draft.groups) {
    for (std::uint32_t& member : group) member = clients[member];
  }
  return draft;
}

// Shares `groups` out to edges by their clients: largest remainders, at least one each.
std::vector<std::uint32_t> share_groups(std::uint32_t groups, const std::vector<std::vector<std::uint32_t>>& edges) {
  std::uint64_t clients = 0;
  for (const auto& edge : edges) clients += edge.size();
  std::vector<std::uint32_t> shares(edges.size());
  std::vector<std::pair<std::uint64_t, std::uint32_t>> remainders;
  std::uint64_t given = 0;
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    const std::uint64_t exact = std::uint64_t{groups} * edges[e].size();
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
      MUSTER_CHECK(client < clients && !placed[client], "client {} of {} is in two groups", client, clients);
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

std::vector<GroupId> groups_of_clients(const Grouping& grouping, std::uint32_t clients) {
  std::vector<GroupId> group_of(clients, kNoGroup);
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    for (const ClientId client : grouping.members({g})) group_of[client.value] = {g};
  }
  return group_of;
}

std::vector<GrouperEntry> groupers() {
  std::vector<GrouperEntry> entries;
  for (const Method& method : methods()) entries.push_back(method.entry);
  return entries;
}

Status check_grouping(const GroupingOptions& options) {
  MUSTER_ASSIGN(const Method* const method, find_method(options.method));
  const std::vector<std::string>& own = method->entry.keys;
  for (const std::string& key : set_keys(options)) {
    if (std::ranges::find(own, key) != own.end()) continue;
    if (own.empty()) return usage_error("grouping.{}: not a key of {}, which has none", key, options.method);
    return usage_error("grouping.{}: not a key of {}, whose keys are {}", key, options.method, fmt::join(own, ", "));
  }
  return {};
}

Result<std::uint32_t> wanted_groups(const GroupingOptions& options, const GroupingCall& call) {
  if (call.groups) return *call.groups;
  return usage_error("grouping.groups: not set, want the number of groups that {} shall form", options.method);
}

Result<std::string> chosen_word(const char* key, const std::string& word, const char* fallback,
                                std::initializer_list<const char*> accepted) {
  if (word.empty()) return std::string(fallback);
  if (std::ranges::find(accepted, word) != accepted.end()) return word;
  return usage_error("grouping.{}: \"{}\", want {}", key, word, fmt::join(accepted, " | "));
}

Result<FormedGroups> form_groups(const GroupingOptions& options, const GroupingInput& input, const GroupingCall& call) {
  MUSTER_TRY(check_grouping(options));
  MUSTER_ASSIGN(const Method* const method, find_method(options.method));
  MUSTER_TRY(check_input(*method, input));
  if (!method->group) {
    // Singletons: a list per client, as other methods return, would cost more memory than the clients themselves.
    FormedGroups alone{.grouping = group_singletons(input)};
    if (alone.grouping.count() == 0) return no_samples(input);
    return alone;
  }
  const auto clients = static_cast<std::uint32_t>(input.samples.size());

  std::vector<std::vector<std::uint32_t>> edges;
  std::uint32_t eligible = 0;
  for (std::uint32_t k = 0; k < clients; ++k) {
    const std::uint32_t edge = input.edges.empty() ? 0 : input.edges[k];
    if (edge >= edges.size()) edges.resize(edge + 1);
    if (input.samples[k] == 0) continue;
    edges[edge].push_back(k);
    ++eligible;
  }
  if (eligible == 0) return no_samples(input);

  std::vector<std::uint32_t> numbers;  // of the edges that have clients
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    if (!edges[e].empty()) numbers.push_back(e);
  }
  std::erase_if(edges, [](const auto& edge) { return edge.empty(); });

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
    GroupingCall own = call;
    own.edge = numbers[e];
    if (groups) own.groups = shares[e];
    MUSTER_ASSIGN(Draft draft, group_some(*method, options, input, own, edges[e]));
    std::ranges::move(draft.groups, std::back_inserter(all));
    for (std::string& note : draft.notes) {
      formed.notes.push_back(edges.size() == 1 ? std::move(note) : fmt::format("edge {}: {}", numbers[e], note));
    }
  }
  if (all.empty()) {
    return usage_error("{}",
                       formed.notes.empty() ? fmt::format("{} formed no group", options.method) : formed.notes.front());
  }
  formed.grouping = canonical(std::move(all), clients);
  return formed;
}

}  // namespace muster
