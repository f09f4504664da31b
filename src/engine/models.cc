#include "engine/models.h"

#include <cmath>

namespace muster {
namespace {

Status wrong_size(std::size_t found, std::size_t wanted) {
  return failure("checkpoint holds a model of {} values, the recipe's has {}", found, wanted);
}

class SharedModel final : public Models {
 public:
  SharedModel(std::unique_ptr<Aggregator> aggregator, std::vector<float> initial)
      : aggregator_(std::move(aggregator)), model_(std::move(initial)) {}

  void begin() override { aggregator_->begin(model_); }
  std::span<const float> start(GroupId, std::size_t) const override { return model_; }
  void add(GroupUpdate& update, std::size_t) override { aggregator_->add(update); }
  void finish(std::uint32_t) override { aggregator_->finish(model_); }
  std::span<const float> broadcast() const override { return aggregator_->broadcast(); }
  std::uint32_t count() const override { return 1; }
  std::span<const float> shared() const override { return model_; }
  std::span<const float> of(GroupId) const override { return model_; }
  void regrouped(const Grouping&, const RowsView<float>&) override {}

  void save(Checkpoint& checkpoint) const override {
    checkpoint.put_floats("model", model_);
    for (const auto& [name, values] : aggregator_->save()) checkpoint.put_doubles(kPrefix + name, values);
  }
  Status restore(const Checkpoint& checkpoint) override {
    MUSTER_ASSIGN(std::vector<float> model, checkpoint.get_floats("model"));
    if (model.size() != model_.size()) return wrong_size(model.size(), model_.size());
    std::map<std::string, std::vector<double>> state;
    for (const auto& [name, content] : checkpoint.sections) {
      if (!name.starts_with(kPrefix)) continue;
      MUSTER_ASSIGN(state[name.substr(kPrefix.size())], checkpoint.get_doubles(name));
    }
    MUSTER_TRY(aggregator_->restore(state));
    model_ = std::move(model);
    return {};
  }

 private:
  inline static const std::string kPrefix = "aggregator.";
  std::unique_ptr<Aggregator> aggregator_;
  std::vector<float> model_;
};

class ClientModels final : public Models {
 public:
  explicit ClientModels(std::vector<float> initial) : initial_(std::move(initial)) {}

  void begin() override {}
  std::span<const float> start(GroupId, std::size_t) const override { return initial_; }
  void add(GroupUpdate&, std::size_t) override {}
  void finish(std::uint32_t) override {}
  bool in_clients() const override { return true; }
  std::uint32_t count() const override { return clients_; }
  std::span<const float> shared() const override { return initial_; }
  std::span<const float> of(GroupId) const override { return initial_; }
  bool per_group() const override { return true; }
  void regrouped(const Grouping& grouping, const RowsView<float>&) override { clients_ = grouping.count(); }

  void save(Checkpoint& checkpoint) const override { checkpoint.put_floats("model", initial_); }
  Status restore(const Checkpoint& checkpoint) override {
    MUSTER_ASSIGN(const std::vector<float> model, checkpoint.get_floats("model"));
    if (model.size() != initial_.size()) return wrong_size(model.size(), initial_.size());
    return {};
  }

 private:
  std::vector<float> initial_;
  std::uint32_t clients_ = 0;
};

// Several models of one size, and their mean.
class SeveralModels : public Models {
 public:
  explicit SeveralModels(std::vector<float> initial) : shared_(std::move(initial)) {}

  std::uint32_t count() const override { return models_.count(); }
  std::span<const float> shared() const override { return shared_; }

 protected:
  void put_models(Checkpoint& checkpoint) const {
    checkpoint.put_floats("model", shared_);
    checkpoint.put_floats("models", models_.values);
  }
  Status get_models(const Checkpoint& checkpoint) {
    MUSTER_ASSIGN(std::vector<float> shared, checkpoint.get_floats("model"));
    MUSTER_ASSIGN(std::vector<float> models, checkpoint.get_floats("models"));
    if (shared.size() != shared_.size() || models.size() % shared_.size() != 0) {
      return wrong_size(shared.size(), shared_.size());
    }
    shared_ = std::move(shared);
    models_.values = std::move(models);
    models_.width = shared_.size();
    return {};
  }
  template <typename Weight>
  void share_mean(const Weight& weight_of) {
    mean_.reset(shared_.size());
    for (std::uint32_t i = 0; i < models_.count(); ++i) {
      if (const double weight = weight_of(i); weight > 0) mean_.add(models_.row(i), weight);
    }
    if (mean_.weight() > 0) mean_.store(shared_);
  }

  Rows<float> models_;
  std::vector<float> shared_;

