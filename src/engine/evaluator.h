// Evaluator: how good a model is — on the server's test set, on the clients' own test samples, or both. Work is cut
// into pieces that do not depend on the number of threads, and summed in order.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "recipe/recipe.h"
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
  std::vector<Score> groups;     // likewise over the members of each group, where groups have models
};

// Which models are evaluated. Borrowed until the evaluation ends.
struct EvaluatedModels {
  std::span<const float> shared;                 // on the server's test set, and by clients where there is no other
  std::vector<std::span<const float>> of_group;  // empty: all clients use `shared`
  std::vector<GroupId> group_of;                 // of each client, where groups have models; kNoGroup = it is left out
  bool in_clients = false;                       // clients use the models they keep, where they have one
};

class Evaluator {
 public:
  Evaluator(bool global, bool clients, std::vector<ClientId> asked, const FederatedData& data, WorkerPool& pool,
            std::span<const std::unique_ptr<LocalSolver>> solvers, std::span<const std::unique_ptr<ClientLink>> links);

  [[nodiscard]] Result<EvaluationResult> evaluate(const EvaluatedModels& models);
  // The same in steps, for whoever has workers to spare: begin(), each of the pieces once and all in one run of the
  // pool, end().
  void begin(EvaluatedModels models);
  [[nodiscard]] std::uint32_t pieces() const { return global_pieces() + client_pieces(); }
  [[nodiscard]] Status work(std::uint32_t worker, std::uint32_t piece);
  [[nodiscard]] EvaluationResult end();
  // What the pieces of the last evaluation took, all together.
  [[nodiscard]] double seconds() const;

  // Accuracy of each client at the last evaluation, NaN where there is none; empty if clients are not evaluated.
  [[nodiscard]] std::span<const float> client_accuracy() const { return client_accuracy_; }
  void restore_client_accuracy(std::span<const float> values);

 private:
  [[nodiscard]] std::uint32_t global_pieces() const;
  [[nodiscard]] std::uint32_t client_pieces() const;
  void work_global(std::uint32_t worker, std::uint32_t piece);
  Status work_clients(std::uint32_t worker, std::uint32_t piece);

  bool global_;
  bool clients_;
  std::vector<ClientId> asked_;
  const FederatedData& data_;
  WorkerPool& pool_;
  std::span<const std::unique_ptr<LocalSolver>> solvers_;
  std::span<const std::unique_ptr<ClientLink>> links_;
  std::vector<float> client_accuracy_;

  EvaluatedModels models_;
  std::vector<const float*> loaded_;  // of each worker: the model its solver has, null at first
  std::vector<Evaluation> of_pieces_;
  std::vector<Evaluation> of_clients_;  // in the order of asked_
  std::vector<double> seconds_;         // of each piece
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
