// Models: the models of a run, and how the groups' updates become the next ones: one that all groups share, one for
// each group, one for each client, or slots that different groups train in turn. Each way to keep them is one file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aggregate/aggregator.h"
#include "grouping/grouping.h"
#include "model/network.h"
#include "model/parameter_parts.h"
#include "recipe/recipe.h"
#include "record/checkpoint.h"

namespace muster {

class Models {
 public:
  virtual ~Models() = default;

  // A round: begin(), start() for each group that takes part, add() for each update in the same order, finish().
  // `drawn`: how many groups take part; `index` is a group's place among them. Spans live until finish(), restore() or
  // regrouped(); those of models that add() writes to (per_group()) until then.
  virtual void begin(std::uint32_t round, std::size_t drawn) = 0;
  [[nodiscard]] virtual std::span<const float> start(GroupId group, std::size_t index) const = 0;
  virtual void add(GroupUpdate& update, std::size_t index) = 0;
  virtual void finish() = 0;

  // What finish() did with the groups' updates, where a rule may leave some out: see Aggregator::report().
  [[nodiscard]] virtual const MergeReport* report() const { return nullptr; }
  // What is sent to clients besides the model.
  [[nodiscard]] virtual std::span<const float> broadcast() const { return {}; }
  // True if every client keeps its own model, in its own state.
  [[nodiscard]] virtual bool in_clients() const { return false; }

  // How many there are.
  [[nodiscard]] virtual std::uint32_t count() const = 0;
  // The model that speaks for the run: shared, or the mean of all. Where clients keep their own it is the first one.
  [[nodiscard]] virtual std::span<const float> shared() const = 0;
  // The model of a group's members. Precondition: there is such a group.
  [[nodiscard]] virtual std::span<const float> of(GroupId group) const = 0;
  // True if of() differs from group to group.
  [[nodiscard]] virtual bool per_group() const { return false; }

  // New groups have been formed. `starts`: a model for each to start from, or none, and they start from shared().
  virtual void regrouped(const Grouping& grouping, const RowsView<float>& starts) = 0;

  virtual void save(Checkpoint& checkpoint) const = 0;
  // `groups`: how many there are, by the same checkpoint.
  [[nodiscard]] virtual Status restore(const Checkpoint& checkpoint, std::uint32_t groups) = 0;
};

// What aggregation must know of the network and the recipe. `clients`: of the whole federation.
[[nodiscard]] AggregatorSizes aggregator_sizes(const Recipe& recipe, const Network& network, std::uint32_t clients);

// What the recipe asks for, all beginning as `initial`. `clients`: of the whole federation. Precondition:
// check_recipe() passes.
// `shared`: what aggregation.shared means for the network. `noise`: of private sums (aggregate/secret_noise.h); null:
// from the seed.
struct NoiseSource;
[[nodiscard]] Result<std::unique_ptr<Models>> make_models(const Recipe& recipe, const AggregatorSizes& sizes,
                                                          std::vector<float> initial, ParameterRanges shared = {},
                                                          const NoiseSource* noise = nullptr);

// One model, merged by `aggregator`.
[[nodiscard]] std::unique_ptr<Models> make_shared_model(std::unique_ptr<Aggregator> aggregator,
                                                        std::vector<float> initial);
// Every client its own, kept in its state; all begin as `initial`.
[[nodiscard]] std::unique_ptr<Models> make_client_models(std::vector<float> initial);
// Every group its own. With mixing > 0 each moves towards the others after every round, in proportion to their lengths:
//   w_j <- (w_j + sum over l != j of (mixing / |w_l|) w_l) / (1 + sum over l != j of mixing / |w_l|)
// (FedGroup's inter-group aggregation in the form of its authors' code; the paper's, without `normalize`, does not
// divide).
// The shared parts are one for all: after every round the mean of what members of any group sent, weighted as in a
// group, and before the first round the one that all begin with (IFCA's weight sharing).
struct SharedParts {
  ParameterRanges ranges = {};
  bool by_samples = true;  // what a group's parts weigh: its samples; else its members
};
[[nodiscard]] std::unique_ptr<Models> make_group_models(double mixing, std::vector<float> initial,
                                                        SharedParts parts = {}, bool normalize = true);

// The drawn groups train the models in the slots, dealt anew in every round. Before each round that is a multiple of
// `window` all slots become their mean, weighted by the samples that trained them since the last time; window 0 = the
// number of groups (FedSeqInter). shared() is that mean at any time. With alpha > 0 the server part of dynamic
// regularisation corrects the mean (FedDyn): after every round
//   h <- h - alpha / clients * sum over trained slots of (w_q - shared),   shared <- mean - h / alpha.
struct SlotOptions {
  std::uint32_t window = 0;
  std::uint64_t seed = 1;
  double alpha = 0;
  std::uint32_t clients = 1;
  std::size_t parameters = 0;  // trained ones: what follows in a model is never corrected
};
[[nodiscard]] std::unique_ptr<Models> make_slot_models(const SlotOptions& options, std::vector<float> initial);

}  // namespace muster
