// Models: the models of a run, and how the groups' updates become the next ones — one that all groups share, one for
// each group, one for each client, or slots that different groups train in turn. Groups come in the order of the plan.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aggregate/aggregator.h"
#include "grouping/grouping.h"
#include "record/checkpoint.h"

namespace muster {

class Models {
 public:
  virtual ~Models() = default;

  // A round: begin(), start() for each group that takes part, add() for each update in the same order, finish().
  // `index` is the group's place in the plan. Spans live until the next begin(), restore() or regrouped().
  virtual void begin() = 0;
  [[nodiscard]] virtual std::span<const float> start(GroupId group, std::size_t index) const = 0;
  virtual void add(GroupUpdate& update, std::size_t index) = 0;
  virtual void finish(std::uint32_t round) = 0;

  // What is sent to clients beside the model.
  [[nodiscard]] virtual std::span<const float> broadcast() const { return {}; }
  // True if every client keeps its own model, in its own state.
  [[nodiscard]] virtual bool in_clients() const { return false; }

  // How many there are.
  [[nodiscard]] virtual std::uint32_t count() const = 0;
  // The model that speaks for the run: shared, or the mean of all. Where clients keep their own it is the first one.
  [[nodiscard]] virtual std::span<const float> shared() const = 0;
  // The model of a group's members.
  [[nodiscard]] virtual std::span<const float> of(GroupId group) const = 0;
  // True if of() differs from group to group.
  [[nodiscard]] virtual bool per_group() const { return false; }

  // New groups have been formed. `starts`: a model for each to start from, or none, and they start from shared().
  virtual void regrouped(const Grouping& grouping, const RowsView<float>& starts) = 0;

  virtual void save(Checkpoint& checkpoint) const = 0;
  [[nodiscard]] virtual Status restore(const Checkpoint& checkpoint) = 0;
};

// One model, merged by `aggregator`.
[[nodiscard]] std::unique_ptr<Models> make_shared_model(std::unique_ptr<Aggregator> aggregator,
                                                        std::vector<float> initial);
// Every client its own, kept in its state; all begin as `initial`.
[[nodiscard]] std::unique_ptr<Models> make_client_models(std::vector<float> initial);
// Every group its own. With mixing > 0 each moves towards the others after every round, in proportion to their lengths:
//   w_j <- (w_j + sum over l != j of (mixing / |w_l|) w_l) / (1 + sum over l != j of mixing / |w_l|)
// (FedGroup's inter-group aggregation in the normalised form of its authors' code).
[[nodiscard]] std::unique_ptr<Models> make_group_models(double mixing, std::vector<float> initial);
// The q-th group of a round trains the model in slot q. Before each round that is a multiple of `window` all slots
// become their mean, weighted by the samples that trained them since the last time; 0 = the number of groups
// (FedSeqInter). shared() is that mean at any time.
[[nodiscard]] std::unique_ptr<Models> make_slot_models(std::uint32_t window, std::vector<float> initial);

}  // namespace muster
