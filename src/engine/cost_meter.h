// CostMeter: what a round took in bytes and simulated seconds, from what its groups did.
#pragma once

#include "cost/cost.h"
#include "engine/round_observer.h"
#include "engine/sent_values.h"
#include "recipe/recipe.h"

namespace muster {

// What every round of a run has in common, as far as its cost is concerned.
struct CostSetting {
  CostOptions options;
  std::string objective;
  NetworkSize network;
  bool in_sequence = false;  // members of a group train one after the other
  std::uint32_t visits = 1;  // of every member, in a round
  bool edges = false;        // groups live at edge servers
  bool secure = false;       // members are merged by secure sums
  bool sealed = false;       // models of chains travel sealed
  SentValues sent = {};
};

class CostMeter final : public RoundObserver {
 public:
  explicit CostMeter(CostSetting setting) : setting_(std::move(setting)) {}

  void prepare(RoundTasks& tasks) override;
  void group(const GroupUpdate& update) override;
  // What the round is one of: `clients` in `groups` formed, and `broadcast` numbers sent besides the model. Between
  // prepare() and end().
  void set_round(std::uint32_t clients, std::uint32_t groups, std::size_t broadcast);
  // Adds to the bytes of profiles, which the record has already.
  void end(const Models& models, RoundRecord& record) override;

 private:
  CostSetting setting_;
  RoundWork work_;
  SumFigures sums_;
  std::size_t broadcast_ = 0;
};

}  // namespace muster
