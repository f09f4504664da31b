#include "ranks/unit_schedule.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/check.h"

namespace muster {

UnitSchedule::UnitSchedule(std::vector<double> work, std::size_t window)
    : work_(std::move(work)), window_(window), states_(work_.size(), State::kWaiting) {
  MUSTER_CHECK(window >= 1, "window {}", window);
}

std::optional<std::uint32_t> UnitSchedule::next() {
  const std::size_t end = std::min(work_.size(), accepted_ + window_);
  std::optional<std::uint32_t> best;
  for (std::size_t i = accepted_; i < end; ++i) {
    if (states_[i] == State::kWaiting && (!best || work_[i] > work_[*best])) best = static_cast<std::uint32_t>(i);
  }
  if (!best) return std::nullopt;
  states_[*best] = State::kBegun;
  ++begun_;
  return best;
}

void UnitSchedule::finish(std::uint32_t unit) {
  MUSTER_CHECK(unit < states_.size() && states_[unit] == State::kBegun, "unit {} of {}", unit, states_.size());
  states_[unit] = State::kFinished;
}

std::optional<std::uint32_t> UnitSchedule::accept() {
  if (done() || states_[accepted_] != State::kFinished) return std::nullopt;
  return static_cast<std::uint32_t>(accepted_++);
}

bool packs_well(std::vector<double> work, std::size_t threads) {
  std::ranges::sort(work, std::greater());
  std::vector<double> busy(threads, 0.0);  // a heap with the least busy in front
  for (const double one : work) {
    std::ranges::pop_heap(busy, std::greater());
    busy.back() += one;
    std::ranges::push_heap(busy, std::greater());
  }
  const double ideal = std::accumulate(work.begin(), work.end(), 0.0) / static_cast<double>(threads);
  return std::ranges::max(busy) <= 1.1 * ideal;
}

}  // namespace muster
