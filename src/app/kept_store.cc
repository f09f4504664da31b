#include "app/kept_store.h"

#include "app/log_lines.h"
#include "record/run_folder.h"

namespace muster {

std::filesystem::path folder_of_runs(const std::string& out, const std::string& resumed) {
  std::filesystem::path kept = out;
  if (!resumed.empty()) {
    if (const Result<RunFolder> folder = RunFolder::open(out, resumed)) kept = folder->path().parent_path();
  }
  return kept.empty() ? "." : kept;
}

std::unique_ptr<StoreKeeper> keep_store(const std::string& out, const std::string& resumed, bool quiet) {
  return std::make_unique<StoreKeeper>(folder_of_runs(out, resumed), [quiet](const std::string& text) {
    if (!quiet) log_line(LogLevel::kWarning, text);
  });
}

}  // namespace muster
