// Client-level differential privacy at the server (McMahan et al. 2018): the changes of all clients, each of which was
// shortened to `clip` where its group trained, are summed; noise of deviation noise-multiplier * clip is added to the
// sum; what another rule makes of the mean can reveal no more. The sum is divided by the number of clients that were
// drawn, not of those that answered: who did is nobody's business. Noise is added even if nobody answered.
#include <limits>

#include "aggregate/secret_noise.h"
#include "base/check.h"
#include "base/random.h"

namespace muster {
namespace {

// Streams of this purpose with smaller parts are those of rules that merge models.
constexpr std::uint32_t kPrivacyPart = std::numeric_limits<std::uint32_t>::max();

class PrivateSum final : public Aggregator {
 public:
  PrivateSum(std::unique_ptr<Aggregator> inside, const PrivacyOptions& options, const AggregatorSizes& sizes,
             NoiseSource noise)
      : inside_(std::move(inside)),
        deviation_(options.noise_multiplier * *options.clip),
        sizes_(sizes),
        noise_(std::move(noise)) {
    MUSTER_CHECK(sizes.parameters == sizes.size, "running statistics are not private");
  }

  void begin(std::span<const float> model) override {
    start_ = model;
    sum_.assign(model.size(), 0.0);
    drawn_ = 0;
    ++merges_;
  }
  void add(const GroupUpdate& update) override {
    drawn_ += update.members.size() + update.dropped.size();
    if (update.members.empty()) return;
    const auto members = static_cast<double>(update.members.size());
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += members * (double{update.model[i]} - start_[i]);
  }
  void finish(std::span<float> model) override {
    if (drawn_ == 0) return;
    if (deviation_ > 0 && noise_.key) {
      SecretNoise noise(*noise_.key, merges_, sum_);
      if (noise_.leaves) noise_.leaves(merges_, noise.release());
      add_noise(noise);
    } else if (deviation_ > 0) {
      Stream stream({.seed = sizes_.seed, .purpose = Purpose::kNoise, .round = merges_, .part = kPrivacyPart});
      add_noise(stream);
    }
    GroupUpdate mean;
    mean.model.resize(model.size());
    for (std::size_t i = 0; i < sum_.size(); ++i) {
      mean.model[i] = static_cast<float>(start_[i] + sum_[i] / static_cast<double>(drawn_));
    }
    mean.samples = 1;
    mean.members.resize(1);
    inside_->begin(model);
    inside_->add(mean);
    inside_->finish(model);
  }

  std::map<std::string, std::vector<double>> save() const override {
    auto state = inside_->save();
    state["private-merges"] = {static_cast<double>(merges_)};
    return state;
  }
  Status restore(const std::map<std::string, std::vector<double>>& state) override {
    const auto merges = state.find("private-merges");
    const bool whole = merges != state.end() && merges->second.size() == 1 && merges->second[0] >= 0 &&
                       merges->second[0] <= std::numeric_limits<std::uint32_t>::max();
    if (!whole) return failure("checkpoint does not hold how often private sums were made");
    MUSTER_TRY(inside_->restore(state));
    merges_ = static_cast<std::uint32_t>(merges->second[0]);
    return {};
  }

 private:
  template <typename Normals>
  void add_noise(Normals& normals) {
    for (double& value : sum_) value += deviation_ * normals.normal();
  }

  std::unique_ptr<Aggregator> inside_;
  double deviation_;
  AggregatorSizes sizes_;
  NoiseSource noise_;
  std::span<const float> start_;
  std::vector<double> sum_;
  std::uint64_t drawn_ = 0;
  std::uint32_t merges_ = 0;  // since the run began: they name the noise
};

}  // namespace

std::unique_ptr<Aggregator> make_private_sum(std::unique_ptr<Aggregator> inside, const PrivacyOptions& options,
                                             const AggregatorSizes& sizes, NoiseSource noise) {
  return std::make_unique<PrivateSum>(std::move(inside), options, sizes, std::move(noise));
}

std::unique_ptr<Aggregator> make_private_sum(std::unique_ptr<Aggregator> inside, const PrivacyOptions& options,
                                             const AggregatorSizes& sizes) {
  return make_private_sum(std::move(inside), options, sizes, {});
}

}  // namespace muster
