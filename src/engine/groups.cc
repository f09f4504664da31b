#include "engine/groups.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/stopwatch.h"
#include "grouping/newcomers.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

// Groups that enter the quality figures; of more groups this many are drawn.
constexpr std::uint32_t kJudgedGroups = 1000;
// Groupings with more groups than this are recorded by their number only.
constexpr std::uint32_t kListedGroups = 10000;

Json ids_of(std::span<const ClientId> clients) {
  Json list = Json::array();
  for (const ClientId client : clients) list.push_back(client.value);
  return list;
}

// As (groups, size of each group, members of all groups, idle clients).
std::string pack(const Grouping& grouping) {
  std::vector<std::uint32_t> words{grouping.count()};
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    words.push_back(static_cast<std::uint32_t>(grouping.members({g}).size()));
  }
  const auto put = [&](std::span<const ClientId> clients) {
    for (const ClientId client : clients) words.push_back(client.value);
  };
  for (std::uint32_t g = 0; g < grouping.count(); ++g) put(grouping.members({g}));
  put(grouping.idle());
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint32_t)};
}

// Fails unless every client below `clients` is there exactly once.
Result<Grouping> unpack(std::string_view packed, std::uint32_t clients) {
  const auto broken = [] { return failure("checkpoint holds groups of another form"); };
  std::vector<std::uint32_t> words(packed.size() / sizeof(std::uint32_t));
  if (words.empty() || packed.size() % sizeof(std::uint32_t) != 0) return broken();
  std::memcpy(words.data(), packed.data(), packed.size());
  const std::size_t groups = words[0];
  if (groups > clients || words.size() != 1 + groups + clients) return broken();
  Grouping grouping;
  std::vector<bool> seen(clients);
  std::size_t at = 1 + groups;
  const auto take = [&](std::size_t count) -> std::optional<std::vector<ClientId>> {
    std::vector<ClientId> ids;
    for (std::size_t i = 0; i < count; ++i, ++at) {
      if (words[at] >= clients || seen[words[at]]) return std::nullopt;
      seen[words[at]] = true;
      ids.push_back({words[at]});
    }
    return ids;
  };
  for (std::size_t g = 0; g < groups; ++g) {
    if (words[1 + g] == 0 || words[1 + g] > words.size() - at) return broken();
    const auto members = take(words[1 + g]);
    if (!members) return broken();
    grouping.add(*members);
  }
  const auto idle = take(words.size() - at);
  if (!idle) return broken();
  for (const ClientId client : *idle) grouping.add_idle(client);
  return grouping;
}

}  // namespace

Groups::Groups(const Recipe& recipe, const ProfileKind& profile, const FederatedData& data, const Network& network,
               WorkerPool& pool, std::span<const std::unique_ptr<ClientLink>> links)
    : recipe_(recipe),
      profile_(profile),
      data_(data),
      network_(network),
      pool_(pool),
      links_(links),
      samples_(data.clients()) {
  for (std::uint32_t k = 0; k < samples_.size(); ++k) samples_[k] = data.train_count({k});
  if (data.edges() > 1) {
    edges_.resize(samples_.size());
    for (std::uint32_t k = 0; k < edges_.size(); ++k) edges_[k] = data.edge({k});
  }
  if (recipe.newcomers.round) {
    late_.resize(samples_.size());
    Stream stream({.seed = recipe.seed, .purpose = Purpose::kSampling, .part = 2});
    for (const std::uint32_t k : stream.sample(data.clients(), recipe.newcomers.clients.of(data.clients()))) {
      late_[k] = true;
    }
  }
}

std::string_view Groups::due(std::uint32_t round) const {
  if (formed_for_ == 0) return round == 1 ? "the run begins" : "there are none yet";
  if (formed_for_ == round || waits_) return {};
  // Late clients that nobody places need new groups to be in one.
  if (round == recipe_.newcomers.round && !places_newcomers()) return "newcomers";
  return round > 1 && regroup_before(recipe_.plan.regroup, round) ? "regroup-every" : "";
}

