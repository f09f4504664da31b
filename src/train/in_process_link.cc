// Clients in this process: a call into the worker's local solver, after the faults that the plan drew for the client.
#include <limits>

#include "base/random.h"
#include "solver/profile_subject.h"
#include "train/change_words.h"
#include "train/client_link.h"
#include "train/private_change.h"
#include "train/reply_check.h"
#include "train/sum_members.h"

namespace muster {
namespace {

class InProcessLink final : public ClientLink {
 public:
  InProcessLink(LocalSolver& solver, const ProfileKind& kind, const FaultOptions& faults, bool partial,
                std::uint64_t seed, const Attackers* attackers, const PrivacyOptions* privacy,
                const MemberSecrets* secrets)
      : solver_(solver),
        kind_(kind),
        faults_(faults),
        partial_(partial),
        seed_(seed),
        attackers_(attackers),
        privacy_(privacy && privacy->on() ? privacy : nullptr),
        secrets_(secrets ? *secrets : MemberSecrets{}),
        verifier_(seed) {}

  Result<TrainReply> train(const TrainTask& task, LocalUpdate reuse) override {
    const Fault fault = draw_fault(faults_, seed_, task.round, task.client);
    if (fault.drop) return TrainReply{Dropped{task.client, DropReason::kFault}};
    return train_with(fault, task, std::move(reuse));
  }

