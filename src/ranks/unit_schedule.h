// UnitSchedule: which unit of a call is begun next, and which answer is accepted next. Longest expected first, so that
// nobody waits for a long one at the end, but within a window from the first answer that is awaited, so that few
// answers are in memory at any time. Answers are accepted in the order of the units. Knows neither ranks nor threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace muster {

class UnitSchedule {
 public:
  // `work`: what each unit is expected to take, in any measure. Precondition: window >= 1.
  UnitSchedule(std::vector<double> work, std::size_t window);

  // Begins a unit, if one may be begun.
  [[nodiscard]] std::optional<std::uint32_t> next();
  // A unit that was begun is finished.
  void finish(std::uint32_t unit);
  // The unit whose answer is accepted now, if it is finished; each once.
  [[nodiscard]] std::optional<std::uint32_t> accept();

  [[nodiscard]] bool done() const { return accepted_ == work_.size(); }
  [[nodiscard]] std::size_t left_to_begin() const { return work_.size() - begun_; }

 private:
  enum class State : std::uint8_t { kWaiting, kBegun, kFinished };

  std::vector<double> work_;
  std::size_t window_;
  std::vector<State> states_;
  std::size_t begun_ = 0;
  std::size_t accepted_ = 0;  // the first so many
};

// Whether `work`, longest first, fills so many threads about evenly: the last one ends at most a tenth later than if it
// could be divided at will.
[[nodiscard]] bool packs_well(std::vector<double> work, std::size_t threads);

}  // namespace muster