std::uint64_t Groups::samples() const {
  std::uint64_t sum = 0;
  for (std::uint32_t g = 0; g < grouping_.count(); ++g) {
    for (const ClientId client : grouping_.members({g})) sum += samples_[client.value];
  }
  return sum;
}

Grouping Groups::present(std::uint32_t round) const {
  std::vector<ClientId> clients;
  for (std::uint32_t k = 0; k < samples_.size(); ++k) {
    if (samples_[k] > 0 && !is_late(k, round)) clients.push_back({k});
  }
  Grouping all;
  all.add(clients);
  return all;
}

Result<GroupsFormed> Groups::form(std::uint32_t round, std::string_view why, const RowsView<float>& models,
                                  std::span<const std::uint32_t> selected) {
  GroupsFormed formed;
  if (!recipe_.plan.regroup.on.empty() && formed_for_ == 0) {
    form_everyone(round);
    formed.line = line(round, why, formed);
    return formed;
  }
  std::vector<std::uint32_t> samples = samples_;
  for (std::uint32_t k = 0; k < samples.size() && !late_.empty(); ++k) {
    if (is_late(k, round)) samples[k] = 0;
  }
  Rows<std::uint32_t> labels;
  Rows<float> vectors;
  if (recipe_.profile.kind != "none") {
    std::vector<ClientId> asked;
    for (std::uint32_t k = 0; k < samples.size(); ++k) {
      if (samples[k] > 0) asked.push_back({k});
    }
    const auto present = static_cast<std::uint32_t>(asked.size());
    if (const std::uint32_t wanted = recipe_.profile_clients.of(present); wanted < present) {
      Stream stream({.seed = recipe_.seed, .purpose = Purpose::kGrouping, .round = round, .part = 2});
      std::vector<ClientId> chosen;
      for (const std::uint32_t i : stream.sample(present, wanted)) chosen.push_back(asked[i]);
      for (const ClientId client : asked) samples[client.value] = 0;
      for (const ClientId client : chosen) samples[client.value] = samples_[client.value];
      asked = std::move(chosen);
    }
    MUSTER_ASSIGN(const ClientProfiles told,
                  ask(profile_, {.clients = asked, .round = round, .models = models}, formed));
    // Who told nothing cannot be placed: without samples, as far as grouping is concerned.
    for (const std::uint32_t row : told.missing) samples[asked[row].value] = 0;
    const auto spread = [&]<typename T>(const Rows<T>& told_rows, Rows<T>& all) {
      if (told_rows.width == 0) return;
      all = Rows<T>(data_.clients(), told_rows.width);
      for (std::uint32_t i = 0; i < asked.size(); ++i) {
        std::ranges::copy(told_rows.row(i), all.row(asked[i].value).begin());
      }
    };
    spread(told.labels, labels);
    spread(told.vectors, vectors);
  }

  Status status = form_from(
      round, why, {.samples = samples, .labels = labels, .vectors = vectors, .edges = edges_, .selected = selected},
      formed);
  if (status) return formed;
  if (formed.dropped.empty()) return std::move(status).error();
  // Too many vanished: the groups stay as they are, or nobody has one, and the next round asks again.
  formed.notes.push_back(fmt::format("{} clients told nothing; {}", formed.dropped.size(), status.error().message));
  if (formed_for_ > 0) {
    formed_for_ = round;
  } else {
    grouping_ = {};
    for (std::uint32_t k = 0; k < data_.clients(); ++k) grouping_.add_idle({k});
    measure_cov();
  }
  formed.line = line(round, why, formed);
  return formed;
}

Result<ClientProfiles> Groups::ask(const ProfileKind& kind, const ProfileCall& call, GroupsFormed& formed) {
  const Stopwatch watch(&formed.profile_s);
  MUSTER_ASSIGN(CollectedProfiles told, collect_profiles(kind, call, network_, data_, pool_, links_));
  formed.dropped = std::move(told.dropped);
  formed.bytes_up = told.profiles.bytes_up;
  formed.bytes_down = told.profiles.bytes_down;
  formed.samples_trained = told.samples_trained;
  formed.slowest_flops = told.slowest_flops;
  return std::move(told.profiles);
}

