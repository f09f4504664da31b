// A run's folder, removed for good.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace muster {

// All that is in the folder, recipe.toml last, so that a removal that is cut short can be done again. Links in it are
// removed, not what they lead to. Refuses a folder that is a link or no run, and a run that a process works on.
[[nodiscard]] Status remove_run(const std::filesystem::path& folder);

}  // namespace muster
