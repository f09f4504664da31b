// A value made from the catalogues, such as the table of keys: made once, and again after a program added a choice.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>

#include "base/catalogue_version.h"

namespace muster {

// Thread-safe. Values that were handed out stay valid as long as this object.
template <typename T>
class FromCatalogues {
 public:
  explicit FromCatalogues(T (*make)()) : make_(make) {}

  [[nodiscard]] const T& get() {
    // Read before the catalogues are: a choice that comes in between makes the value newer than its version, and so
    // made once more, but never older.
    const std::uint64_t version = catalogue_version();
    const Made* newest = newest_.load(std::memory_order_acquire);
    if (newest && newest->version >= version) return newest->value;
    const std::scoped_lock lock(mutex_);
    newest = newest_.load(std::memory_order_relaxed);
    if (newest && newest->version >= version) return newest->value;
    made_.push_back({version, make_()});
    newest_.store(&made_.back(), std::memory_order_release);
    return made_.back().value;
  }

 private:
  struct Made {
    std::uint64_t version;
    T value;
  };
  T (*const make_)();
  std::mutex mutex_;
  std::list<Made> made_;  // entries never move
  std::atomic<const Made*> newest_{nullptr};
};

}  // namespace muster