Status Groups::form_from(std::uint32_t round, std::string_view why, const GroupingInput& input, GroupsFormed& formed) {
  GroupingCall call{.seed = recipe_.seed, .round = round};
  if (recipe_.plan.groups) {
    const auto present = static_cast<std::uint32_t>(input.samples.size() - std::ranges::count(input.samples, 0u));
    call.groups = scheduled_groups(*recipe_.plan.groups, round, std::max(1u, present));
  }
  FormedGroups groups;
  {
    const Stopwatch watch(&formed.seconds);
    MUSTER_ASSIGN(groups, form_groups(recipe_.grouping, input, call));
  }
  grouping_ = std::move(groups.grouping);
  formed.notes = std::move(groups.notes);
  formed_for_ = round;
  directions_ = {};
  const bool needed = places_newcomers() || recipe_.aggregation.global == "none";
  if (needed && !input.vectors.empty()) directions_ = group_means(input.vectors, grouping_);
  measure_cov();
  formed.line = line(round, why, formed);
  return {};
}

std::string Groups::line(std::uint32_t round, std::string_view why, const GroupsFormed& formed) const {
  const GroupQuality quality = this->quality();
  Json line{{"round", round},
            {"method", recipe_.grouping.method},
            {"count", grouping_.count()},
            {"why", why},
            {"quality",
             {{"cov_mean", quality.cov_mean},
              {"cpd_median", quality.cpd_median},
              {"balance_ratio", quality.balance_ratio},
              {"covered_classes", quality.covered_classes}}}};
  if (recipe_.profile.kind != "none") {
    line["profile"] = {{"kind", recipe_.profile.kind},
                       {"bytes_up", formed.bytes_up},
                       {"bytes_down", formed.bytes_down},
                       {"reveals", profile_.reveals()}};
    if (recipe_.profile.epsilon) line["profile"]["epsilon"] = *recipe_.profile.epsilon;
  }
  // Where the data have planted clusters: were they found?
  std::vector<std::uint32_t> truth;
  for (std::uint32_t k = 0; k < data_.clients(); ++k) {
    const std::optional<std::uint32_t> cluster = data_.planted_cluster({k});
    if (!cluster) break;
    truth.push_back(*cluster);
  }
  if (truth.size() == data_.clients() && grouping_.count() <= kJudgedGroups) {
    const Agreement found = agreement(grouping_, truth);
    line["truth"] = {{"correct", found.correct},
                     {"clients", found.clients},
                     {"adjusted_rand", found.adjusted_rand},
                     {"mutual_information", found.mutual_information}};
  }
  if (!formed.notes.empty()) line["notes"] = formed.notes;
  line["idle"] = ids_of(grouping_.idle());
  if (grouping_.count() <= kListedGroups) {
    line["members"] = Json::array();
    for (std::uint32_t g = 0; g < grouping_.count(); ++g) line["members"].push_back(ids_of(grouping_.members({g})));
  }
  return line.dump();
}

void Groups::form_everyone(std::uint32_t round) {
  grouping_ = present(round);
  const std::span<const ClientId> members = grouping_.members({0});
  for (std::uint32_t k = 0; k < data_.clients(); ++k) {
    if (!std::ranges::binary_search(members, ClientId{k})) grouping_.add_idle({k});
  }
  formed_for_ = round;
  waits_ = true;
  measure_cov();
}

Result<GroupsFormed> Groups::form_observed(std::uint32_t round, std::string_view why, const ObservedRound& observed) {
  std::vector<std::uint32_t> samples(data_.clients());
  Rows<float> told = observed.vectors;
  reduce_vectors(profile_, told, {});
  Rows<float> vectors(data_.clients(), told.width);
  for (std::uint32_t i = 0; i < observed.clients.size(); ++i) {
    const std::uint32_t k = observed.clients[i].value;
    samples[k] = samples_[k];
    std::ranges::copy(told.row(i), vectors.row(k).begin());
  }
  GroupsFormed formed;
  Status status = form_from(round, why, {.samples = samples, .vectors = vectors, .edges = edges_}, formed);
  const std::size_t there = present(round).members({0}).size();
  if (status) {
    waits_ = false;
  } else if (observed.clients.size() == there) {
    return std::move(status).error();
  } else {
    formed.notes.push_back(
        fmt::format("{} of {} clients took part; {}", observed.clients.size(), there, status.error().message));
  }
  return formed;
}

