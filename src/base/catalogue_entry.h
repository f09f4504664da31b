// CatalogueEntry: one choice of a stage, for `muster list`, the documentation and error messages.
#pragma once

#include <string>
#include <vector>

namespace muster {

struct CatalogueEntry {
  std::string name;
  std::string summary;
  std::vector<std::string> keys;  // of the recipe, that belong to this choice
};

}  // namespace muster
