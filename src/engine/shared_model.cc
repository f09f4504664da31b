// One model for everybody.
#include "engine/models.h"
#include "engine/saved_model.h"

namespace muster {
namespace {

class SharedModel final : public Models {
 public:
  SharedModel(std::unique_ptr<Aggregator> aggregator, std::vector<float> initial)
      : aggregator_(std::move(aggregator)), model_(std::move(initial)) {}

  void begin(std::uint32_t, std::size_t) override { aggregator_->begin(model_); }
  std::span<const float> start(GroupId, std::size_t) const override { return model_; }
  void add(GroupUpdate& update, std::size_t) override { aggregator_->add(update); }
  void finish() override { aggregator_->finish(model_); }
  const MergeReport* report() const override { return aggregator_->report(); }
  std::span<const float> broadcast() const override { return aggregator_->broadcast(); }
  std::uint32_t count() const override { return 1; }
  std::span<const float> shared() const override { return model_; }
  std::span<const float> of(GroupId) const override { return model_; }
  void regrouped(const Grouping&, const RowsView<float>&) override {}

  void save(Checkpoint& checkpoint) const override {
    checkpoint.put_floats("model", model_);
    for (const auto& [name, values] : aggregator_->save()) checkpoint.put_doubles(kPrefix + name, values);
  }
  Status restore(const Checkpoint& checkpoint, std::uint32_t) override {
    MUSTER_ASSIGN(std::vector<float> model, saved_models(checkpoint, "model", 1, model_.size()));
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

}  // namespace

std::unique_ptr<Models> make_shared_model(std::unique_ptr<Aggregator> aggregator, std::vector<float> initial) {
  return std::make_unique<SharedModel>(std::move(aggregator), std::move(initial));
}

}  // namespace muster