Result<GroupsFormed> Groups::split(std::uint32_t round, const ObservedRound& observed, std::vector<GroupId>& parents) {
  GroupsFormed formed;
  parents.clear();
  Grouping next;
  bool any = false;
  constexpr std::uint32_t kAbsent = 0xffffffffu;
  std::vector<std::uint32_t> row_of(data_.clients(), kAbsent);
  for (std::uint32_t i = 0; i < observed.clients.size(); ++i) row_of[observed.clients[i].value] = i;
  for (std::uint32_t g = 0; g < grouping_.count(); ++g) {
    const std::span<const ClientId> members = grouping_.members({g});
    std::vector<std::uint32_t> rows;
    for (const ClientId client : members) {
      if (row_of[client.value] != kAbsent) rows.push_back(row_of[client.value]);
    }
    const auto keep = [&] {
      next.add(members);
      parents.push_back({g});
    };
    // The criterion needs everybody's update (Sattler): a group with a missing member waits.
    if (rows.size() < members.size()) {
      keep();
      continue;
    }
    Rows<float> vectors(static_cast<std::uint32_t>(rows.size()), observed.vectors.width);
    std::vector<std::uint32_t> samples;
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      std::ranges::copy(observed.vectors.row(rows[i]), vectors.row(i).begin());
      samples.push_back(samples_[members[i].value]);
    }
    MUSTER_ASSIGN(const FormedGroups halves, form_groups(recipe_.grouping, {.samples = samples, .vectors = vectors},
                                                         {.seed = recipe_.seed, .round = round}));
    if (halves.grouping.count() < 2) {
      keep();
      continue;
    }
    any = true;
    for (std::uint32_t half = 0; half < halves.grouping.count(); ++half) {
      std::vector<ClientId> own;
      for (const ClientId local : halves.grouping.members({half})) own.push_back(members[local.value]);
      next.add(own);
      parents.push_back({g});
    }
  }
  if (!any) {
    parents.clear();
    return formed;
  }
  for (const ClientId client : grouping_.idle()) next.add_idle(client);
  grouping_ = std::move(next);
  formed_for_ = round;
  measure_cov();
  formed.line = line(round, "bipartition", formed);
  return formed;
}

Result<GroupsFormed> Groups::place(std::uint32_t round, std::span<const ClientId> clients,
                                   const RowsView<float>& models) {
  GroupsFormed formed;
  const std::vector<GroupId> group_of = groups_of_clients(grouping_, data_.clients());
  std::vector<ClientId> waiting;
  for (const ClientId client : clients) {
    if (group_of[client.value] == kNoGroup) waiting.push_back(client);
  }
  if (waiting.empty() || grouping_.count() == 0) return formed;

  std::vector<std::vector<ClientId>> joining(grouping_.count());
  Json placed = Json::array();
  const auto join = [&](ClientId client, std::uint32_t group, double dissimilarity) {
    joining[group].push_back(client);
    placed.push_back({{"client", client.value}, {"group", group}, {"dissimilarity", dissimilarity}});
  };
  if (recipe_.newcomers.assign == "random") {
    for (const ClientId client : waiting) {
      Stream stream({.seed = recipe_.seed, .purpose = Purpose::kGrouping, .id = client.value, .part = 3});
      join(client, stream.below(grouping_.count()), 0);
    }
  } else {
    const bool by_loss = recipe_.newcomers.assign == "argmin-loss";
    MUSTER_ASSIGN(const ClientProfiles told, ask(by_loss ? losses_profile() : profile_,
                                                 {.clients = waiting, .round = 1, .models = models}, formed));
    std::optional<GroupDirections> directions;
    if (recipe_.newcomers.assign == "nearest-direction") {
      std::vector<std::uint32_t> sizes;
      for (std::uint32_t g = 0; g < grouping_.count(); ++g) {
        sizes.push_back(static_cast<std::uint32_t>(grouping_.members({g}).size()));
      }
      MUSTER_ASSIGN(directions, GroupDirections::make(directions_, sizes));
    }
    for (std::uint32_t i = 0; i < waiting.size(); ++i) {
      if (std::ranges::binary_search(told.missing, i)) continue;
      const std::span<const float> vector = told.vectors.row(i);
      MUSTER_ASSIGN(const Placement placement, directions ? directions->place(vector)
                                               : by_loss  ? smallest_loss(vector)
                                                          : nearest_head(directions_, vector));
      join(waiting[i], placement.group, placement.dissimilarity);
    }
  }

  Grouping grown;
  std::vector<bool> joined(data_.clients());
  for (std::uint32_t g = 0; g < grouping_.count(); ++g) {
    const std::span<const ClientId> members = grouping_.members({g});
    std::vector<ClientId> all(members.begin(), members.end());
    all.insert(all.end(), joining[g].begin(), joining[g].end());
    std::ranges::sort(all);
    grown.add(all);
    for (const ClientId client : joining[g]) joined[client.value] = true;
  }
  for (const ClientId client : grouping_.idle()) {
    if (!joined[client.value]) grown.add_idle(client);
  }
  grouping_ = std::move(grown);
  measure_cov();
  formed.line =
      Json{{"round", round}, {"method", recipe_.newcomers.assign}, {"why", "newcomers"}, {"placed", placed}}.dump();
  return formed;
}

