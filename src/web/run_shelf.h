// RunShelf: the runs of one folder as the page sees them: which there are, what has changed, and where one lies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace muster {

// Thread-safe. Whoever asks gets what the folders held at most half a second ago.
class RunShelf {
 public:
  // The folder need not be there yet.
  explicit RunShelf(std::filesystem::path out) : out_(std::move(out)) {}

  // What has changed since; 0: all. A number that the store does not know yet, because it is another store by now, is
  // taken for 0.
  [[nodiscard]] Result<StoreChanges> changes(std::uint64_t since);
  // By its whole id. Fails, too, for a folder that is a link, or holds links to elsewhere: nothing but runs of this
  // folder is shown.
  [[nodiscard]] Result<StoredRun> find(const std::string& id);

  [[nodiscard]] const std::filesystem::path& out() const { return out_; }

 private:
  [[nodiscard]] Result<Store*> store();  // opened and refreshed; with the lock held

  const std::filesystem::path out_;
  std::mutex mutex_;  // of all below
  std::optional<Store> store_;
  double looked_s_ = -1;
};

// A run as a row of the list.
[[nodiscard]] nlohmann::json row_json(const StoredRun& run);

}  // namespace muster