 private:
  WeightedMean mean_;
};

class GroupModels final : public SeveralModels {
 public:
  GroupModels(double mixing, std::vector<float> initial) : SeveralModels(std::move(initial)), mixing_(mixing) {}

  void begin() override {}
  std::span<const float> start(GroupId group, std::size_t) const override { return of(group); }
  void add(GroupUpdate& update, std::size_t) override {
    if (!update.members.empty()) std::ranges::copy(update.model, models_.row(update.group.value).begin());
  }
  void finish(std::uint32_t) override {
    if (mixing_ > 0 && models_.count() > 1) mix();
    share_mean([](std::uint32_t) { return 1.0; });
  }
  std::span<const float> of(GroupId group) const override { return models_.view().row(group.value); }
  bool per_group() const override { return true; }

  void regrouped(const Grouping& grouping, const RowsView<float>& starts) override {
    Rows<float> models(grouping.count(), shared_.size());
    for (std::uint32_t g = 0; g < models.count(); ++g) {
      std::ranges::copy(starts.empty() ? std::span<const float>(shared_) : starts.row(g), models.row(g).begin());
    }
    models_ = std::move(models);
    share_mean([](std::uint32_t) { return 1.0; });
  }

  void save(Checkpoint& checkpoint) const override { put_models(checkpoint); }
  Status restore(const Checkpoint& checkpoint) override { return get_models(checkpoint); }

 private:
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
};

class SlotModels final : public SeveralModels {
 public:
  SlotModels(std::uint32_t window, std::vector<float> initial) : SeveralModels(std::move(initial)), window_(window) {}

  void begin() override {
    const std::uint32_t window = window_ > 0 ? window_ : groups_;
    if (window == 0 || (round_ + 1) % window != 0) return;
    for (std::uint32_t q = 0; q < models_.count(); ++q) std::ranges::copy(shared_, models_.row(q).begin());
    weights_.assign(weights_.size(), 0.0);
  }
  std::span<const float> start(GroupId, std::size_t index) const override {
    // A slot that nobody has trained yet starts where all do.
    return index < models_.count() ? models_.view().row(static_cast<std::uint32_t>(index)) : shared_;
  }
  void add(GroupUpdate& update, std::size_t index) override {
    while (models_.count() <= index) {
      models_.width = shared_.size();
      models_.values.insert(models_.values.end(), shared_.begin(), shared_.end());
      weights_.push_back(0);
    }
    if (update.members.empty()) return;
    std::ranges::copy(update.model, models_.row(static_cast<std::uint32_t>(index)).begin());
    weights_[index] += static_cast<double>(update.samples);
  }
  void finish(std::uint32_t round) override {
    round_ = round;
    share_mean([&](std::uint32_t q) { return weights_[q]; });
  }
  std::span<const float> of(GroupId) const override { return shared_; }
  void regrouped(const Grouping& grouping, const RowsView<float>&) override { groups_ = grouping.count(); }

  void save(Checkpoint& checkpoint) const override {
    put_models(checkpoint);
    checkpoint.put_doubles("slot-weights", weights_);
    checkpoint.put_uint64("slot-groups", groups_);
  }
  Status restore(const Checkpoint& checkpoint) override {
    MUSTER_TRY(get_models(checkpoint));
    MUSTER_ASSIGN(weights_, checkpoint.get_doubles("slot-weights"));
    MUSTER_ASSIGN(const std::uint64_t groups, checkpoint.get_uint64("slot-groups"));
    if (weights_.size() != models_.count()) return failure("checkpoint holds {} slot weights", weights_.size());
    groups_ = static_cast<std::uint32_t>(groups);
    round_ = checkpoint.round;
    return {};
  }

 private:
  std::uint32_t window_;
  std::uint32_t groups_ = 0;
  std::uint32_t round_ = 0;  // the last finished
  std::vector<double> weights_;
};

}  // namespace

std::unique_ptr<Models> make_shared_model(std::unique_ptr<Aggregator> aggregator, std::vector<float> initial) {
  return std::make_unique<SharedModel>(std::move(aggregator), std::move(initial));
}

std::unique_ptr<Models> make_client_models(std::vector<float> initial) {
  return std::make_unique<ClientModels>(std::move(initial));
}

std::unique_ptr<Models> make_group_models(double mixing, std::vector<float> initial) {
  return std::make_unique<GroupModels>(mixing, std::move(initial));
}

std::unique_ptr<Models> make_slot_models(std::uint32_t window, std::vector<float> initial) {
  return std::make_unique<SlotModels>(window, std::move(initial));
}

}  // namespace muster
