// StoreKeeper: keeps the store of a folder up to date while runs go on there: a thread looks into the run folders now
// and then and reads what is new. The runs know nothing of it, so it costs them nothing but the core that it shares,
// and whatever becomes of the store, they go on.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "store/store.h"

namespace muster {

class StoreKeeper {
 public:
  // `say` is called by finish(), once, if the store could not be written to at some time; it may be empty. The
  // destructor finishes without a word: the command has failed, which is said already. `out` need not be there yet, and
  // no store is made before there is a run.
  StoreKeeper(std::filesystem::path out, std::function<void(const std::string&)> say);
  ~StoreKeeper();
  StoreKeeper(const StoreKeeper&) = delete;
  StoreKeeper& operator=(const StoreKeeper&) = delete;

  // Looks a last time, at what the runs have left, and stops.
  void finish();
  // What all looks have cost, of one core. Known after finish().
  [[nodiscard]] double cpu_s() const { return cpu_s_; }

 private:
  void work();
  void look();
  void stop();

  const std::filesystem::path out_;
  const std::function<void(const std::string&)> say_;
  std::optional<Store> store_;
  std::string complaint_;  // the first; the keeper's thread's until that has ended
  double cpu_s_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool finished_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace muster
