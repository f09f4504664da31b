// The store of runs, kept up to date while a command runs something.
#pragma once

#include <memory>
#include <string>

#include "store/store_keeper.h"

namespace muster {

// Keeps the store of `out`, or of the folder that the run to be resumed is in (its path, or its id under `out`; "" =
// none is). Destroy it when the runs are over, and before the result is printed: the store then has all of it. If it
// could not be written to, one line on stderr says so, unless `quiet`.
[[nodiscard]] std::unique_ptr<StoreKeeper> keep_store(const std::string& out, const std::string& resumed, bool quiet);

}  // namespace muster
