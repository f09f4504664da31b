// ClientLink: the only way to reach a client. In-process it is a call; deployed it is a network stream. A reply is an
// update or the reason why there is none: a client that is late, gone or wrong is data, not an error.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "plan/plan.h"
#include "profile/profile.h"
#include "secure/sum_phase.h"
#include "solver/local_task.h"

namespace muster {

class Attackers;
class LocalSolver;
class MemberVerifier;
class SealedChain;
struct MemberSecrets;
struct PrivacyOptions;

// What the server of a secure sum says to a member, and what that answers.
struct SumAsk {
  TrainTask task;                  // names client, round and part; in phase input all of it is to be done
  std::uint64_t attempt = 0;       // of the sum's terms
  std::vector<std::byte> message;  // of secure/sum_messages.h
};
struct SumAnswer {
  std::vector<std::byte> message;
  std::optional<LocalUpdate> update = {};  // in phase input; the model stays with the client
};
using SumReply = std::variant<SumAnswer, Dropped>;

// What a secure sum has from whoever hosts it. All is borrowed.
struct SumHost {
  std::string run;
  std::uint64_t attempt = 0;  // see SumTerms
  std::function<std::string(ClientId)> name_of =
      {};                                    // as in its certificate; not set: clients are known by their numbers
  const MemberVerifier* verifier = nullptr;  // null: there are no sums here
};

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
  // One phase of a secure sum, for all members that are still in it. Replies are taken in the order of the asks. By
  // default an error: there are links without.
  using TakeSumReply = std::function<void(std::size_t ask, SumReply reply)>;
  [[nodiscard]] virtual SumHost sum_host() const { return {}; }
  [[nodiscard]] virtual Status sum_each(SumPhase phase, std::span<SumAsk> asks, const TakeSumReply& take);
  // How models of a chain travel sealed between clients (train/sealed_chain.h); null: there is nobody to seal from.
  [[nodiscard]] virtual SealedChain* sealed_chain() { return nullptr; }
  // "Tell your profile." An error also if it is neither the recipe's kind nor losses.
  [[nodiscard]] virtual Result<ProfileReply> profile(const ProfileTask& task) = 0;
  // "Evaluate this model on your own test or validation samples."
  [[nodiscard]] virtual Result<EvaluateReply> evaluate(const EvaluateTask& task) = 0;
};

// Clients simulated in this process by `solver`, who tell profiles of `kind` (both borrowed), with injected faults.
// `attackers`: some of them are malicious; borrowed, may be null. `privacy`: of changes that are summed securely, to
// which each adds its share of noise; borrowed, may be null. `secrets`: what they take part in secure sums with
// (train/sum_members.h); borrowed; null: simulated, too.
[[nodiscard]] std::unique_ptr<ClientLink> make_in_process_link(LocalSolver& solver, const ProfileKind& kind,
                                                               const FaultOptions& faults,
                                                               bool stragglers_send_partial_work, std::uint64_t seed,
                                                               const Attackers* attackers = nullptr,
                                                               const PrivacyOptions* privacy = nullptr,
                                                               const MemberSecrets* secrets = nullptr);

}  // namespace muster
