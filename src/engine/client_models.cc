// Every client trains a model of its own, which never leaves it.
#include "engine/models.h"
#include "engine/saved_model.h"

namespace muster {
namespace {

class ClientModels final : public Models {
 public:
  explicit ClientModels(std::vector<float> initial) : initial_(std::move(initial)) {}

  void begin(std::uint32_t, std::size_t) override {}
  std::span<const float> start(GroupId, std::size_t) const override { return initial_; }
  void add(GroupUpdate&, std::size_t) override {}
  void finish() override {}
  bool in_clients() const override { return true; }
  std::uint32_t count() const override { return clients_; }
  std::span<const float> shared() const override { return initial_; }
  std::span<const float> of(GroupId) const override { return initial_; }
  bool per_group() const override { return true; }
  void regrouped(const Grouping& grouping, const RowsView<float>&) override { clients_ = grouping.count(); }

  void save(Checkpoint& checkpoint) const override { checkpoint.put_floats("model", initial_); }
  Status restore(const Checkpoint& checkpoint, std::uint32_t groups) override {
    MUSTER_ASSIGN(initial_, saved_models(checkpoint, "model", 1, initial_.size()));
    clients_ = groups;
    return {};
  }

 private:
  std::vector<float> initial_;
  std::uint32_t clients_ = 0;
};

}  // namespace

std::unique_ptr<Models> make_client_models(std::vector<float> initial) {
  return std::make_unique<ClientModels>(std::move(initial));
}

}  // namespace muster
