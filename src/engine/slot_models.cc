// A few models at which different groups take turns, and which are averaged now and then.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "engine/models.h"
#include "engine/saved_model.h"

namespace muster {
namespace {

class SlotModels final : public Models {
 public:
  SlotModels(const SlotOptions& options, std::vector<float> initial)
      : options_(options), shared_(std::move(initial)), correction_(options.alpha > 0 ? options.parameters : 0, 0.0) {}

  void begin(std::uint32_t round, std::size_t drawn) override {
    const std::uint32_t window = options_.window > 0 ? options_.window : groups_;
    if (window > 0 && round % window == 0) {
      for (std::uint32_t q = 0; q < models_.count(); ++q) std::ranges::copy(shared_, models_.row(q).begin());
      std::ranges::fill(weights_, 0.0);
    }
    // A slot that is new starts where all do.
    models_.width = shared_.size();
    while (models_.count() < drawn) {
      models_.values.insert(models_.values.end(), shared_.begin(), shared_.end());
      weights_.push_back(0);
    }
    // Groups are drawn in the order of their ids: dealt in that order, a slot would meet the same few groups only.
    slot_of_.resize(drawn);
    std::iota(slot_of_.begin(), slot_of_.end(), 0u);
    Stream stream({.seed = options_.seed, .purpose = Purpose::kSlots, .round = round});
    stream.shuffle(std::span(slot_of_));
    trained_.assign(models_.count(), false);
  }
  std::span<const float> start(GroupId, std::size_t index) const override {
    return models_.view().row(slot_of_[index]);
  }
  void add(GroupUpdate& update, std::size_t index) override {
    if (update.members.empty()) return;
    const std::uint32_t slot = slot_of_[index];
    std::ranges::copy(update.model, models_.row(slot).begin());
    weights_[slot] += static_cast<double>(update.samples);
    trained_[slot] = true;
  }
  void finish() override {
    for (std::uint32_t q = 0; q < models_.count() && !correction_.empty(); ++q) {
      if (trained_[q]) correct(models_.row(q));
    }
    mean_.reset(shared_.size());
    for (std::uint32_t q = 0; q < models_.count(); ++q) {
      if (weights_[q] > 0) mean_.add(models_.row(q), weights_[q]);
    }
    if (mean_.weight() <= 0) return;
    mean_.store(shared_);
    for (std::size_t i = 0; i < correction_.size(); ++i) {
      shared_[i] = static_cast<float>(mean_.mean(i) - correction_[i] / options_.alpha);
    }
  }

  std::uint32_t count() const override { return std::max(1u, models_.count()); }
  std::span<const float> shared() const override { return shared_; }
  std::span<const float> of(GroupId) const override { return shared_; }
  void regrouped(const Grouping& grouping, const RowsView<float>&) override { groups_ = grouping.count(); }

  void save(Checkpoint& checkpoint) const override {
    checkpoint.put_floats("model", shared_);
    checkpoint.put_floats("models", models_.values);
    checkpoint.put_doubles("slot-weights", weights_);
    checkpoint.put_doubles("slot-correction", correction_);
  }
  Status restore(const Checkpoint& checkpoint, std::uint32_t groups) override {
    MUSTER_ASSIGN(std::vector<double> weights, checkpoint.get_doubles("slot-weights"));
    MUSTER_ASSIGN(std::vector<double> correction, checkpoint.get_doubles("slot-correction"));
    MUSTER_ASSIGN(std::vector<float> shared, saved_models(checkpoint, "model", 1, shared_.size()));
    MUSTER_ASSIGN(models_.values, saved_models(checkpoint, "models", weights.size(), shared_.size()));
    const auto usable = [](double weight) { return std::isfinite(weight) && weight >= 0; };
    if (!std::ranges::all_of(weights, usable) || correction.size() != correction_.size()) {
      return failure("checkpoint of round {} holds slots of another form", checkpoint.round);
    }
    models_.width = shared_.size();
    shared_ = std::move(shared);
    weights_ = std::move(weights);
    correction_ = std::move(correction);
    groups_ = groups;
    return {};
  }

 private:
  void correct(std::span<const float> trained) {
    for (std::size_t i = 0; i < correction_.size(); ++i) {
      correction_[i] -= options_.alpha / options_.clients * (double{trained[i]} - shared_[i]);
    }
  }

  SlotOptions options_;
  std::uint32_t groups_ = 0;
  Rows<float> models_;
  std::vector<double> weights_;         // samples that trained each slot since the last average
  std::vector<float> shared_;           // the mean, corrected
  std::vector<double> correction_;      // h of FedDyn; empty without
  std::vector<std::uint32_t> slot_of_;  // of this round's groups
  std::vector<bool> trained_;           // in this round
  WeightedMean mean_;
};

}  // namespace

std::unique_ptr<Models> make_slot_models(const SlotOptions& options, std::vector<float> initial) {
  return std::make_unique<SlotModels>(options, std::move(initial));
}

}  // namespace muster
