// RegroupEvent: what groups wait for while everybody is one group. One file per event; the event decides when, the
// engine forms or splits the groups from what the round's members sent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/regroup.h"

namespace muster {

struct EventEntry {
  std::string name;
  std::string summary;
  std::vector<std::string> keys;          // of [plan]
  std::optional<std::uint32_t> earliest;  // the first round after which it can happen; not set: the recipe must say
  bool splits = false;                    // groups are split one by one, again and again; else all are formed once
};

// What the rounds so far have shown.
struct RoundsSoFar {
  std::uint32_t round = 0;                 // the one that has just been trained
  std::span<const double> loss_variances;  // one per round, where needs_losses()
};

// Immutable.
class RegroupEvent {
 public:
  explicit RegroupEvent(std::uint32_t earliest) : earliest_(earliest) {}
  virtual ~RegroupEvent() = default;

  [[nodiscard]] virtual const EventEntry& entry() const = 0;
  [[nodiscard]] std::uint32_t earliest() const { return earliest_; }
  // Whether clients must report their losses after training.
  [[nodiscard]] virtual bool needs_losses() const { return false; }
  // Whether it has happened. Asked from earliest() on, after every round in which somebody took part.
  [[nodiscard]] virtual bool happened(const RoundsSoFar& so_far) const = 0;

 private:
  std::uint32_t earliest_;
};

// Every event, in the order of the documentation.
[[nodiscard]] const std::vector<EventEntry>& event_entries();
// Null if options.on names none. Precondition: check_regroup() passes.
[[nodiscard]] std::unique_ptr<RegroupEvent> make_regroup_event(const RegroupOptions& options);

// One entry and one factory per file.
const EventEntry& round_event_entry();
const EventEntry& loss_variance_event_entry();
const EventEntry& bipartition_event_entry();
std::unique_ptr<RegroupEvent> make_round_event(std::uint32_t earliest);
std::unique_ptr<RegroupEvent> make_loss_variance_event(std::uint32_t earliest);
std::unique_ptr<RegroupEvent> make_bipartition_event(std::uint32_t earliest);

}  // namespace muster
