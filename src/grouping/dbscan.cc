// Groups of clients that are connected through dense places (DBSCAN, Ester et al. 1996). A client with `min-size`
// clients within `threshold`, itself among them, is at the core of a group; cores that are near each other share one,
// and clients near a core join the group of the nearest core, the first of equals. All others are noise: alone
// (`tail = keep`), with the group of the nearest core (merge), or idle (discard).
//
// Where the threshold is not set it is twice what the median client needs to have `min-size` clients within: in groups
// of at least that size it does not depend on the scale of the vectors, nor on how far apart groups are.
//
// The original gives a client between two groups to whichever is found first; by the nearest core, the answer does not
// depend on the order of clients. Where nobody is at a core there is nothing to merge with, and everybody is alone.
#include <algorithm>
#include <limits>
#include <optional>

#include "grouping/disjoint_sets.h"
#include "grouping/gram.h"
#include "grouping/group_defaults.h"
#include "grouping/groupers.h"
#include "grouping/updates.h"

namespace muster {
namespace {

struct Choice {
  std::string metric;
  std::string tail;
  std::uint32_t min_size = 0;
};

Result<Choice> chosen(const GroupingOptions& given) {
  const GroupingOptions options = with_defaults(given, 0);
  Choice choice;
  MUSTER_ASSIGN(choice.metric, chosen_word("metric", options.metric, {"l1", "l2", "cosine"}));
  MUSTER_ASSIGN(choice.tail, chosen_word("tail", options.tail, {"discard", "keep", "merge"}));
  MUSTER_ASSIGN(choice.min_size, chosen_number("min-size", options.min_size));
  return choice;
}

double usual_threshold(const Rows<double>& distances, std::uint32_t min_size) {
  std::vector<double> needed;
  const auto place = static_cast<std::ptrdiff_t>(std::min(min_size, distances.count()) - 1);  // the first is itself
  for (std::uint32_t i = 0; i < distances.count(); ++i) {
    std::vector<double> row(distances.row(i).begin(), distances.row(i).end());
    std::ranges::nth_element(row, row.begin() + place);
    needed.push_back(row[static_cast<std::size_t>(place)]);
  }
  const auto middle = static_cast<std::ptrdiff_t>(needed.size() / 2);
  std::ranges::nth_element(needed, needed.begin() + middle);
  return 2 * needed[static_cast<std::size_t>(middle)];
}

std::vector<bool> cores_of(const Rows<double>& distances, double threshold, std::uint32_t min_size) {
  std::vector<bool> cores(distances.count());
  for (std::uint32_t i = 0; i < distances.count(); ++i) {
    std::uint32_t near = 1;
    for (std::uint32_t j = 0; j < distances.count(); ++j) near += j != i && distances.row(i)[j] <= threshold ? 1 : 0;
    cores[i] = near >= min_size;
  }
  return cores;
}

// The core that is nearest to client i; nothing if there are none.
struct NearestCore {
  std::uint32_t client = 0;
  double distance = std::numeric_limits<double>::infinity();
};
std::optional<NearestCore> nearest_core(const Rows<double>& distances, const std::vector<bool>& cores,
                                        std::uint32_t i) {
  std::optional<NearestCore> nearest;
  for (std::uint32_t j = 0; j < cores.size(); ++j) {
    const double distance = distances.row(i)[j];
    if (cores[j] && (!nearest || distance < nearest->distance)) nearest = {j, distance};
  }
  return nearest;
}

}  // namespace

Status check_dbscan(const GroupingOptions& options, const KnownAhead&) {
  MUSTER_TRY(chosen(options));
  if (!options.threshold || *options.threshold >= 0) return {};
  return usage_error("grouping.threshold: {}, want >= 0", *options.threshold);
}

Result<Draft> group_dbscan(const GroupingOptions& options, const GroupingInput& input, const GroupingCall&) {
  MUSTER_ASSIGN(const Choice choice, chosen(options));
  const std::uint32_t clients = input.vectors.count();
  MUSTER_TRY(check_pairs("dbscan", clients));
  const Rows<double> distances = distances_by(choice.metric, input.vectors);
  const double threshold = options.threshold ? *options.threshold : usual_threshold(distances, choice.min_size);
  const std::vector<bool> cores = cores_of(distances, threshold, choice.min_size);
  DisjointSets sets(clients);
  std::vector<std::uint32_t> noise;
  for (std::uint32_t i = 0; i < clients; ++i) {
    if (cores[i]) {
      for (std::uint32_t j = 0; j < i; ++j) {
        if (cores[j] && distances.row(i)[j] <= threshold) sets.join(i, j);
      }
      continue;
    }
    const std::optional<NearestCore> core = nearest_core(distances, cores, i);
    const bool near = core && core->distance <= threshold;
    if (!near) noise.push_back(i);
    if (core && (near || choice.tail == "merge")) sets.join(i, core->client);
  }
  Draft draft{.groups = sets.sets(), .notes = {}};
  if (noise.empty()) return draft;
  if (choice.tail == "discard") {
    std::erase_if(draft.groups, [&](const std::vector<std::uint32_t>& group) {
      return group.size() == 1 && std::ranges::binary_search(noise, group[0]);
    });
  }
  draft.notes.push_back(fmt::format("{} of {} clients are near no dense group and {}", noise.size(), clients,
                                    choice.tail == "discard"                           ? "stay out"
                                    : choice.tail == "merge" && noise.size() < clients ? "join the nearest"
                                                                                       : "stay alone"));
  return draft;
}

}  // namespace muster
