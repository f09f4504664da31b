// confidence-vector: how sure a model is of each class on the server's exemplars, after a client has trained it alone
// from a network that is drawn for profiles and shared by all clients (FedSeq's psi_conf).
#include "profile/formulas.h"
#include "profile/kinds.h"

namespace muster {
namespace {

const ProfileEntry& described() {
  static const ProfileEntry entry{.name = "confidence-vector",
                                  .summary = "how sure a model trained by the client is of each class, on exemplars",
                                  .keys = {"epochs", "steps", "form"},
                                  .bytes = "4 per parameter and the exemplars down, 4 per class up",
                                  .reveals = "roughly which mix of classes the client has",
                                  .gives = ProfileGives::kProbabilities,
                                  .trains = true,
                                  .usual_work = {.epochs = 10},  // FedSeq's pre-training
                                  .exemplars = true};
  return entry;
}

class ConfidenceVector final : public ProfileKind {
 public:
  explicit ConfidenceVector(const ProfileOptions& options)
      : work_(work_of(options, described().usual_work)), form_(options.form) {}

  const ProfileEntry& entry() const override { return described(); }
  Result<std::size_t> width(const Network& network, std::uint32_t) const override {
    return std::size_t{network.classes()};
  }
  std::uint32_t start_part() const override { return 1; }

 private:
  Result<ProfileReply> do_tell(const ProfileTask& task, ProfileSubject& subject) const override {
    MUSTER_ASSIGN(const auto trained, subject.train(task, work_));
    if (const auto* const dropped = std::get_if<Dropped>(&trained)) return ProfileReply{*dropped};
    const auto& [model, samples] = std::get<ProfileSubject::Trained>(trained);
    const auto [logits, labels] = subject.outputs(model, task.exemplars);
    return ProfileReply{ClientProfile{.vector = confidence_vector(logits, labels, subject.network().classes(), form_),
                                      .samples_trained = samples,
                                      .samples_evaluated = task.exemplars.size()}};
  }

  ProfileWork work_;
  std::string form_;
};

}  // namespace

ListedProfileKind list_confidence_vector() {
  return listed<ConfidenceVector>(described());
}

}  // namespace muster
