#include "solver/objective.h"

#include <algorithm>

#include "base/names.h"

namespace muster {
namespace {

struct Choice {
  CatalogueEntry entry;
  std::unique_ptr<Objective> (*make)(const ObjectiveOptions& options);
};

std::vector<Choice> choices() {
  return {
      {{"plain", "the client's own loss", {}}, [](const ObjectiveOptions&) { return make_plain(); }},
      {{"prox", "holds the client near the model it received (FedProx)", {"mu"}},
       [](const ObjectiveOptions& options) { return make_prox(options.mu); }},
      {{"control-variate", "corrects the client's drift by control variates (SCAFFOLD)", {"control"}},
       [](const ObjectiveOptions& options) { return make_control_variate(options.control == "gradient"); }},
      {{"dynamic", "dynamic regularisation (FedDyn)", {"alpha"}},
       [](const ObjectiveOptions& options) { return make_dynamic(options.alpha); }},
      {{"mmd", "holds the client's outputs near those of the model it received (FedMMD)", {"lambda"}},
       [](const ObjectiveOptions& options) { return make_mmd(options.lambda); }},
      {{"fusion",
        "joins the client's features with those of the extractor it received (FedFusion)",
        {"fusion", "share-smoothing"}},
       [](const ObjectiveOptions&) { return make_fusion_objective(); }},
  };
}

}  // namespace

std::vector<CatalogueEntry> objectives() {
  std::vector<CatalogueEntry> entries;
  for (Choice& choice : choices()) entries.push_back(std::move(choice.entry));
  return entries;
}

Result<std::unique_ptr<Objective>> make_objective(const ObjectiveOptions& options) {
  std::vector<std::string> accepted;
  for (const Choice& choice : choices()) {
    if (choice.entry.name == options.name) return choice.make(options);
    accepted.push_back(choice.entry.name);
  }
  return Error{ErrorCode::kUsage, "local.objective: " + unknown_name("objective", options.name, accepted)};
}

}  // namespace muster
