// RunIndex: run folders -> rows of the store. Looks which folders have changed since they were read, and reads those,
// from where it stopped wherever a file has only grown.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "store/store.h"
#include "store/store_file.h"

namespace muster {

// All runs under `out`. On failure the runs that were read before stay so.
[[nodiscard]] Result<StoreUpdate> refresh_runs(StoreFile& file, const std::filesystem::path& out, Look look);

// One of them; it is forgotten if there is none. `first` is called when no other process can write to the store; where
// it fails nothing has changed.
[[nodiscard]] Status update_run(StoreFile& file, const std::filesystem::path& out, const std::string& id, Look look,
                                const std::function<Status()>& first = {});

}  // namespace muster
