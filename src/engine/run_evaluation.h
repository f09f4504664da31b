// RunEvaluation: who is asked to evaluate which model on which samples, and what becomes of the answers: a round's
// accuracy, that of each group's model and of each client, figures of classes, a validation accuracy; and what is told
// of the models that a run leaves.
#pragma once

#include <memory>
#include <span>
#include <string>
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
  // only they are asked. `federation` is borrowed.
  [[nodiscard]] static Result<std::unique_ptr<RunEvaluation>> make(const EvaluationOptions& options,
                                                                   const Federation& federation, bool separate,
                                                                   std::uint64_t seed);

  // Whether there is anything to evaluate at all, and whether there are validation samples among it.
  [[nodiscard]] bool any() const { return tests_.any() || validates(); }
  [[nodiscard]] bool validates() const { return validation_.any(); }

  // Clients in no group are not asked: no model speaks for them, and the mean of models that began apart says nothing.
  void leave_out_ungrouped() { grouped_only_ = true; }

  // What to evaluate after `round`. A client in no group scores the model that speaks for the run; one that has not
  // arrived yet is not asked. Borrows the models.
  [[nodiscard]] EvaluationRequest request(const Models& models, const Grouping& grouping, std::uint32_t round);
  // The result of that, if it was the last request.
  void enter(const EvaluationResult& result, RoundRecord& record);

  // The same models on validation samples. Precondition: validates().
  [[nodiscard]] EvaluationRequest validation_request(const Models& models, const Grouping& grouping,
                                                     std::uint32_t round);
  void enter_validation(const EvaluationResult& result, RoundRecord& record);

  [[nodiscard]] bool tests() const { return tests_.any(); }
  // The same models on the test samples again, as an attack changes them or as they are, and what they were taken for:
  // by the server where it is asked, else by the clients. Precondition: tests().
  [[nodiscard]] EvaluationRequest attack_request(const Models& models, const Grouping& grouping, std::uint32_t round,
                                                 bool triggered);
  [[nodiscard]] std::vector<PredictionCount> predictions(const EvaluationResult& result) const;

  // The models that the run leaves, of `round`: with all details, and on the tests of every client, or of those that
  // rounds ask. Where there is nothing to ask, request.global and request.clients are empty.
  [[nodiscard]] EvaluationRequest final_request(const Models& models, const Grouping& grouping, std::uint32_t round);
  struct Final {
    SiteFigures sites;
    std::optional<PredictionFigures> metrics;  // of what the accuracy is of; none without tests
  };
  [[nodiscard]] Final enter_final(const EvaluationResult& result);

  // Accuracy of each client at the last evaluation that it took part in, NaN where there is none; empty if clients have
  // not been evaluated.
  [[nodiscard]] std::span<const float> client_accuracy() const { return client_accuracy_; }

  void save(Checkpoint& checkpoint) const;
  [[nodiscard]] Status restore(const Checkpoint& checkpoint);

 private:
  // Who is asked for a kind of samples.
  struct Asked {
    HeldOut held_out = HeldOut::kTest;
    bool global = false;
    // Ascending. Some may have none: if nobody has any there is no entry, else whoever has none is not asked until it
    // has, because its place was taken.
    std::vector<ClientId> clients;
    std::uint64_t global_samples = 0;
    [[nodiscard]] bool any() const { return global || !clients.empty(); }
  };

  explicit RunEvaluation(const Federation& federation, const EvaluationOptions& options);
  void ask_sites();
  [[nodiscard]] std::uint32_t samples_of(const Asked& asked, ClientId client) const;
  [[nodiscard]] std::uint64_t samples_of(const Asked& asked) const;  // of all of its clients
  [[nodiscard]] Details affordable(Details details, const Asked& asked) const;
  [[nodiscard]] EvaluationRequest request_of(const Asked& asked, const Details& details, const Models& models,
                                             const Grouping& grouping, std::uint32_t round);
  // Enters clients' accuracies, and tells how they spread.
  SiteFigures enter_sites(const EvaluationResult& result);

  const Roster& roster_;
  const std::vector<std::string> metrics_;
  Details details_;  // of a round
  Asked tests_;
  Asked validation_;
  Asked sites_;  // at the end
  bool grouped_only_ = false;
  std::string sites_skipped_;  // why nobody is asked at the end; "" = somebody is
  std::vector<float> client_accuracy_;
  // Of the last request.
  std::vector<ClientId> clients_;
  std::vector<std::uint32_t> model_of_;
  std::uint32_t groups_ = 0;  // with a model of their own; 0 = one model
};

}  // namespace muster
