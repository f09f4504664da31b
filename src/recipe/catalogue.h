// The catalogue: every choice of every stage, for `muster list`. Stages that keep their own list are asked for it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "data/federated_data.h"

namespace muster {

struct CatalogueStage {
  std::string name;
  std::vector<CatalogueEntry> entries;
};

// Fails only if a built-in recipe is broken.
[[nodiscard]] Result<std::vector<CatalogueStage>> catalogue();

}  // namespace muster
