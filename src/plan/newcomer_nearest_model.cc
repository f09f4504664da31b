// To the group whose model is nearest, in L2, to the model that the client sent last (FeSEM, Xie et al. 2021). Who has
// sent none yet counts as the run's first model.
#include <cmath>
#include <limits>

#include "plan/newcomer_rule.h"

namespace muster {
namespace {

// The first of the nearest. A model that is not finite is far from everybody.
Placement nearest(const RowsView<float>& models, std::span<const float> sent) {
  Placement best{.group = 0, .dissimilarity = std::numeric_limits<double>::infinity()};
  for (std::uint32_t g = 0; g < models.count(); ++g) {
    const std::span<const float> model = models.row(g);
    double squares = 0;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const double difference = double{sent[i]} - model[i];
      squares += difference * difference;
    }
    if (const double distance = std::sqrt(squares); distance < best.dissimilarity) {
      best = {.group = g, .dissimilarity = distance};
    }
  }
  return best;
}

class NearestModel final : public NewcomerRule {
 public:
  const NewcomerEntry& entry() const override { return nearest_model_entry(); }
  Result<std::vector<Placement>> place(const KnownGroups& groups, std::span<const ClientId> clients,
                                       const RowsView<float>& told) const override {
    std::vector<Placement> placements;
    for (std::uint32_t i = 0; i < clients.size(); ++i) {
      placements.push_back(nearest(groups.means, told.row(i)));
    }
    return placements;
  }
};

}  // namespace

const NewcomerEntry& nearest_model_entry() {
  static const NewcomerEntry entry{.name = "nearest-model",
                                   .summary = "the group whose model is nearest to the one that the client sent last",
                                   .asks = NewcomerAsks::kSent};
  return entry;
}

std::unique_ptr<NewcomerRule> make_nearest_model() {
  return std::make_unique<NearestModel>();
}

}  // namespace muster
