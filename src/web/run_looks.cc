#include "web/run_looks.h"

#include <nlohmann/json.hpp>

#include "record/json_text.h"
#include "report/describe.h"
#include "store/run_files.h"

namespace muster {

std::shared_ptr<RunLooks::Kept> RunLooks::kept(const std::filesystem::path& folder) {
  const std::lock_guard lock(mutex_);
  for (auto at = kept_.begin(); at != kept_.end(); ++at) {
    if ((*at)->folder != folder) continue;
    kept_.splice(kept_.begin(), kept_, at);
    return kept_.front();
  }
  auto made = std::make_shared<Kept>();
  made->folder = folder;
  kept_.push_front(std::move(made));
  if (kept_.size() > kMost) kept_.pop_back();
  return kept_.front();
}

Result<std::shared_ptr<const RunLook>> RunLooks::at(const std::filesystem::path& folder, bool running) {
  const std::shared_ptr<Kept> one = kept(folder);
  const std::lock_guard lock(one->mutex);
  // Before the files are read: what comes meanwhile is seen at the next look.
  std::string stamp = to_text(stamps_of(folder)) + (running ? " running" : "");
  if (one->look && one->stamp == stamp) return one->look;
  MUSTER_ASSIGN(RunRecords records, read_run_records(folder));
  auto look = std::make_shared<RunLook>();
  look->description = json_text(to_json(report_of(records)));
  look->records = std::move(records);
  one->look = std::move(look);
  one->stamp = std::move(stamp);
  return one->look;
}

PageRoster RunLooks::roster(const std::filesystem::path& folder, bool running) {
  const std::shared_ptr<Kept> one = kept(folder);
  const std::lock_guard lock(one->mutex);
  if (!one->roster) one->roster = std::make_unique<RosterReader>(folder);
  return one->roster->read(running);
}

}  // namespace muster
