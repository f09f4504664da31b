// classifier-weights: the weights of the last dense layers after a client has trained alone, from a network that is
// drawn for profiles and shared by all clients (FedSeq's psi_clf).
#include "profile/formulas.h"
#include "profile/kinds.h"

namespace muster {
namespace {

const ProfileEntry& described() {
  static const ProfileEntry entry{
      .name = "classifier-weights",
      .summary = "weights of the last dense layers after training from the start model",
      .keys = {"epochs", "steps", "layers", "bias", "variance"},
      .bytes = "4 per parameter down, 4 per weight of these layers up",
      .reveals =
          "part of a model trained on the client's samples alone: which classes it has, and traces of how they look",
      .gives = ProfileGives::kVectors,
      .trains = true,
      .usual_work = {.epochs = 10},  // FedSeq's pre-training
      .observable = true};
  return entry;
}

class ClassifierWeights final : public ProfileKind {
 public:
  explicit ClassifierWeights(const ProfileOptions& options)
      : work_(work_of(options, described().usual_work)),
        layers_(options.layers),
        bias_(*options.bias),
        variance_(options.variance) {}

  const ProfileEntry& entry() const override { return described(); }
  Result<std::size_t> width(const Network& network, std::uint32_t) const override {
    MUSTER_ASSIGN(const std::vector<ParameterRange> ranges, classifier_ranges(network, layers_, bias_));
    std::size_t width = 0;
    for (const ParameterRange& range : ranges) width += range.size;
    return width;
  }
  std::uint32_t start_part() const override { return 1; }
  std::optional<double> kept_variance() const override { return variance_; }

  std::vector<float> observe(const Network& network, std::span<const float>,
                             std::span<const float> sent) const override {
    return gather_ranges(sent, *classifier_ranges(network, layers_, bias_));
  }

 private:
  Result<ProfileReply> do_tell(const ProfileTask& task, ProfileSubject& subject) const override {
    return train_and_observe(*this, work_, task, subject);
  }

  ProfileWork work_;
  std::string layers_;
  bool bias_;
  std::optional<double> variance_;
};

}  // namespace

ListedProfileKind list_classifier_weights() {
  return listed<ClassifierWeights>(described());
}

}  // namespace muster
