// A run on the ranks of a job. At rank 0 a RankRun tells the others what is run; they are in serve_runs(), where they
// make clients of the recipe and do what they are asked to. The first rank of every machine makes the data, and the
// others on it see them in shared memory; what clients generate when needed, every rank does for itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/federated_data.h"
#include "ranks/rank_federation.h"
#include "recipe/recipe.h"

namespace muster {

// At rank 0. begin(), federation(), and the end of the object, which ends the run for all ranks.
class RankRun {
 public:
  // Both are borrowed; what the ranks cost is added to `times`, which may be null.
  RankRun(Ranks& ranks, RankTimes* times);
  ~RankRun();
  RankRun(const RankRun&) = delete;
  RankRun& operator=(const RankRun&) = delete;

  // The first ranks of other machines begin to make the data of the recipe. `threads`: of each rank; 0 = the cores of
  // its machine, divided among the ranks on it.
  void begin(const Recipe& recipe, std::uint32_t threads);
  // Tells the others on this machine where the data are, which must be those of the recipe; null: they make their own.
  void give_data(FederatedData* data);
  // Waits until the others are ready for the settled recipe. Fails if one of them cannot do it, and says which.
  // `data` is borrowed; `states` and `secrets` as for make_simulated_federation(); a key of noise is told to the
  // others.
  [[nodiscard]] Result<std::unique_ptr<RankFederation>> federation(const Recipe& recipe, const FederatedData& data,
                                                                   const std::filesystem::path& states,
                                                                   const MemberSecrets& secrets);
  // What the user should know of the others, a line each.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  Ranks& ranks_;
  RankTimes* times_;
  Traffic before_;  // the run began
  std::uint64_t number_ = 0;
  std::uint32_t threads_ = 0;
  bool begun_ = false;
  bool shares_ = false;  // others wait for data from here
  std::vector<std::string> notes_;
};

// Threads of a rank: `threads`, or if that is 0 its share of the machine's cores.
[[nodiscard]] std::uint32_t rank_threads(const Ranks& ranks, std::uint32_t threads);

// What runs and sweeps (engine/rank_sweep.h) begin with. At rank 0: a word to all others; and, once these are told to
// begin, the threads of each rank when they are ready; what they have to say is added to `notes`. Fails if one of them
// cannot take part, and says which.
void tell_others(Ranks& ranks, const ParcelWriter& said);
[[nodiscard]] Result<std::vector<std::uint32_t>> wait_until_ready(Ranks& ranks, std::uint32_t threads,
                                                                  std::vector<std::string>& notes);
// At the others: kernels of different instruction sets round differently, so all ranks use those of rank 0.
[[nodiscard]] Status use_isa_named(const std::string& wanted);

// At all ranks but 0: serves runs and sweeps until quit_ranks(). Returns the exit status that was given there, or 1 if
// rank 0 is gone.
[[nodiscard]] int serve_runs(Ranks& ranks);
// At rank 0: the others end with this exit status.
void quit_ranks(Ranks& ranks, int status);

}  // namespace muster
