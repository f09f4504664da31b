// RankCall: one piece of work that a Federation is given, cut into units that any rank can do: groups or members to
// train, clients to ask for profiles, pieces of an evaluation. ServedCall is the same on the ranks that only do units.
// Each kind of call is one file, with both of them. Knows neither who does a unit nor when.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ranks/messages.h"
#include "ranks/numbered_models.h"
#include "train/local_federation.h"

namespace muster {

// Every unit is done once, here or elsewhere, and then accepted, in order. do_here() is called by several threads at a
// time, everything else by one.
class RankCall {
 public:
  virtual ~RankCall() = default;

  [[nodiscard]] virtual CallKind kind() const = 0;
  // What each unit is expected to take, in any measure; as many as there are units.
  [[nodiscard]] virtual std::vector<double> work() const = 0;
  // What an answer holds until it is accepted, at most.
  [[nodiscard]] virtual std::size_t answer_bytes() const { return 0; }

  // Models that every rank needs.
  [[nodiscard]] virtual std::vector<std::span<const float>> for_all() const = 0;
  // What the units have in common, for the other ranks.
  virtual void describe(NumberedModels& models, ParcelWriter& out) const = 0;
  // A unit, for another rank.
  [[nodiscard]] virtual Status ask(std::uint32_t rank, std::uint32_t unit, NumberedModels& models,
                                   ParcelWriter& out) = 0;
  // What the other rank answered. Fails if it cannot be true.
  [[nodiscard]] virtual Status answered(std::uint32_t unit, ParcelReader& in) = 0;
  [[nodiscard]] virtual Status do_here(std::uint32_t worker, std::uint32_t unit) = 0;
  virtual void accept(std::uint32_t unit) = 0;
};

class ServedCall {
 public:
  // Does a unit and writes the answer. May be called by any thread, for several units at a time.
  using Unit = std::function<Status(std::uint32_t worker, ParcelWriter& answer)>;

  virtual ~ServedCall() = default;
  // What RankCall::ask() wrote. The call outlives the unit.
  [[nodiscard]] virtual Result<Unit> read(ReceivedModels& models, ParcelReader& in) = 0;
};

// Training of groups; whole ones, or their members, whichever keeps `threads` busy. All but that is borrowed.
[[nodiscard]] std::unique_ptr<RankCall> make_train_call(LocalFederation& federation, const RoundCall& call,
                                                        std::span<const GroupTask> tasks, const UpdateSink& sink,
                                                        CombinedUpdate& combined, std::size_t threads);
[[nodiscard]] std::unique_ptr<RankCall> make_profile_call(LocalFederation& federation, const ProfileRequest& request,
                                                          const ProfileSink& sink);
// federation.evaluation() has begun with a request.
[[nodiscard]] std::unique_ptr<RankCall> make_evaluate_call(LocalFederation& federation);

// What RankCall::describe() wrote.
[[nodiscard]] Result<std::unique_ptr<ServedCall>> serve_train(LocalFederation& federation, ReceivedModels& models,
                                                              ParcelReader& in);
[[nodiscard]] Result<std::unique_ptr<ServedCall>> serve_profile(LocalFederation& federation, ReceivedModels& models,
                                                                ParcelReader& in);
[[nodiscard]] Result<std::unique_ptr<ServedCall>> serve_evaluate(LocalFederation& federation, ParcelReader& in);

}  // namespace muster
