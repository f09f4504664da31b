// RankServer: what a rank other than 0 does while a run goes on: takes units of work, does them on its threads, and
// sends the answers, until rank 0 says that the run is over. It decides nothing and remembers nothing of clients.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ranks/patience.h"
#include "ranks/rank_call.h"
#include "ranks/ranks.h"

namespace muster {

class RankServer {
 public:
  // Both are borrowed. As many units are done at a time as the federation has threads.
  RankServer(Ranks& ranks, LocalFederation& federation);
  ~RankServer();
  RankServer(const RankServer&) = delete;
  RankServer& operator=(const RankServer&) = delete;

  // Returns when the run is over. What cannot be done is told to rank 0.
  void serve();

 private:
  struct Asked {
    std::uint64_t call = 0;
    std::uint32_t number = 0;
    std::shared_ptr<ServedCall> served;
    ServedCall::Unit unit;
  };

  void work(std::uint32_t worker);
  // False once the run is over.
  [[nodiscard]] bool hear(Parcel parcel);
  [[nodiscard]] Status begin_call(ParcelReader& in);
  [[nodiscard]] Status take_unit(ParcelReader& in);
  // Whether there were any.
  bool send_answers();
  [[nodiscard]] Patience::Crew crew_state();
  // Whether answers should travel at once, because what comes in return is needed soon; with mutex_ held.
  [[nodiscard]] bool runs_low() const { return queue_.size() < 2 * crew_.size(); }

  Ranks& ranks_;
  LocalFederation& federation_;
  ReceivedModels models_;
  std::map<std::uint64_t, std::shared_ptr<ServedCall>> calls_;

  std::mutex mutex_;
  std::condition_variable asked_;
  std::condition_variable answered_;  // and what there is to go on with runs low
  std::deque<Asked> queue_;           // guarded by mutex_
  std::deque<Parcel> answers_;        // guarded by mutex_
  std::uint32_t busy_ = 0;            // threads at a unit; guarded by mutex_
  bool quit_ = false;                 // guarded by mutex_
  std::vector<std::thread> crew_;
};

}  // namespace muster
