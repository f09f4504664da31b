// The server of SCAFFOLD: x <- x + rate * mean(update), c <- c + |S| / N * mean(change of the clients' controls).
#include "aggregate/aggregator.h"

namespace muster {
namespace {

class ControlVariateServer final : public Aggregator {
 public:
  ControlVariateServer(double rate, const AggregatorSizes& sizes) : rate_(rate), sizes_(sizes) {}

  void begin(std::span<const float>) override {
    mean_.reset(sizes_.size);
    change_.reset(sizes_.parameters);
  }
  void add(const GroupUpdate& update) override {
    if (update.members.empty()) return;
    mean_.add(update.model, 1.0);
    if (!update.payload.empty()) change_.add(update.payload, 1.0);
  }
  void finish(std::span<float> model) override {
    if (mean_.weight() <= 0) return;
    for (std::size_t i = 0; i < sizes_.size; ++i) {
      const double rate = i < sizes_.parameters ? rate_ : 1.0;
      // At rate 1 exactly the mean, as uniform averaging computes it.
      model[i] = static_cast<float>((1 - rate) * model[i] + rate * mean_.mean(i));
    }
    if (change_.weight() <= 0) return;
    control_.resize(sizes_.parameters, 0.0);
    broadcast_.resize(sizes_.parameters);
    for (std::size_t i = 0; i < sizes_.parameters; ++i) {
      control_[i] += change_.mean(i) * change_.weight() / sizes_.clients;
      broadcast_[i] = static_cast<float>(control_[i]);
    }
  }

  std::span<const float> broadcast() const override { return broadcast_; }

  std::map<std::string, std::vector<double>> save() const override { return {{"control", control_}}; }
  Status restore(const std::map<std::string, std::vector<double>>& state) override {
    const auto control = state.find("control");
    if (control == state.end() || (!control->second.empty() && control->second.size() != sizes_.parameters)) {
      return failure("checkpoint does not hold the server's control variate");
    }
    control_ = control->second;
    broadcast_.assign(control_.begin(), control_.end());
    return {};
  }

 private:
  double rate_;
  AggregatorSizes sizes_;
  WeightedMean mean_;
  WeightedMean change_;
  std::vector<double> control_;  // empty until the first change: zero
  std::vector<float> broadcast_;
};

}  // namespace

std::unique_ptr<Aggregator> make_control_variate_server(double server_learning_rate, const AggregatorSizes& sizes) {
  return std::make_unique<ControlVariateServer>(server_learning_rate, sizes);
}

}  // namespace muster
