// The store of runs, kept up to date while a command runs something.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "store/store_keeper.h"

namespace muster {

// Where the runs are: `out`, or the folder that the run to be resumed is in (its path, or its id under `out`; "" = none
// is).
[[nodiscard]] std::filesystem::path folder_of_runs(const std::string& out, const std::string& resumed);

// Keeps the store of that folder. Destroy it when the runs are over, and before the result is printed: the store then
// has all of it. If it could not be written to, one line on stderr says so, unless `quiet`.
[[nodiscard]] std::unique_ptr<StoreKeeper> keep_store(const std::string& out, const std::string& resumed, bool quiet);

}  // namespace muster