void Groups::add_labels(std::uint32_t group, std::span<std::uint64_t> counts) const {
  for (const ClientId client : grouping_.members({group})) {
    const std::vector<std::uint32_t> own = data_.label_counts(client);
    for (std::size_t c = 0; c < counts.size(); ++c) counts[c] += own[c];
  }
}

GroupQuality Groups::quality() const {
  Stream stream({.seed = recipe_.seed, .purpose = Purpose::kGrouping, .part = 1});
  Rows<std::uint64_t> counts(std::min(grouping_.count(), kJudgedGroups), data_.classes());
  std::uint32_t judged = 0;
  for (const std::uint32_t g : stream.sample(grouping_.count(), counts.count())) add_labels(g, counts.row(judged++));
  return judge_groups(counts);
}

void Groups::measure_cov() {
  cov_.clear();
  if (!samples_by_cov(recipe_.plan.sampling)) return;
  std::vector<std::uint64_t> row(data_.classes());
  for (std::uint32_t g = 0; g < grouping_.count(); ++g) {
    std::ranges::fill(row, 0);
    add_labels(g, row);
    cov_.push_back(coefficient_of_variation(row));
  }
}

void Groups::save(Checkpoint& checkpoint) const {
  checkpoint.put_uint64("groups-formed-for", formed_for_);
  checkpoint.put_uint64("groups-wait", waits_ ? 1 : 0);
  // Singletons follow from the data alone, and would be the largest part of a checkpoint of a million clients.
  if (recipe_.grouping.method != "singletons") checkpoint.put_string("groups", pack(grouping_));
  checkpoint.put_floats("group-directions", directions_.values);
}

Status Groups::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(const std::uint64_t formed_for, checkpoint.get_uint64("groups-formed-for"));
  if (recipe_.grouping.method == "singletons") {
    grouping_ = group_singletons({.samples = samples_});
  } else {
    MUSTER_ASSIGN(const std::string packed, checkpoint.get_string("groups"));
    MUSTER_ASSIGN(grouping_, unpack(packed, data_.clients()));
  }
  MUSTER_ASSIGN(directions_.values, checkpoint.get_floats("group-directions"));
  if (directions_.values.size() % std::max(1u, grouping_.count()) != 0) {
    return failure("checkpoint holds {} numbers for the directions of {} groups", directions_.values.size(),
                   grouping_.count());
  }
  directions_.width = directions_.values.size() / std::max(1u, grouping_.count());
  MUSTER_ASSIGN(const std::uint64_t waits, checkpoint.get_uint64("groups-wait"));
  formed_for_ = static_cast<std::uint32_t>(formed_for);
  waits_ = waits != 0;
  measure_cov();
  return {};
}

}  // namespace muster
