// Runs of the store as MLflow keeps them in files (its file store): a folder per experiment, in it a folder per run
// with meta.yaml, params/, metrics/, tags/ and artifacts/. `mlflow ui --backend-store-uri DIR` shows them.
#pragma once

#include <filesystem>
#include <string>

#include "store/store.h"

namespace muster {

struct MlflowExport {
  std::string experiment_id;
  std::string run_id;  // the same whenever the run is exported again, which replaces it
  std::filesystem::path folder;
};

// Into `root`, which is made if it is not there; into the experiment of this name, if it has one. A run appears whole
// or not at all.
[[nodiscard]] Result<MlflowExport> export_to_mlflow(const Store& store, const StoredRun& run,
                                                    const std::filesystem::path& root, const std::string& experiment);

}  // namespace muster
