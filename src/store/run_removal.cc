#include "store/run_removal.h"

#include <vector>

#include "record/run_lock.h"

namespace muster {
namespace {

Status remove_all_of(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return failure("{}: cannot be removed: {}", path.string(), error.message());
  return {};
}

}  // namespace

Status remove_run(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::symlink_status(folder, error);
  if (std::filesystem::is_symlink(status)) {
    return failure("{}: a link to a folder elsewhere; remove the link, or the run where it is", folder.string());
  }
  if (!std::filesystem::is_directory(status) || !std::filesystem::is_regular_file(folder / "recipe.toml", error)) {
    return failure("{}: not a run's folder", folder.string());
  }
  {
    MUSTER_ASSIGN(const RunLock lock, RunLock::take(folder));
    std::vector<std::filesystem::path> others;
    std::filesystem::directory_iterator entry(folder, error);
    for (const std::filesystem::directory_iterator end; !error && entry != end; entry.increment(error)) {
      const std::filesystem::path name = entry->path().filename();
      if (name != "recipe.toml" && name != "lock") others.push_back(entry->path());
    }
    if (error) return failure("{}: cannot be read: {}", folder.string(), error.message());
    for (const std::filesystem::path& path : others) MUSTER_TRY(remove_all_of(path));
    MUSTER_TRY(remove_all_of(folder / "recipe.toml"));
  }
  return remove_all_of(folder);
}

}  // namespace muster
