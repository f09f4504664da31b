// Groups of clients whose data one model fits best (IFCA, Ghosh et al. 2020): a client's vector holds its loss under
// each of the models, and it joins the model with the smallest, the first of equals. A loss that is not finite counts
// as +infinity; a client without any finite loss joins the first model.
#include <cmath>

#include "grouping/groupers.h"
#include "grouping/newcomers.h"
#include "grouping/updates.h"

namespace muster {

Result<Draft> group_argmin_loss(const GroupingOptions& options, const GroupingInput& input, const GroupingCall&) {
  const auto models = static_cast<std::uint32_t>(input.vectors.width);
  if (options.groups && *options.groups != models) {
    return usage_error("grouping.groups: {}, want {}, the number of models whose losses are given", *options.groups,
                       models);
  }
  std::vector<std::uint32_t> best;
  std::uint32_t lost = 0;
  for (std::uint32_t k = 0; k < input.vectors.count(); ++k) {
    MUSTER_ASSIGN(const Placement placement, smallest_loss(input.vectors.row(k)));
    best.push_back(placement.group);
    lost += std::isinf(placement.dissimilarity) ? 1 : 0;
  }
  Draft draft{.groups = sets_of(best, models), .notes = {}};
  if (draft.groups.size() < models) {
    draft.notes.push_back(
        fmt::format("no client has its smallest loss with {} of the {} models", models - draft.groups.size(), models));
  }
  if (lost > 0) {
    draft.notes.push_back(
        fmt::format("{} of {} clients have no finite loss and join the first model", lost, best.size()));
  }
  return draft;
}

}  // namespace muster
