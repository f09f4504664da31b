// A run of a sweep from its beginning, or from where it was left, to its end: the same on whichever rank does it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/simulation.h"

namespace muster {

struct WholeRun {
  Recipe recipe;                       // as given, or as its data have settled it
  std::string name;                    // of a new folder, unless something else has it
  std::vector<std::string> resumable;  // folders under `out` that may be gone on with; the first that can be is
};

// The folder of the run that is over, or nothing if it was interrupted. Folders that cannot be gone on with, or are in
// the way, are told of and left alone; one that another process writes to is an error. `options.folder` is set here.
[[nodiscard]] Result<std::optional<std::filesystem::path>> do_whole_run(
    const WholeRun& run, SimulationOptions options, const std::function<void(const std::string&)>& say);

}  // namespace muster
