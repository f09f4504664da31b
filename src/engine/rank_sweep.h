// The runs of a sweep on the ranks of a job. At rank 0 a RankSweep gives them away and hears what becomes of them; the
// others are in serve_sweep(), where they do whole runs side by side, as many as they have threads, and write the
// runs' folders themselves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "engine/whole_run.h"
#include "base/parcel.h"
#include "ranks/ranks.h"

namespace muster {

// At rank 0, for one thread. begin(), then give(), forget() and hear(), then end(), and hear() until it is over().
class RankSweep {
 public:
  // A run has made rounds since it was last heard of.
  struct Rounds {
    std::size_t run = 0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  // For people.
  struct Note {
    std::string text;
  };
  // A run has ended: its folder under `out`, or nothing if it was interrupted. An error names the rank.
  struct Ended {
    std::size_t run = 0;
    std::uint32_t rank = 0;
    Result<std::optional<std::string>> folder;
  };
  using Heard = std::variant<Rounds, Note, Ended>;

  // `ranks` is borrowed.
  explicit RankSweep(Ranks& ranks) : ranks_(ranks) {}
  ~RankSweep();
  RankSweep(const RankSweep&) = delete;
  RankSweep& operator=(const RankSweep&) = delete;

  // Waits until all ranks are ready. Fails if one of them does not see what is in `out`, which is made, or cannot take
  // part for another reason, and names it. `threads`: of each rank; 0 = its share of its machine's cores.
  [[nodiscard]] Status begin(const std::filesystem::path& out, std::uint32_t threads);
  // Of each rank, once it has begun.
  [[nodiscard]] const std::vector<std::uint32_t>& threads() const { return threads_; }

  // Runs of one batch have the same data, which a rank reads once and keeps until forget().
  void give(std::uint32_t rank, std::size_t number, std::size_t batch, const WholeRun& run);
  // No more runs of this batch will be given.
  void forget(std::size_t batch);
  [[nodiscard]] bool all_ended() const { return given_.empty(); }

  // What a rank has to say, if one has. Fails if a rank has died or cannot go on, and names it.
  [[nodiscard]] Result<std::optional<Heard>> hear();

  // No more runs will be given; those that go on finish their round and save.
  void end();
  // After end(): all ranks have ended their runs, and nothing is left to be heard.
  [[nodiscard]] bool over() const { return left_ == 0; }

 private:
  [[nodiscard]] Result<std::optional<Heard>> read(std::uint32_t from, ParcelReader& in);

  Ranks& ranks_;
  bool begun_ = false;
  bool ended_ = false;
  std::uint32_t left_ = 0;  // ranks whose last word has not come
  std::vector<std::uint32_t> threads_;
  std::map<std::size_t, std::uint32_t> given_;                 // run -> the rank that does it
  std::map<std::size_t, std::set<std::uint32_t>> batches_at_;  // batch -> ranks that have its data
};

// At all other ranks, after a parcel with Message::kSweep, of which `in` is the rest: does runs until the sweep is
// over. Fails if the sweep cannot begin here.
[[nodiscard]] Status serve_sweep(Ranks& ranks, ParcelReader& in);

}  // namespace muster
