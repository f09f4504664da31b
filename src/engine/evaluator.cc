#include "engine/evaluator.h"

#include <algorithm>
#include <limits>

#include "base/random.h"

namespace muster {
namespace {

// Samples per piece of the global test set: small enough to balance, large enough to be cheap to hand out.
constexpr std::size_t kPiece = 512;
constexpr std::uint32_t kClientsPerPiece = 16;

Score total(std::span<const Evaluation> pieces) {
  Score score;
  for (const Evaluation& piece : pieces) {
    score.samples += piece.samples;
    score.correct += piece.correct;
    score.loss_sum += piece.loss_sum;
  }
  return score;
}

}  // namespace

Evaluator::Evaluator(bool global, bool clients, std::vector<ClientId> asked, const FederatedData& data,
                     WorkerPool& pool, std::span<const std::unique_ptr<LocalSolver>> solvers,
                     std::span<const std::unique_ptr<ClientLink>> links)
    : global_(global),
      clients_(clients),
      asked_(std::move(asked)),
      data_(data),
      pool_(pool),
      solvers_(solvers),
      links_(links) {
  if (clients_) client_accuracy_.assign(data.clients(), std::numeric_limits<float>::quiet_NaN());
}

void Evaluator::restore_client_accuracy(std::span<const float> values) {
  if (values.size() == client_accuracy_.size()) std::copy(values.begin(), values.end(), client_accuracy_.begin());
}

Result<EvaluationResult> Evaluator::evaluate(const EvaluatedModels& models) {
  EvaluationResult result;
  if (global_) {
    MUSTER_ASSIGN(result.global, evaluate_global(models.shared));
  }
  if (clients_) {
    MUSTER_ASSIGN(const Score score, evaluate_clients(models));
    if (score.samples > 0) result.clients = score;
  }
  return result;
}

Result<Score> Evaluator::evaluate_global(std::span<const float> model) {
  const SampleView test = data_.global_test();
  const std::size_t pieces = (test.size() + kPiece - 1) / kPiece;
  std::vector<Evaluation> parts(pieces);
  std::vector<char> loaded(pool_.threads(), 0);
  MUSTER_TRY(pool_.run(static_cast<std::uint32_t>(pieces), [&](std::uint32_t worker, std::uint32_t piece) -> Status {
    SampleView view = test;
    view.rows = test.rows.subspan(piece * kPiece, std::min(kPiece, test.size() - piece * kPiece));
    parts[piece] = solvers_[worker]->evaluate(loaded[worker] ? std::span<const float>() : model, view);
    loaded[worker] = 1;
    return {};
  }));
  return total(parts);
}

Result<Score> Evaluator::evaluate_clients(const EvaluatedModels& models) {
  std::vector<Evaluation> parts(asked_.size());
  std::vector<const float*> loaded(pool_.threads(), nullptr);
  const auto pieces = static_cast<std::uint32_t>((asked_.size() + kClientsPerPiece - 1) / kClientsPerPiece);
  MUSTER_TRY(pool_.run(pieces, [&](std::uint32_t worker, std::uint32_t piece) -> Status {
    const std::size_t end = std::min<std::size_t>(asked_.size(), (piece + std::size_t{1}) * kClientsPerPiece);
    for (std::size_t i = std::size_t{piece} * kClientsPerPiece; i < end; ++i) {
      const std::span<const float> model = models.of_client ? models.of_client(asked_[i]) : models.shared;
      if (model.empty()) continue;
      // A model that the worker's solver has just used need not be loaded again, unless the client may bring its own.
      const bool reload = models.in_clients || loaded[worker] != model.data();
      MUSTER_ASSIGN(parts[i], links_[worker]->evaluate({.client = asked_[i],
                                                        .model = reload ? model : std::span<const float>(),
                                                        .own_model = models.in_clients}));
      loaded[worker] = model.data();
    }
    return {};
  }));
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    if (parts[i].samples > 0) {
      client_accuracy_[asked_[i].value] =
          static_cast<float>(static_cast<double>(parts[i].correct) / static_cast<double>(parts[i].samples));
    }
  }
  return total(parts);
}

Result<std::unique_ptr<Evaluator>> make_evaluator(const EvaluationOptions& options, const FederatedData& data,
                                                  WorkerPool& pool,
                                                  std::span<const std::unique_ptr<LocalSolver>> solvers,
                                                  std::span<const std::unique_ptr<ClientLink>> links, bool separate,
                                                  std::uint64_t seed) {
  const bool has_global = data.global_test().size() > 0;
  const bool wants_global =
      options.on == "global" || options.on == "both" || (options.on == "auto" && has_global && !separate);
  bool wants_clients = options.on == "clients" || options.on == "both" || (options.on == "auto" && !wants_global);
  if (wants_global && !has_global) {
    return usage_error("evaluation.on: \"{}\", but the data have no global test set; want \"clients\"", options.on);
  }
  if (wants_global && separate) {
    return usage_error("evaluation.on: \"{}\", but no model speaks for all clients; want \"clients\"", options.on);
  }
  std::vector<ClientId> asked;
  if (wants_clients) {
    Stream stream({.seed = seed, .purpose = Purpose::kSampling, .part = 1});
    bool any = false;
    for (const std::uint32_t k : stream.sample(data.clients(), options.clients.of(data.clients()))) {
      asked.push_back(ClientId{k});
      any = any || data.test_count(ClientId{k}) > 0;
    }
    if (!any && options.on == "auto") {
      wants_clients = false;  // no test samples anywhere: the run trains, and has no accuracy
    } else if (!any) {
      return usage_error(
          "evaluation.on: \"{}\", but no client has test samples; set data.test-fraction, e.g. 0.2, or "
          "evaluation.on = \"global\"",
          options.on);
    }
  }
  return std::make_unique<Evaluator>(wants_global, wants_clients, std::move(asked), data, pool, solvers, links);
}

}  // namespace muster
