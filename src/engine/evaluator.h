// Evaluator: how good a model is — on the server's test set, on the clients' own test samples, or both. Work is cut
// into pieces that do not depend on the number of threads, and summed in order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/recipe.h"
#include "train/client_link.h"
#include "train/worker_pool.h"

namespace muster {

struct Score {
  std::uint64_t samples = 0;
  std::uint64_t correct = 0;
  double loss_sum = 0;
  [[nodiscard]] double accuracy() const { return static_cast<double>(correct) / static_cast<double>(samples); }
  [[nodiscard]] double loss() const { return loss_sum / static_cast<double>(samples); }
};

// Each is set only if it was asked for and there are samples.
struct EvaluationResult {
  std::optional<Score> global;
  std::optional<Score> clients;  // pooled: all correct over all test samples
};

// Which models are evaluated. Borrowed for the call.
struct EvaluatedModels {
  std::span<const float> shared;  // on the server's test set, and by clients where there is no other
  // The model of a client; empty = it has none yet and is left out. Not set: all clients use `shared`.
  std::function<std::span<const float>(ClientId)> of_client;
  bool in_clients = false;  // clients use the models they keep, where they have one
};

class Evaluator {
 public:
  Evaluator(bool global, bool clients, std::vector<ClientId> asked, const FederatedData& data, WorkerPool& pool,
            std::span<const std::unique_ptr<LocalSolver>> solvers, std::span<const std::unique_ptr<ClientLink>> links);

  [[nodiscard]] Result<EvaluationResult> evaluate(const EvaluatedModels& models);

  // Accuracy of each client at the last evaluation, NaN where there is none; empty if clients are not evaluated.
  [[nodiscard]] std::span<const float> client_accuracy() const { return client_accuracy_; }
  void restore_client_accuracy(std::span<const float> values);

 private:
  Result<Score> evaluate_global(std::span<const float> model);
  Result<Score> evaluate_clients(const EvaluatedModels& models);

  bool global_;
  bool clients_;
  std::vector<ClientId> asked_;
  const FederatedData& data_;
  WorkerPool& pool_;
  std::span<const std::unique_ptr<LocalSolver>> solvers_;
  std::span<const std::unique_ptr<ClientLink>> links_;
  std::vector<float> client_accuracy_;
};

// Decides what `on = "auto"` means for these data, and which clients are asked. An error if what is asked for does not
// exist; "auto" without any test samples evaluates nothing. `separate`: no model speaks for all clients, so only they
// are asked. All but `options` are borrowed.
[[nodiscard]] Result<std::unique_ptr<Evaluator>> make_evaluator(const EvaluationOptions& options,
                                                                const FederatedData& data, WorkerPool& pool,
                                                                std::span<const std::unique_ptr<LocalSolver>> solvers,
                                                                std::span<const std::unique_ptr<ClientLink>> links,
                                                                bool separate, std::uint64_t seed);

}  // namespace muster
