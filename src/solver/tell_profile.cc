#include "solver/tell_profile.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace muster {
namespace {

constexpr std::uint32_t kDefaultSteps = 50;    // FedGroup's pre-training
constexpr double kDefaultEpochs = 10;          // FedSeq's
constexpr std::uint32_t kProfilePart = 65535;  // the draws of profiles are none of those of training

LocalWork wanted_work(const ProfileOptions& options) {
  if (options.steps) return {.steps = *options.steps};
  if (options.epochs) return {.epochs = *options.epochs};
  if (options.kind == "update-direction") return {.steps = kDefaultSteps};
  return {.epochs = kDefaultEpochs};
}

std::vector<std::uint32_t> told_counts(const ProfileTask& task, const LocalSolver& solver, std::uint64_t seed) {
  std::vector<std::uint32_t> counts = solver.data().label_counts(task.client);
  if (!task.options->epsilon || solver.data().train_count(task.client) == 0) return counts;
  Stream stream = noise_stream(seed, task.client);
  return noisy_counts(counts, *task.options->epsilon, stream);
}

// What the trained model says of the client.
Result<std::vector<float>> told_vector(const ProfileTask& task, std::vector<float> trained, LocalSolver& solver) {
  const ProfileOptions& options = *task.options;
  const Network& network = solver.network();
  if (options.kind == "update-direction") {
    trained.resize(network.parameters());  // running statistics have no direction
    const std::span<const float> start = task.models.row(0);
    for (std::size_t i = 0; i < trained.size(); ++i) trained[i] -= start[i];
    return trained;
  }
  if (options.kind == "classifier-weights") {
    MUSTER_ASSIGN(const std::vector<ParameterRange> ranges,
                  classifier_ranges(network, options.layers, options.bias.value_or(false)));
    return gather_ranges(trained, ranges);
  }
  Rows<float> logits(static_cast<std::uint32_t>(task.exemplars.size()), network.outputs());
  std::vector<std::int32_t> labels(task.exemplars.size());
  solver.evaluate_outputs(trained, task.exemplars, logits.values, labels);
  return confidence_vector(logits, labels, network.classes(), options.form);
}

}  // namespace

Result<ProfileReply> tell_profile(const ProfileTask& task, LocalSolver& solver, std::uint64_t seed) {
  ClientProfile profile;
  const ProfileEntry kind = profile_kind(*task.options);
  if (kind.gives == ProfileGives::kNothing) return ProfileReply{std::move(profile)};
  if (kind.gives == ProfileGives::kLabels) {
    profile.labels = told_counts(task, solver, seed);
    return ProfileReply{std::move(profile)};
  }
  const std::uint32_t samples = solver.data().train_count(task.client);
  if (samples == 0) return ProfileReply{Dropped{task.client, DropReason::kNoSamples}};
  MUSTER_CHECK(task.models.count() >= 1, "no model to start from");
  if (kind.gives == ProfileGives::kLosses) {
    for (const Evaluation& evaluation : solver.evaluate_training(task.models, task.client)) {
      profile.vector.push_back(static_cast<float>(evaluation.loss_sum / static_cast<double>(evaluation.samples)));
      profile.samples_evaluated += evaluation.samples;
    }
    return ProfileReply{std::move(profile)};
  }

  MUSTER_ASSIGN(TrainReply reply, solver.train({.client = task.client,
                                                .round = task.round,
                                                .part = kProfilePart,
                                                .model = task.models.row(0),
                                                .work = task.work,
                                                .trial = wanted_work(*task.options)}));
  auto* const update = std::get_if<LocalUpdate>(&reply);
  if (!update) return ProfileReply{std::get<Dropped>(reply)};
  profile.samples_trained = update->samples_trained;
  if (kind.gives == ProfileGives::kProbabilities) profile.samples_evaluated = task.exemplars.size();
  MUSTER_ASSIGN(profile.vector, told_vector(task, std::move(update->model), solver));
  if (!std::all_of(profile.vector.begin(), profile.vector.end(), [](float value) { return std::isfinite(value); })) {
    return ProfileReply{Dropped{task.client, DropReason::kNonFinite}};
  }
  return ProfileReply{std::move(profile)};
}

}  // namespace muster