  Result<TrainReply> train_with(const Fault& fault, const TrainTask& task, LocalUpdate reuse) {
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

  SumHost sum_host() const override { return {.run = "simulation", .verifier = &verifier_}; }

  Status sum_each(SumPhase phase, std::span<SumAsk> asks, const TakeSumReply& take) override {
    if (phase == SumPhase::kKeys && !secrets_.members) simulated_ = make_simulated_members(seed_);
    for (std::size_t i = 0; i < asks.size(); ++i) {
      MUSTER_ASSIGN(SumReply reply, take_part(phase, asks[i]));
      take(i, std::move(reply));
    }
    return {};
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
    MUSTER_ASSIGN(ProfileReply reply,
                  kind->tell(given, *make_profile_subject(solver_, task.client, count_noise(task.client))));
    auto* const told = std::get_if<ClientProfile>(&reply);
    if (told && malicious(task.client)) attackers_->attack().change_profile(*told);
    return reply;
  }

  Result<EvaluateReply> evaluate(const EvaluateTask& task) override {
    MUSTER_ASSIGN(Evaluation own, solver_.evaluate_client(task));
    return EvaluateReply{std::move(own)};
  }

 private:
  Result<Words> encode(const SumTerms& terms, const TrainTask& task, LocalUpdate& update) const {
    Result<Words> words =
        privacy_ ? encode_private_change(terms.format, *privacy_, terms.threshold, task.model, update, noise_for(task))
                 : encode_change(terms.format, task.model, update);
    if (!words) return words;
    const auto members = static_cast<std::uint32_t>(terms.members.size());
    if (terms.hides_samples) {
      MUSTER_TRY(add_counts(hidden_counts(update), members, *words));
      hide_counts(update);
    }
    MUSTER_TRY(add_values(update.payload, members, *words));
    return words;
  }

  CountNoise count_noise(ClientId client) const {
    return [this, client](std::span<const std::uint32_t> counts, double epsilon) {
      return secrets_.noise ? secret_count_noise(*secrets_.noise, client, counts, epsilon)
                            : seeded_noise(seed_, client);
    };
  }

  // From the seed it is drawn for each client and round, whatever the change.
  ChangeNoise noise_for(const TrainTask& task) const {
    if (secrets_.noise) return secret_change_noise(*secrets_.noise, task.round, task.client);
    return [this, round = task.round, client = task.client](const PublicBytes&) {
      auto stream = std::make_shared<Stream>(StreamKey{.seed = seed_,
                                                       .purpose = Purpose::kNoise,
                                                       .round = round,
                                                       .id = client.value,
                                                       .part = std::numeric_limits<std::uint32_t>::max() - 1});
      return [stream] { return stream->uniform(); };
    };
  }

  // A client that vanishes in a round does so in some phase of its first sum, and is not there for the others.
  bool vanishes(SumPhase phase, const TrainTask& task) const {
    if (!draw_fault(faults_, seed_, task.round, task.client).drop) return false;
    if (task.part > 0) return true;
    Stream stream({.seed = seed_, .purpose = Purpose::kFault, .round = task.round, .id = task.client.value, .part = 1});
    return static_cast<std::uint32_t>(phase) >= stream.below(static_cast<std::uint32_t>(SumPhase::kDone));
  }

  Result<SumReply> take_part(SumPhase phase, SumAsk& ask) {
    const TrainTask& task = ask.task;
    if (vanishes(phase, task)) return SumReply{Dropped{task.client, DropReason::kFault}};
    if (phase == SumPhase::kKeys) {
      // One that is refused leaves the sum that is under way as it is.
      const Result<SumTerms> terms = unpack_terms(std::move(ask.message));
      Result<SumMessage> keys = terms ? members().join(task, *terms) : terms.error();
      if (!keys) return SumReply{Dropped{task.client, DropReason::kRefused}};
      return SumReply{SumAnswer{.message = std::move(*keys)}};
    }
    SumClient* const found = members().find(task.client, ask.attempt);
    if (!found) return SumReply{Dropped{task.client, DropReason::kUnreachable}};  // it has lost its secrets
    SumClient& sum = *found;
    if (phase == SumPhase::kShares) return answer_of(phase, task.client, sum.share(std::move(ask.message)));
    if (phase == SumPhase::kAgreement) return answer_of(phase, task.client, sum.agree(std::move(ask.message)));
    if (phase == SumPhase::kOpening) return answer_of(phase, task.client, sum.open(std::move(ask.message)));
    MUSTER_ASSIGN(TrainReply trained, train_left(task));
    if (const auto fault = fault_in(trained, task, {})) return SumReply{Dropped{task.client, *fault}};
    auto& update = std::get<LocalUpdate>(trained);
    Result<Words> words = encode(sum.terms(), task, update);
    if (!words) {
      members().refuse(task.client, words.error().message);
      return SumReply{Dropped{task.client, DropReason::kMalformed}};
    }
    MUSTER_ASSIGN(SumReply reply, answer_of(phase, task.client, sum.mask(std::move(ask.message), std::move(*words))));
    if (auto* const answer = std::get_if<SumAnswer>(&reply)) {
      spare_.model = std::move(update.model);
      spare_.payload = std::move(update.payload);
      answer->update = std::move(update);
    }
    return reply;
  }

  [[nodiscard]] SumMembers& members() { return secrets_.members ? *secrets_.members : *simulated_; }

  Result<SumReply> answer_of(SumPhase phase, ClientId client, Result<SumMessage> said) {
    if (!said || phase == SumPhase::kOpening) members().leave(client, said ? "" : said.error().message);
    if (!said) return SumReply{Dropped{client, DropReason::kRefused}};
    return SumReply{SumAnswer{.message = std::move(*said)}};
  }

  // What is left of a member's round once it is known not to vanish.
  Result<TrainReply> train_left(const TrainTask& task) {
    return train_with(draw_fault(faults_, seed_, task.round, task.client), task, std::move(spare_));
  }

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
  const PrivacyOptions* privacy_;
  std::vector<float> poisoned_;
  MemberSecrets secrets_;
  std::unique_ptr<SumMembers> simulated_;  // of the sum that this link has under way
  SimulatedVerifier verifier_;
  LocalUpdate spare_;  // memory for another
};

}  // namespace

std::unique_ptr<ClientLink> make_in_process_link(LocalSolver& solver, const ProfileKind& kind,
                                                 const FaultOptions& faults, bool stragglers_send_partial_work,
                                                 std::uint64_t seed, const Attackers* attackers,
                                                 const PrivacyOptions* privacy, const MemberSecrets* secrets) {
  return std::make_unique<InProcessLink>(solver, kind, faults, stragglers_send_partial_work, seed, attackers, privacy,
                                         secrets);
}

}  // namespace muster
