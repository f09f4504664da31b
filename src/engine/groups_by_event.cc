// Groups that an event forms, or splits, from what the members of an ordinary round sent.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/stopwatch.h"
#include "engine/groups.h"
#include "grouping/group_defaults.h"
#include "train/profile_collector.h"

namespace muster {
std::uint32_t Groups::observed_from() const {
  return std::min(event_->earliest(), recipe_.plan.regroup.calibrate.value_or(event_->earliest()));
}

void Groups::calibrate(std::uint32_t round, const ObservedRound& observed) {
  const std::optional<std::uint32_t>& wanted = recipe_.plan.regroup.calibrate;
  if (!wanted || round < *wanted || update_length_ > 0 || observed.clients().empty()) return;
  double sum = 0;
  for (std::uint32_t i = 0; i < observed.clients().size(); ++i) {
    double squares = 0;
    for (const float value : observed.vectors().view().row(i)) squares += double{value} * value;
    sum += std::sqrt(squares);
  }
  update_length_ = sum / static_cast<double>(observed.clients().size());
}

Result<GroupsFormed> Groups::follow_event(std::uint32_t round, const ObservedRound& observed, const Models& models) {
  return event_->entry().splits ? split(round, observed, models) : form_observed(round, observed);
}

Result<GroupsFormed> Groups::form_observed(std::uint32_t round, const ObservedRound& observed) {
  const Roster& roster = federation_.roster();
  Rows<float> told = observed.vectors();
  reduce_vectors(federation_.profile_kind(), told, {});
  std::vector<std::uint32_t> samples(roster.clients());
  Rows<float> vectors(roster.clients(), told.width);
  for (std::uint32_t i = 0; i < observed.clients().size(); ++i) {
    const ClientId client = observed.clients()[i];
    samples[client.value] = roster.train_samples(client);
    std::ranges::copy(told.row(i), vectors.row(client.value).begin());
  }
  GroupsFormed formed;
  Status status = form_from(round, {.samples = samples, .vectors = vectors, .edges = roster.edge_of()}, formed);
  if (!status) {
    const std::size_t there = roster.present(round).size();
    if (observed.clients().size() == there) return std::move(status).error();
    formed.notes.push_back(
        fmt::format("{} of {} clients took part; {}", observed.clients().size(), there, status.error().message));
    return formed;
  }
  waits_ = false;
  if (!means_.values.empty()) means_start_ = observed.start();
  if (!observed.models().values.empty()) {
    const std::size_t size = federation_.network().size();
    formed.starts = Rows<float>(grouping_.count(), size);
    WeightedMean mean;
    for (std::uint32_t g = 0; g < grouping_.count(); ++g) {
      mean.reset(size);
      for (const ClientId client : grouping_.members({g})) {
        const auto row = std::ranges::find(observed.clients(), client) - observed.clients().begin();
        mean.add(observed.models().row(static_cast<std::uint32_t>(row)), roster.train_samples(client));
      }
      mean.store(formed.starts.row(g));
    }
  }
  formed.line = line(round, event_->entry().name, formed);
  return formed;
}

Result<GroupsFormed> Groups::split(std::uint32_t round, const ObservedRound& observed, const Models& models) {
  const Roster& roster = federation_.roster();
  constexpr std::uint32_t kAbsent = 0xffffffffu;
  std::vector<std::uint32_t> row_of(roster.clients(), kAbsent);
  for (std::uint32_t i = 0; i < observed.clients().size(); ++i) row_of[observed.clients()[i].value] = i;

  GroupsFormed formed;
  GroupingOptions method = recipe_.grouping;
  if (recipe_.plan.regroup.calibrate) {
    if (update_length_ == 0) return formed;
    method.epsilon_mean = method.epsilon_mean.value_or(kShareOfMean) * update_length_;
    method.epsilon_max = method.epsilon_max.value_or(kShareOfLongest) * update_length_;
  }
  Grouping next;
  std::vector<GroupId> parents;
  for (std::uint32_t g = 0; g < grouping_.count(); ++g) {
    const std::span<const ClientId> members = grouping_.members({g});
    const auto keep = [&] {
      next.add(members);
      parents.push_back({g});
    };
    // The criterion needs everybody's update (Sattler): a group with a missing member waits.
    if (std::ranges::any_of(members, [&](ClientId client) { return row_of[client.value] == kAbsent; })) {
      keep();
      continue;
    }
    Rows<float> vectors(static_cast<std::uint32_t>(members.size()), observed.vectors().width);
    std::vector<std::uint32_t> samples;
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      std::ranges::copy(observed.vectors().row(row_of[members[i].value]), vectors.row(i).begin());
      samples.push_back(roster.train_samples(members[i]));
    }
    FormedGroups halves;
    {
      const Stopwatch watch(&formed.seconds);
      MUSTER_ASSIGN(halves, form_groups(method, {.samples = samples, .vectors = vectors},
                                        {.seed = recipe_.seed, .round = round}));
    }
    if (halves.grouping.count() < 2) {
      for (const std::string& note : halves.notes)
        formed.notes.push_back(fmt::format("group {}: {}", next.count(), note));
      keep();
      continue;
    }
    for (std::uint32_t half = 0; half < halves.grouping.count(); ++half) {
      std::vector<ClientId> own;
      for (const ClientId local : halves.grouping.members({half})) own.push_back(members[local.value]);
      next.add(own);
      parents.push_back({g});
    }
  }
  if (next.count() == grouping_.count()) {
    // Said once, and not in every round until something happens.
    if (std::exchange(said_why_unsplit_, true)) formed.notes.clear();
    return formed;
  }
  said_why_unsplit_ = false;
  take(std::move(next));
  formed_for_ = round;
  formed.anew = true;
  formed.starts = Rows<float>(static_cast<std::uint32_t>(parents.size()), federation_.network().size());
  for (std::uint32_t g = 0; g < parents.size(); ++g) {
    std::ranges::copy(models.of(parents[g]), formed.starts.row(g).begin());
  }
  if (recipe_.evaluation.distances) {
    std::vector<ClientVector> sent;
    for (std::uint32_t i = 0; i < observed.clients().size(); ++i) {
      sent.push_back({observed.clients()[i], observed.vectors().row(i)});
    }
    formed.distances = distances(std::move(sent));
  }
  formed.line = line(round, event_->entry().name, formed);
  return formed;
}

}  // namespace muster
