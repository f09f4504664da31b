// Groups of near models whose number nobody has to know (AutoCFL): the largest gap in a client's distances to the
// others bounds its party, each party votes for its member with most samples, and clients are connected with the head
// that got most of their votes.
//
// What the paper leaves open: a client's distance to itself takes no part in the gap search; a gap counts only if it is
// at least `min-gap` of the row's largest distance, otherwise models that differ by chance alone would be separated;
// heads that follow other heads are connected through them; ties go to the lowest client.
#include "grouping/gap_voting.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "grouping/disjoint_sets.h"
#include "grouping/gram.h"
#include "grouping/groupers.h"

namespace muster {
namespace {

double party_reach(std::vector<double>& others, double min_gap) {
  constexpr double kEveryone = std::numeric_limits<double>::infinity();
  std::ranges::sort(others);
  double largest = 0;
  double reach = kEveryone;
  for (std::size_t i = 1; i < others.size(); ++i) {
    if (const double gap = others[i] - others[i - 1]; gap > largest) {
      largest = gap;
      reach = others[i - 1];
    }
  }
  return !others.empty() && largest >= min_gap * others.back() ? reach : kEveryone;
}

}  // namespace

Votes cast_votes(const Rows<double>& distances, std::span<const std::uint32_t> samples, double min_gap, bool weighted) {
  const std::uint32_t count = distances.count();
  Votes votes;
  std::vector<double> party_samples(count);
  std::vector<double> others;
  for (std::uint32_t m = 0; m < count; ++m) {
    const std::span<const double> row = distances.row(m);
    others.assign(row.begin(), row.end());
    others.erase(others.begin() + m);
    votes.reach.push_back(party_reach(others, min_gap));
    std::uint32_t head = count;
    for (std::uint32_t n = 0; n < count; ++n) {
      if (n != m && row[n] > votes.reach[m]) continue;
      party_samples[m] += samples[n];
      if (head == count || samples[n] > samples[head]) head = n;
    }
    votes.head.push_back(head);
  }

  votes.heads = votes.head;
  std::ranges::sort(votes.heads);
  votes.heads.erase(std::unique(votes.heads.begin(), votes.heads.end()), votes.heads.end());
  votes.scores = Rows<double>(count, votes.heads.size());
  for (std::uint32_t m = 0; m < count; ++m) {
    const std::span<const double> row = distances.row(m);
    const auto column =
        static_cast<std::size_t>(std::ranges::lower_bound(votes.heads, votes.head[m]) - votes.heads.begin());
    for (std::uint32_t n = 0; n < count; ++n) {
      if (n != m && row[n] > votes.reach[m]) continue;
      votes.scores.row(n)[column] += weighted ? samples[n] / party_samples[m] : 1.0;
    }
  }
  return votes;
}

std::vector<std::vector<std::uint32_t>> elect(const Votes& votes) {
  const std::uint32_t count = votes.scores.count();
  DisjointSets sets(count);
  for (std::uint32_t n = 0; n < count; ++n) {
    const std::span<const double> scores = votes.scores.row(n);
    sets.join(n, votes.heads[static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin())]);
  }
  return sets.sets();
}

Result<Draft> group_gap_voting(const GroupingOptions& options, const GroupingInput& input, const GroupingCall& call) {
  const double min_gap = *options.min_gap;
  if (!(min_gap >= 0 && min_gap < 1)) {
    return usage_error("grouping.min-gap: {}, want a number >= 0 and < 1", min_gap);
  }
  const std::uint32_t clients = input.vectors.count();
  MUSTER_TRY(check_pairs("gap-voting", clients));

  std::vector<std::uint32_t> whole;  // clients with finite vectors
  Draft draft;
  for (std::uint32_t k = 0; k < clients; ++k) {
    if (std::ranges::all_of(input.vectors.row(k), [](float value) { return std::isfinite(value); })) {
      whole.push_back(k);
    } else {
      draft.groups.push_back({k});
      draft.notes.push_back(
          fmt::format("client {} forms a group of its own: its vector is not finite", client_name(call, k)));
    }
  }
  if (whole.empty()) return draft;
  Rows<float> vectors;
  std::vector<std::uint32_t> samples(input.samples.begin(), input.samples.end());
  if (whole.size() < clients) {
    vectors = Rows<float>(static_cast<std::uint32_t>(whole.size()), input.vectors.width);
    for (std::uint32_t i = 0; i < whole.size(); ++i) {
      std::ranges::copy(input.vectors.row(whole[i]), vectors.row(i).begin());
      samples[i] = input.samples[whole[i]];
    }
  }
  const Rows<double> distances = l2_distances(vectors.values.empty() ? input.vectors : vectors.view());
  for (auto& group : elect(cast_votes(distances, samples, min_gap, *options.weighted))) {
    for (std::uint32_t& member : group) member = whole[member];
    draft.groups.push_back(std::move(group));
  }
  return draft;
}

}  // namespace muster
