// A client that answers by heart: what it would count, train and evaluate is given, and what it is asked is noted.
#pragma once

#include "profile/formulas.h"

namespace muster {

class FakeSubject final : public ProfileSubject {
 public:
  explicit FakeSubject(std::shared_ptr<const Network> network) : network_(std::move(network)) {
    counts.assign(network_->classes(), 3);
    logits.assign(network_->outputs(), 0);
    change.resize(network_->size());
    for (std::size_t i = 0; i < change.size(); ++i) change[i] = 0.25f * static_cast<float>(i + 1);
  }

  const Network& network() const override { return *network_; }
  std::uint32_t samples() const override { return owned; }
  std::vector<std::uint32_t> label_counts() const override { return counts; }
  NoiseDraws noise(std::span<const std::uint32_t>, double) const override { return seeded_noise(seed, {7}); }

  Result<std::variant<Trained, Dropped>> train(const ProfileTask& task, const ProfileWork& wanted) override {
    work.push_back(wanted);
    shares.push_back(task.work);
    if (breaks) return failure("the disk is full");
    if (gone) return std::variant<Trained, Dropped>{Dropped{task.client, *gone}};
    Trained trained{.model = {}, .samples = 40};
    for (std::size_t i = 0; i < change.size(); ++i) trained.model.push_back(task.models.row(0)[i] + change[i]);
    last_trained = trained.model;
    return std::variant<Trained, Dropped>{std::move(trained)};
  }

  // The same logits for every sample.
  Outputs outputs(std::span<const float> model, const SampleView& view) override {
    evaluated.assign(model.begin(), model.end());
    Outputs outputs;
    outputs.logits.width = logits.size();
    for (const std::uint32_t row : view.rows) {
      outputs.logits.values.insert(outputs.logits.values.end(), logits.begin(), logits.end());
      outputs.labels.push_back(view.samples->labels[row]);
    }
    return outputs;
  }

  // 1, 2, 3, ... times `loss`.
  Result<std::vector<double>> mean_losses(const RowsView<float>& models) override {
    std::vector<double> losses;
    for (std::uint32_t m = 0; m < models.count(); ++m) losses.push_back(loss * (m + 1));
    return losses;
  }

  std::uint32_t owned = 6;
  std::vector<std::uint32_t> counts;
  std::uint64_t seed = 11;
  std::vector<float> change;  // of the model, by training
  std::vector<float> logits;
  double loss = 0.5;
  std::optional<DropReason> gone;  // while training
  bool breaks = false;

  std::vector<ProfileWork> work;
  std::vector<double> shares;
  std::vector<float> last_trained;
  std::vector<float> evaluated;

 private:
  std::shared_ptr<const Network> network_;
};

// A network, models and exemplars: three inputs, two classes, dense layers of 5 and 4 units in between.
class ProfileWorld {
 public:
  explicit ProfileWorld(std::uint32_t model_count = 1)
      : network(std::move(make_network({.name = "mlp", .hidden = {5, 4}}, {1, 1, 3}, 2)).value()),
        models(model_count, network->size()) {
    for (std::size_t i = 0; i < models.values.size(); ++i) models.values[i] = 0.5f * static_cast<float>(i % 7);
    samples = {.storage = Samples::Storage::kFloats, .shape = {1, 1, 3}, .classes = 2, .labels = {0, 1, 1}};
    samples.floats.resize(9);
  }

  [[nodiscard]] SampleView exemplars() const { return {&samples, rows}; }
  [[nodiscard]] ProfileTask task(const ProfileKind& kind) const {
    return {.client = ClientId{7}, .kind = kind.entry().name, .models = models, .exemplars = exemplars()};
  }

  std::shared_ptr<const Network> network;  // 20 + 24 + 10 parameters
  Rows<float> models;
  Samples samples;
  std::vector<std::uint32_t> rows{0, 1, 2};
};

inline std::unique_ptr<ProfileKind> kind_of(const ProfileOptions& options) {
  auto kind = make_profile_kind(options);
  EXPECT_TRUE(kind.ok()) << kind.error().message;
  return std::move(kind).value();
}

// What it tells. Fails the test if it tells nothing.
inline ClientProfile told_by(const ProfileKind& kind, const ProfileTask& task, ProfileSubject& subject) {
  const auto reply = kind.tell(task, subject);
  EXPECT_TRUE(reply.ok()) << reply.error().message;
  if (!reply.ok()) return {};
  if (const auto* const told = std::get_if<ClientProfile>(&*reply)) return *told;
  ADD_FAILURE() << "dropped: " << name(std::get<Dropped>(*reply).reason);
  return {};
}

// Why it tells nothing; not set if it tells something.
inline std::optional<DropReason> dropped_by(const ProfileKind& kind, const ProfileTask& task, ProfileSubject& subject) {
  const auto reply = kind.tell(task, subject);
  EXPECT_TRUE(reply.ok()) << reply.error().message;
  if (!reply.ok() || !std::holds_alternative<Dropped>(*reply)) return std::nullopt;
  EXPECT_EQ(std::get<Dropped>(*reply).client, task.client);
  return std::get<Dropped>(*reply).reason;
}

}  // namespace muster
