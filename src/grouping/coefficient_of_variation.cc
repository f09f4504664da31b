// Groups whose label counts b vary little between classes: CoV = std(b) / mean(b) (Group-FEL, algorithm 2). From a
// random client on, the client that gives the lowest CoV joins, ties to the lowest id, until the group has `min-size`
// members and its CoV is down to `max-cov`.
//
// `tail` decides what becomes of a group that stays too small. discard: as the authors' programs do, a client joins
// only if it strictly lowers the CoV, and a group below `min-size` is given up, its clients idle. keep: as the paper
// says, any client joins a group below `min-size`, and the last group may be small. merge: as keep, but the last
// group's clients join the groups whose CoV they lower most or raise least.
//
// Who joins is decided in integers. Floats only sort out candidates that are certainly worse.
#include <algorithm>
#include <optional>

#include "grouping/groupers.h"
#include "grouping/label_pool.h"
#include "grouping/label_spread.h"

namespace muster {
namespace {

struct Group {
  std::vector<std::uint32_t> members;
  std::vector<std::uint64_t> counts;
  LabelSpread spread;

  explicit Group(std::size_t classes) : counts(classes) {}

  void add(std::uint32_t client, std::span<const std::uint32_t> row) {
    members.push_back(client);
    spread = joined_spread(spread, counts, row);
    for (std::size_t y = 0; y < counts.size(); ++y) counts[y] += row[y];
  }
};

class Filler {
 public:
  Filler(const RowsView<std::uint32_t>& labels, std::span<const std::uint32_t> clients)
      : labels_(labels), pool_(labels, clients) {}

  [[nodiscard]] std::uint32_t left() const { return pool_.size(); }

  Group begin(Stream& stream) {
    pool_.begin_group();
    Group group(labels_.width);
    add(group, pool_.place_of(stream.below(pool_.size())));
    return group;
  }

  void add(Group& group, Place place) {
    const std::uint32_t client = pool_.client(place);
    group.add(client, labels_.row(client));
    pool_.remove(place);
    pool_.join(labels_.row(client), group.counts);
  }

  struct Candidate {
    Place place;
    LabelSpread spread;  // of the group with it
  };

  // Precondition: left() > 0.
  Candidate best_for(const Group& group) {
    const float low = score_joins(pool_, static_cast<float>(group.spread.squares),
                                  static_cast<float>(group.spread.total), scores_, lows_);
    // A score has the roundings of its dot and at most 12 of its own: three sums, squares and totals as floats, the
    // square and the quotient. The best is within twice that of the lowest; the rest is slack for second order.
    const float error = static_cast<float>(pool_.roundings() + 16) * 0x1p-24f;
    const float bound = low * (1 + 3 * error);
    std::optional<Candidate> best;
    for (std::size_t block = 0; block < lows_.size(); ++block) {
      if (lows_[block] > bound) continue;
      const std::size_t end = std::min(scores_.size(), (block + 1) * kScoreBlock);
      for (std::size_t i = block * kScoreBlock; i < end; ++i) {
        if (scores_[i] > bound) continue;
        const auto place = static_cast<Place>(i);
        const auto row = labels_.row(pool_.client(place));
        if (best && std::ranges::equal(row, labels_.row(pool_.client(best->place)))) continue;  // many alike are common
        const LabelSpread spread = joined_spread(group.spread, group.counts, row);
        if (!best || more_even(spread, best->spread)) best = {place, spread};
      }
    }
    return *best;
  }

 private:
  RowsView<std::uint32_t> labels_;
  LabelPool<float> pool_;
  std::vector<float> scores_, lows_;
};

// Compared in floating point: differences of two roots have no short exact form.
void merge_into(std::vector<Group>& groups, const Group& tail, const RowsView<std::uint32_t>& labels) {
  std::vector<std::uint32_t> members = tail.members;
  std::ranges::sort(members);
  for (const std::uint32_t client : members) {
    const auto row = labels.row(client);
    const auto rise = [&](const Group& group) {
      return cov_of(joined_spread(group.spread, group.counts, row), labels.width) - cov_of(group.spread, labels.width);
    };
    std::size_t best = 0;
    double lowest = rise(groups[0]);
    for (std::size_t g = 1; g < groups.size(); ++g) {
      if (const double own = rise(groups[g]); own < lowest) {
        lowest = own;
        best = g;
      }
    }
    groups[best].add(client, row);
  }
}

}  // namespace

Result<Draft> group_by_coefficient_of_variation(const GroupingOptions& options, const GroupingInput& input,
                                                const GroupingCall& call) {
  MUSTER_ASSIGN(const std::uint32_t min_size, chosen_number("min-size", options.min_size));
  const double max_cov = *options.max_cov;
  if (!(max_cov >= 0)) return usage_error("grouping.max-cov: {}, want >= 0", max_cov);
  MUSTER_ASSIGN(const std::string tail, chosen_word("tail", options.tail, {"discard", "keep", "merge"}));
  MUSTER_TRY(check_label_totals(input.labels));
  const bool discard = tail == "discard";

  Draft draft;
  const std::vector<std::uint32_t> clients = clients_with_labels(input.labels);
  if (min_size > clients.size()) {
    draft.notes.push_back(
        fmt::format("grouping.min-size: {}, but only {} clients have label counts", min_size, clients.size()));
    if (tail != "keep" || clients.empty()) return draft;
  }

  Stream stream = grouping_stream(call);
  Filler filler(input.labels, clients);
  std::vector<Group> groups;
  while (filler.left() > 0) {
    Group group = filler.begin(stream);
    while (filler.left() > 0) {
      const bool small = group.members.size() < min_size;
      const int above = small ? 1 : compare_cov(group.spread, input.labels.width, max_cov);
      if (above < 0 || (above == 0 && !discard)) break;
      const Filler::Candidate best = filler.best_for(group);
      if ((!small || discard) && !more_even(best.spread, group.spread)) break;
      filler.add(group, best.place);
    }
    if (group.members.size() >= min_size || tail == "keep") {
      groups.push_back(std::move(group));
    } else if (tail == "merge") {
      merge_into(groups, group, input.labels);
    }
  }
  if (groups.empty()) {
    draft.notes.push_back(
        fmt::format("grouping.tail: discard, but no group reached {} clients that each lower its coefficient of "
                    "variation; try keep or merge",
                    min_size));
  }
  for (Group& group : groups) draft.groups.push_back(std::move(group.members));
  return draft;
}

}  // namespace muster
