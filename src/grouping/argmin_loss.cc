// Groups of clients whose data one model fits best (IFCA, Ghosh et al. 2020): a client's vector holds its loss under
// each of the models, and it joins the model with the smallest, the first of equals.
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
  for (std::uint32_t k = 0; k < input.vectors.count(); ++k) {
    MUSTER_ASSIGN(const Placement placement, smallest_loss(input.vectors.row(k)));
    best.push_back(placement.group);
  }
  Draft draft{.groups = sets_of(best, models), .notes = {}};
  if (draft.groups.size() < models) {
    draft.notes.push_back(fmt::format("{} of {} models are no client's best", models - draft.groups.size(), models));
  }
  return draft;
}

}  // namespace muster
