// To the group whose members' mean weights are nearest to the client's own.
#include "plan/newcomer_rule.h"

namespace muster {
namespace {

class NearestHead final : public NewcomerRule {
 public:
  const NewcomerEntry& entry() const override { return nearest_head_entry(); }
  Result<std::vector<Placement>> place(const KnownGroups& groups, std::span<const ClientId> clients,
                                       const RowsView<float>& told) const override {
    std::vector<Placement> placements;
    for (std::uint32_t i = 0; i < clients.size(); ++i) {
      MUSTER_ASSIGN(const Placement placement, nearest_head(groups.means, told.row(i)));
      placements.push_back(placement);
    }
    return placements;
  }
};

}  // namespace

const NewcomerEntry& nearest_head_entry() {
  static const NewcomerEntry entry{.name = "nearest-head",
                                   .summary = "the group whose mean last layers are nearest to the client's",
                                   .asks = NewcomerAsks::kWeights};
  return entry;
}

std::unique_ptr<NewcomerRule> make_nearest_head() {
  return std::make_unique<NearestHead>();
}

}  // namespace muster
