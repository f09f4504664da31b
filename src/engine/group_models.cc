// Every group has a model of its own, of which some parts may be one for all.
#include <cmath>

#include "engine/models.h"
#include "engine/saved_model.h"

namespace muster {
namespace {

class GroupModels final : public Models {
 public:
  GroupModels(double mixing, std::vector<float> initial, SharedParts parts, bool normalize)
      : mixing_(mixing), normalize_(normalize), parts_(std::move(parts)), shared_(std::move(initial)) {}

  void begin(std::uint32_t, std::size_t) override { part_mean_.reset(count_of(parts_.ranges)); }
  std::span<const float> start(GroupId group, std::size_t) const override { return of(group); }
  void add(GroupUpdate& update, std::size_t) override {
    if (update.members.empty()) return;
    std::ranges::copy(update.model, models_.row(update.group.value).begin());
    if (parts_.ranges.empty()) return;
    part_mean_.add(gather_ranges(update.model, parts_.ranges),
                   static_cast<double>(parts_.by_samples ? update.samples : update.members.size()));
  }
  void finish() override {
    if (mixing_ > 0 && models_.count() > 1) mix();
    share_parts();
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
      copy_ranges(shared_, parts_.ranges, models.row(g));
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

  // Also with groups that nobody trained: their parts would be those of other rounds.
  void share_parts() {
    if (part_mean_.weight() <= 0) return;
    std::vector<float> parts(part_mean_.size());
    part_mean_.store(parts);
    for (std::uint32_t g = 0; g < models_.count(); ++g) scatter_ranges(parts, parts_.ranges, models_.row(g));
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
      const double weight = normalize_ ? 1 + pulls - pull[g] : 1;
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = static_cast<float>((row[i] + total[i] - pull[g] * row[i]) / weight);
      }
    }
  }

  double mixing_;
  bool normalize_;
  SharedParts parts_;
  Rows<float> models_;
  std::vector<float> shared_;  // their mean
  WeightedMean mean_;
  WeightedMean part_mean_;  // of the parts in this round's updates
};

}  // namespace

std::unique_ptr<Models> make_group_models(double mixing, std::vector<float> initial, SharedParts parts,
                                          bool normalize) {
  return std::make_unique<GroupModels>(mixing, std::move(initial), std::move(parts), normalize);
}

}  // namespace muster
