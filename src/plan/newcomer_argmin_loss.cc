// To the group whose model has the smallest loss on the client's samples.
#include "plan/newcomer_rule.h"

namespace muster {
namespace {

class ArgminLoss final : public NewcomerRule {
 public:
  const NewcomerEntry& entry() const override { return argmin_loss_entry(); }
  Result<std::vector<Placement>> place(const KnownGroups&, std::span<const ClientId> clients,
                                       const RowsView<float>& told) const override {
    std::vector<Placement> placements;
    for (std::uint32_t i = 0; i < clients.size(); ++i) {
      MUSTER_ASSIGN(const Placement placement, smallest_loss(told.row(i)));
      placements.push_back(placement);
    }
    return placements;
  }
};

}  // namespace

const NewcomerEntry& argmin_loss_entry() {
  static const NewcomerEntry entry{.name = "argmin-loss",
                                   .summary = "the group whose model has the smallest loss on the client's samples",
                                   .asks = NewcomerAsks::kLosses};
  return entry;
}

std::unique_ptr<NewcomerRule> make_argmin_loss() {
  return std::make_unique<ArgminLoss>();
}

}  // namespace muster
