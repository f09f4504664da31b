// ClientLink: the only way to reach a client. In-process it is a call; deployed it is a network stream. A reply is an
// update or the reason why there is none: a client that is late, gone or wrong is data, not an error.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "plan/plan.h"
#include "profile/profile.h"
#include "solver/local_task.h"

namespace muster {

class Attackers;
class LocalSolver;

using EvaluateReply = std::variant<Evaluation, Dropped>;

// Used by one thread at a time.
class ClientLink {
 public:
  virtual ~ClientLink() = default;

  // "Train this task." `reuse` donates memory. An error means that the simulation or the transport itself broke.
  [[nodiscard]] virtual Result<TrainReply> train(const TrainTask& task, LocalUpdate reuse) = 0;
  // The same for several clients that start from one model. Answers are taken in the order of the tasks, each as soon
  // as it and those before it are there; `take` gives back memory for another. By default one task after the other.
  using TakeReply = std::function<LocalUpdate(std::size_t task, TrainReply reply)>;
  [[nodiscard]] virtual Status train_each(std::span<const TrainTask> tasks, LocalUpdate reuse, const TakeReply& take);
  // "Tell your profile." An error also if it is neither the recipe's kind nor losses.
  [[nodiscard]] virtual Result<ProfileReply> profile(const ProfileTask& task) = 0;
  // "Evaluate this model on your own test or validation samples."
  [[nodiscard]] virtual Result<EvaluateReply> evaluate(const EvaluateTask& task) = 0;
};

// Clients simulated in this process by `solver`, who tell profiles of `kind` (both borrowed), with injected faults.
// `attackers`: some of them are malicious; borrowed, may be null.
[[nodiscard]] std::unique_ptr<ClientLink> make_in_process_link(LocalSolver& solver, const ProfileKind& kind,
                                                               const FaultOptions& faults,
                                                               bool stragglers_send_partial_work, std::uint64_t seed,
                                                               const Attackers* attackers = nullptr);

}  // namespace muster
