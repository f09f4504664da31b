// To the group whose first direction makes the smallest angle with the client's own (FedGroup).
#include "plan/newcomer_rule.h"

namespace muster {
namespace {

class NearestDirection final : public NewcomerRule {
 public:
  const NewcomerEntry& entry() const override { return nearest_direction_entry(); }
  Result<std::vector<Placement>> place(const KnownGroups& groups, std::span<const ClientId> clients,
                                       const RowsView<float>& told) const override {
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t g = 0; g < groups.grouping.count(); ++g) {
      sizes.push_back(static_cast<std::uint32_t>(groups.grouping.members({g}).size()));
    }
    MUSTER_ASSIGN(const GroupDirections directions, GroupDirections::make(groups.means, sizes));
    std::vector<Placement> placements;
    for (std::uint32_t i = 0; i < clients.size(); ++i) {
      MUSTER_ASSIGN(const Placement placement, directions.place(told.row(i)));
      placements.push_back(placement);
    }
    return placements;
  }
};

}  // namespace

const NewcomerEntry& nearest_direction_entry() {
  static const NewcomerEntry entry{
      .name = "nearest-direction",
      .summary = "the group whose direction makes the smallest angle with the client's first update (FedGroup)",
      .asks = NewcomerAsks::kUpdates};
  return entry;
}

std::unique_ptr<NewcomerRule> make_nearest_direction() {
  return std::make_unique<NearestDirection>();
}

}  // namespace muster
