// Groups that grow side by side: there are as many as can have `min-size` members, and the first clients open one each.
// In each step one client joins one group: the pair that lowers the group's divergence from uniform most, or raises it
// least. A class that a group lacks counts as 1. Nothing limits the size of groups; those that end below `min-size` are
// given up and their clients stay idle. Ties go to the lowest client, then to the lowest group.
//
// The grouping of SHARE (Deng et al. 2021) as published with Group-FEL. After a step only the group that grew is looked
// at again, and a client that preferred it looks for another group only when its turn comes: about clients^2 * (classes
// that a client has) operations.
#include "grouping/kl_greedy.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "grouping/groupers.h"
#include "grouping/label_divergence.h"

namespace muster {
namespace {

class GrowingGroups {
 public:
  GrowingGroups(const RowsView<std::uint32_t>& labels, std::uint32_t groups)
      : divergence_(labels), clients_(labels), counts_(groups, labels.width), groups_(groups) {
    for (std::uint32_t g = 0; g < groups; ++g) {
      groups_[g].missing = static_cast<std::uint32_t>(labels.width);
      join(g, g);
    }
  }

  // By how much the group's divergence grows if the client joins.
  [[nodiscard]] std::int64_t change(std::uint32_t client, std::uint32_t group) const {
    const auto counts = counts_.row(group);
    Group grown = groups_[group];
    for (const auto& [label, count] : clients_.row(client)) {
      const std::uint64_t before = counts[label];
      grown.sum += divergence_.x_log_x(before + count) - divergence_.x_log_x(before);
      grown.missing -= before == 0;
    }
    grown.samples += clients_.samples[client];
    return cost(grown) - groups_[group].cost;
  }

  void join(std::uint32_t client, std::uint32_t group) {
    const auto counts = counts_.row(group);
    Group& grown = groups_[group];
    for (const auto& [label, count] : clients_.row(client)) {
      const std::uint64_t before = counts[label];
      counts[label] += count;
      grown.sum += divergence_.x_log_x(before + count) - divergence_.x_log_x(before);
      grown.missing -= before == 0;
    }
    grown.samples += clients_.samples[client];
    grown.cost = cost(grown);
  }

 private:
  struct Group {
    std::int64_t sum = 0;  // of x_log_x() of the counts
    std::uint64_t samples = 0;
    std::uint32_t missing = 0;  // classes without a sample
    std::int64_t cost = 0;
  };

  [[nodiscard]] std::int64_t cost(const Group& group) const {
    return divergence_.of(group.sum, group.samples) + group.missing * LabelDivergence::kUnit;
  }

  LabelDivergence divergence_;
  SparseCounts clients_;
  Rows<std::uint64_t> counts_;
  std::vector<Group> groups_;
};

// The best group for a client. Once that group has grown and is less inviting, `change` is only a bound for the others.
struct Offer {
  std::int64_t change = 0;
  std::uint32_t group = 0;
  bool is_bound = false;
};

Offer best_offer(const GrowingGroups& state, std::uint32_t client, std::uint32_t groups) {
  Offer best{.change = std::numeric_limits<std::int64_t>::max()};
  for (std::uint32_t g = 0; g < groups; ++g) {
    if (const std::int64_t change = state.change(client, g); change < best.change) best = {change, g, false};
  }
  return best;
}

// What is left of an offer after `group` has grown.
void renew(Offer& offer, std::uint32_t group, std::int64_t change) {
  if (change < offer.change) {
    offer = {change, group, false};
  } else if (!offer.is_bound && offer.group == group) {
    offer.is_bound = change > offer.change;
  } else if (!offer.is_bound && change == offer.change) {
    offer.group = std::min(offer.group, group);
  }
}

}  // namespace

std::vector<std::vector<std::uint32_t>> grow_groups(const RowsView<std::uint32_t>& labels, std::uint32_t groups) {
  GrowingGroups state(labels, groups);
  std::vector<std::vector<std::uint32_t>> members(groups);
  for (std::uint32_t g = 0; g < groups; ++g) members[g].push_back(g);
  std::vector<std::uint32_t> waiting(labels.count() - groups);  // ascending
  std::iota(waiting.begin(), waiting.end(), groups);
  std::vector<Offer> offers(waiting.size());
  for (std::size_t i = 0; i < waiting.size(); ++i) offers[i] = best_offer(state, waiting[i], groups);
  while (!waiting.empty()) {
    const auto best = std::ranges::min_element(offers, {}, &Offer::change);
    const auto position = best - offers.begin();
    if (best->is_bound) {
      *best = best_offer(state, waiting[position], groups);
      continue;
    }
    const std::uint32_t group = best->group;
    members[group].push_back(waiting[position]);
    state.join(waiting[position], group);
    waiting.erase(waiting.begin() + position);
    offers.erase(best);
    for (std::size_t i = 0; i < waiting.size(); ++i) renew(offers[i], group, state.change(waiting[i], group));
  }
  return members;
}

Result<Draft> group_kl_greedy(const GroupingOptions& options, const GroupingInput& input, const GroupingCall&) {
  const auto clients = static_cast<std::uint32_t>(input.samples.size());
  MUSTER_ASSIGN(const std::uint32_t min_size, chosen_number("min-size", options.min_size));
  Draft draft;
  if (min_size > clients) {
    draft.notes.push_back(too_few_clients("min-size", min_size, clients));
    return draft;
  }
  draft.groups = grow_groups(input.labels, clients / min_size);
  std::erase_if(draft.groups, [&](const auto& group) { return group.size() < min_size; });
  return draft;
}

}  // namespace muster
