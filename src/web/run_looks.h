// RunLooks: what is read of runs' folders for the page, kept for the next who asks: a run of ten thousand rounds is
// read once, not once per reader, and again only when its files have changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "report/run_records.h"
#include "web/roster.h"

namespace muster {

// A run as it was at one moment.
struct RunLook {
  RunRecords records;
  std::string description;  // JSON: docs/report.md
};

// Thread-safe.
class RunLooks {
 public:
  static constexpr std::size_t kMost = 6;  // runs that are kept

  // `running`: whether somebody runs it, which is shown, too.
  [[nodiscard]] Result<std::shared_ptr<const RunLook>> at(const std::filesystem::path& folder, bool running);
  [[nodiscard]] PageRoster roster(const std::filesystem::path& folder, bool running);

 private:
  struct Kept {
    std::filesystem::path folder;
    std::mutex mutex;   // of what follows; whoever reads the folder has it
    std::string stamp;  // of the files that were read
    std::shared_ptr<const RunLook> look;
    std::unique_ptr<RosterReader> roster;
  };
  [[nodiscard]] std::shared_ptr<Kept> kept(const std::filesystem::path& folder);

  std::mutex mutex_;
  std::list<std::shared_ptr<Kept>> kept_;  // the last used first
};

}  // namespace muster
