// Clients in this process: a call into the worker's local solver, after the faults that the plan drew for the client.
#include <limits>

#include "solver/profile_subject.h"
#include "train/client_link.h"

namespace muster {
namespace {

class InProcessLink final : public ClientLink {
 public:
  InProcessLink(LocalSolver& solver, const ProfileKind& kind, const FaultOptions& faults, bool partial,
                std::uint64_t seed, const Attackers* attackers)
      : solver_(solver), kind_(kind), faults_(faults), partial_(partial), seed_(seed), attackers_(attackers) {}

  Result<TrainReply> train(const TrainTask& task, LocalUpdate reuse) override {
    const Fault fault = draw_fault(faults_, seed_, task.round, task.client);
    if (fault.drop) return TrainReply{Dropped{task.client, DropReason::kFault}};
    TrainTask given = task;
    if (fault.straggle) {
      if (!partial_) return TrainReply{Dropped{task.client, DropReason::kStraggler}};
      given.work = *fault.straggle;
    }
    if (fault.nan) {
      // The client works on garbage; the solver must notice by itself.
      given.model = poisoned(task.model);
      given.own_model = false;
    }
    MUSTER_ASSIGN(TrainReply reply, solver_.train(given, std::move(reuse)));
    auto* const update = std::get_if<LocalUpdate>(&reply);
    if (update && malicious(task.client)) {
      attackers_->attack().change_update(given, solver_.network().parameters(), *update);
    }
    return reply;
  }

  // A client that is gone in a round is gone for its profile too. Only training takes time or can break.
  Result<ProfileReply> profile(const ProfileTask& task) override {
    const ProfileKind* const kind = kind_asked(task, kind_);
    if (!kind) return failure("asked for a profile of kind {}, but clients tell {}", task.kind, kind_.entry().name);
    const Fault fault = draw_fault(faults_, seed_, task.asked_in, task.client);
    if (fault.drop) return ProfileReply{Dropped{task.client, DropReason::kFault}};
    ProfileTask given = task;
    if (kind->entry().trains) {
      if (fault.straggle) {
        if (!partial_) return ProfileReply{Dropped{task.client, DropReason::kStraggler}};
        given.work = *fault.straggle;
      }
      if (fault.nan) given.models = {poisoned(task.models.row(0)), task.models.width};
    }
    MUSTER_ASSIGN(ProfileReply reply, kind->tell(given, *make_profile_subject(solver_, task.client, seed_)));
    auto* const told = std::get_if<ClientProfile>(&reply);
    if (told && malicious(task.client)) attackers_->attack().change_profile(*told);
    return reply;
  }

  Result<EvaluateReply> evaluate(const EvaluateTask& task) override {
    MUSTER_ASSIGN(Evaluation own, solver_.evaluate_client(task));
    return EvaluateReply{std::move(own)};
  }

 private:
  std::span<const float> poisoned(std::span<const float> model) {
    poisoned_.assign(model.begin(), model.end());
    poisoned_.front() = std::numeric_limits<float>::quiet_NaN();
    return poisoned_;
  }

  [[nodiscard]] bool malicious(ClientId client) const { return attackers_ && attackers_->malicious(client); }

  LocalSolver& solver_;
  const ProfileKind& kind_;
  FaultOptions faults_;
  bool partial_;
  std::uint64_t seed_;
  const Attackers* attackers_;
  std::vector<float> poisoned_;
};

}  // namespace

std::unique_ptr<ClientLink> make_in_process_link(LocalSolver& solver, const ProfileKind& kind,
                                                 const FaultOptions& faults, bool stragglers_send_partial_work,
                                                 std::uint64_t seed, const Attackers* attackers) {
  return std::make_unique<InProcessLink>(solver, kind, faults, stragglers_send_partial_work, seed, attackers);
}

}  // namespace muster
