#include "recipe/tasks.h"

#include <algorithm>

#include "recipe/keys.h"

namespace muster {

bool belongs_to_task(const RecipeKey& key) {
  static constexpr std::string_view kSections[] = {"data", "model", "evaluation", "stop", "faults", "cost"};
  static constexpr std::string_view kKeys[] = {
      "rounds",
      "seed",
      "target-accuracy",
      "budget",
      "checkpoint-every",
      "local.epochs",
      "local.steps",
      "local.batch-size",
      "local.learning-rate",
      "local.learning-rate-decay",
      "local.schedule",
      "local.schedule-rounds",
      "local.schedule-factor",
      "local.momentum",
      "local.weight-decay",
      "local.optimizer",
      "local.keep-optimizer",
      "local.state-limit-mb",
      "newcomers.round",
      "newcomers.clients",
  };
  // Samples that a method asks for beside the data or makes of them, and what it does to a model before it is scored.
  const std::string name = full_name(key);
  if (name == "data.exemplars" || name == "data.augment-minority" || name == "evaluation.fine-tune") return false;
  return std::ranges::find(kSections, key.section) != std::end(kSections) ||
         std::ranges::find(kKeys, name) != std::end(kKeys);
}

}  // namespace muster
