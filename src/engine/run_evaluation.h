// RunEvaluation: who is asked to evaluate which model, and what becomes of the answers: a round's accuracy, the
// accuracy of each group's model, and of each client.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/models.h"
#include "recipe/recipe.h"
#include "record/run_record.h"
#include "train/federation.h"

namespace muster {

class RunEvaluation {
 public:
  // Decides what `on = "auto"` means for this federation, and which clients are asked. An error if what is asked for
  // does not exist; "auto" without any test samples evaluates nothing. `separate`: no model speaks for all clients, so
  // only they are asked. `roster` is borrowed.
  [[nodiscard]] static Result<std::unique_ptr<RunEvaluation>> make(const EvaluationOptions& options,
                                                                   const Federation& federation, bool separate,
                                                                   std::uint64_t seed);

  // Whether there is anything to evaluate at all.
  [[nodiscard]] bool any() const { return global_ || !asked_.empty(); }
  // What to evaluate after `round`. A client in no group scores the model that speaks for the run; one that has not
  // arrived yet is not asked. Borrows the models.
  [[nodiscard]] EvaluationRequest request(const Models& models, const Grouping& grouping, std::uint32_t round);
  // The result of the last request.
  void enter(const EvaluationResult& result, RoundRecord& record);

  // Accuracy of each client at the last evaluation that it took part in, NaN where there is none; empty if clients are
  // not evaluated.
  [[nodiscard]] std::span<const float> client_accuracy() const { return client_accuracy_; }

  void save(Checkpoint& checkpoint) const;
  [[nodiscard]] Status restore(const Checkpoint& checkpoint);

 private:
  explicit RunEvaluation(const Roster& roster) : roster_(roster) {}

  const Roster& roster_;
  bool global_ = false;
  std::vector<ClientId> asked_;      // ascending
  std::uint64_t asked_samples_ = 0;  // of all of them
  std::vector<float> client_accuracy_;
  // Of the last request.
  std::vector<ClientId> clients_;
  std::vector<std::uint32_t> model_of_;
  std::uint32_t groups_ = 0;  // with a model of their own; 0 = one model
};

}  // namespace muster
