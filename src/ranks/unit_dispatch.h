// UnitDispatch: gives the units of calls to whoever is free, on this rank's threads and on the other ranks, and accepts
// the answers in order. The calling thread speaks with the ranks and accepts; it does no unit itself.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "ranks/patience.h"
#include "ranks/rank_call.h"
#include "ranks/rank_times.h"
#include "ranks/unit_schedule.h"

namespace muster {

class UnitDispatch {
 public:
  // `threads`: of each rank. `ranks` is borrowed.
  UnitDispatch(Ranks& ranks, std::vector<std::uint32_t> threads);
  ~UnitDispatch();
  UnitDispatch(const UnitDispatch&) = delete;
  UnitDispatch& operator=(const UnitDispatch&) = delete;

  // Does all units of `call`, and of `meanwhile` (may be null) what is free for it. After a failure, which names the
  // rank where it happened, units may be left undone and nothing more is accepted.
  [[nodiscard]] Status run(RankCall& call, RankCall* meanwhile = nullptr);

  [[nodiscard]] std::size_t threads() const { return all_threads_; }
  // Time is added to `times` (borrowed) from now on.
  void set_times(RankTimes& times) { times_ = &times; }

 private:
  struct Active {
    RankCall* call = nullptr;
    std::uint64_t id = 0;
    UnitSchedule schedule;
    std::map<std::uint32_t, std::uint32_t> given;  // unit -> the other rank that does it
  };
  struct Picked {
    Active* active = nullptr;
    std::uint32_t unit = 0;
  };

  void work(std::uint32_t worker);
  [[nodiscard]] std::optional<Picked> pick();  // with mutex_ held
  [[nodiscard]] std::size_t left_to_begin() const;
  [[nodiscard]] std::size_t ahead() const;          // with mutex_ held
  [[nodiscard]] Patience::Crew crew_state() const;  // with mutex_ held
  void announce(Active& active);
  Status hand_out();
  Status hear(Ranks::Arrived arrived);
  Status hear_answer(std::uint32_t from, ParcelReader& in);
  bool accept();
  Status drive();

  Ranks& ranks_;
  const std::vector<std::uint32_t> threads_;
  std::size_t all_threads_ = 0;
  NumberedModels models_;
  std::uint64_t last_id_ = 0;
  std::vector<std::uint32_t> outstanding_;  // units that each rank has been given and not answered
  RankTimes* times_ = nullptr;

  std::mutex mutex_;
  std::condition_variable changed_;   // something may be begun, or all is over
  std::condition_variable finished_;  // units were finished here, and there is no other to begin
  std::vector<Active> active_;        // in order of urgency; entries' schedules are guarded by mutex_
  bool open_ = false;                 // units may be begun here; guarded by mutex_
  bool news_ = false;                 // since the caller last looked; guarded by mutex_
  bool out_of_work_ = false;          // likewise: a thread has news, and found nothing to begin; guarded by mutex_
  bool quit_ = false;                 // guarded by mutex_
  std::uint32_t busy_ = 0;            // threads at a unit; guarded by mutex_
  std::optional<Error> error_;        // of a unit done here; guarded by mutex_
  std::vector<std::thread> crew_;
};

}  // namespace muster
