// Every group has a model of its own.
#include <cmath>

#include "engine/models.h"
#include "engine/saved_model.h"

namespace muster {
namespace {

class GroupModels final : public Models {
 public:
  GroupModels(double mixing, std::vector<float> initial) : mixing_(mixing), shared_(std::move(initial)) {}

  void begin(std::uint32_t, std::size_t) override {}
  std::span<const float> start(GroupId group, std::size_t) const override { return of(group); }
  void add(GroupUpdate& update, std::size_t) override {
    if (!update.members.empty()) std::ranges::copy(update.model, models_.row(update.group.value).begin());
  }
  void finish() override {
    if (mixing_ > 0 && models_.count() > 1) mix();
    share_mean();
  }
  std::uint32_t count() const override { return models_.count(); }
  std::span<const float> shared() const override { return shared_; }
  std::span<const float> of(GroupId group) const override { return models_.view().row(group.value); }
  bool per_group() const override { return true; }

  void regrouped(const Grouping& grouping, const RowsView<float>& starts) override {
    Rows<float> models(grouping.count(), shared_.size());
    for (std::uint32_t g = 0; g < models.count(); ++g) {
      std::ranges::copy(starts.empty() ? std::span<const float>(shared_) : starts.row(g), models.row(g).begin());
    }
    models_ = std::move(models);
    share_mean();
  }

  void save(Checkpoint& checkpoint) const override {
    checkpoint.put_floats("model", shared_);
    checkpoint.put_floats("models", models_.values);
  }
  Status restore(const Checkpoint& checkpoint, std::uint32_t groups) override {
    MUSTER_ASSIGN(std::vector<float> shared, saved_models(checkpoint, "model", 1, shared_.size()));
    MUSTER_ASSIGN(models_.values, saved_models(checkpoint, "models", groups, shared_.size()));
    models_.width = shared_.size();
    shared_ = std::move(shared);
    return {};
  }

 private:
  void share_mean() {
    mean_.reset(shared_.size());
    for (std::uint32_t g = 0; g < models_.count(); ++g) mean_.add(models_.row(g), 1.0);
    if (mean_.weight() > 0) mean_.store(shared_);
  }

  // All at once from the models as they were, including those that did not train.
  void mix() {
    const std::uint32_t count = models_.count();
    std::vector<double> pull(count);  // mixing / |w|
    std::vector<double> total(shared_.size());
    double pulls = 0;
    for (std::uint32_t g = 0; g < count; ++g) {
      double squares = 0;
      for (const float value : models_.row(g)) squares += double{value} * value;
      pull[g] = squares > 0 ? mixing_ / std::sqrt(squares) : 0;
      pulls += pull[g];
      const std::span<const float> row = models_.row(g);
      for (std::size_t i = 0; i < row.size(); ++i) total[i] += pull[g] * row[i];
    }
    for (std::uint32_t g = 0; g < count; ++g) {
      const std::span<float> row = models_.row(g);
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = static_cast<float>((row[i] + total[i] - pull[g] * row[i]) / (1 + pulls - pull[g]));
      }
    }
  }

  double mixing_;
  Rows<float> models_;
  std::vector<float> shared_;  // their mean
  WeightedMean mean_;
};

}  // namespace

std::unique_ptr<Models> make_group_models(double mixing, std::vector<float> initial) {
  return std::make_unique<GroupModels>(mixing, std::move(initial));
}

}  // namespace muster
