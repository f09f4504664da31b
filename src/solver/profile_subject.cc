#include "solver/profile_subject.h"

namespace muster {
namespace {

// Training for a profile draws other batches than any visit of a round does.
constexpr std::uint32_t kProfilePart = 65535;

class SolverSubject final : public ProfileSubject {
 public:
  SolverSubject(LocalSolver& solver, ClientId client, CountNoise noise)
      : solver_(solver), client_(client), noise_(std::move(noise)) {}

  const Network& network() const override { return solver_.network(); }
  std::uint32_t samples() const override { return solver_.data().train_count(client_); }
  std::vector<std::uint32_t> label_counts() const override { return solver_.data().label_counts(client_); }
  NoiseDraws noise(std::span<const std::uint32_t> counts, double epsilon) const override {
    return noise_(counts, epsilon);
  }

  Result<std::variant<Trained, Dropped>> train(const ProfileTask& task, const ProfileWork& wanted) override {
    MUSTER_ASSIGN(TrainReply reply,
                  solver_.train({.client = client_,
                                 .round = task.round,
                                 .part = kProfilePart,
                                 .model = task.models.row(0),
                                 .work = task.work,
                                 .trial = LocalWork{.epochs = wanted.epochs, .steps = wanted.steps}}));
    auto* const update = std::get_if<LocalUpdate>(&reply);
    if (!update) return std::variant<Trained, Dropped>{std::get<Dropped>(reply)};
    return std::variant<Trained, Dropped>{
        Trained{.model = std::move(update->model), .samples = update->samples_trained}};
  }

  Outputs outputs(std::span<const float> model, const SampleView& view) override {
    Outputs outputs{.logits = Rows<float>(static_cast<std::uint32_t>(view.size()), network().outputs()),
                    .labels = std::vector<std::int32_t>(view.size())};
    solver_.evaluate_outputs(model, view, outputs.logits.values, outputs.labels);
    return outputs;
  }

  Result<std::vector<double>> mean_losses(const RowsView<float>& models) override {
    MUSTER_ASSIGN(const std::vector<Evaluation> evaluations, solver_.evaluate_training(models, client_));
    std::vector<double> losses;
    for (const Evaluation& evaluation : evaluations) {
      losses.push_back(evaluation.loss_sum / static_cast<double>(evaluation.samples));
    }
    return losses;
  }

 private:
  LocalSolver& solver_;
  const ClientId client_;
  const CountNoise noise_;
};

}  // namespace

std::unique_ptr<ProfileSubject> make_profile_subject(LocalSolver& solver, ClientId client, CountNoise noise) {
  return std::make_unique<SolverSubject>(solver, client, std::move(noise));
}

}  // namespace muster
