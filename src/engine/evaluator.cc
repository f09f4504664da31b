#include "engine/evaluator.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "base/stopwatch.h"

namespace muster {
namespace {

// Samples per piece of the global test set: small enough to balance, large enough to be cheap to hand out.
constexpr std::size_t kPiece = 512;
constexpr std::uint32_t kClientsPerPiece = 16;

void add(const Evaluation& piece, Score& score) {
  score.samples += piece.samples;
  score.correct += piece.correct;
  score.loss_sum += piece.loss_sum;
}

Score total(std::span<const Evaluation> pieces) {
  Score score;
  for (const Evaluation& piece : pieces) add(piece, score);
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
  begin(models);
  MUSTER_TRY(pool_.run(pieces(), [this](std::uint32_t worker, std::uint32_t piece) { return work(worker, piece); }));
  return end();
}

void Evaluator::begin(EvaluatedModels models) {
  models_ = std::move(models);
  loaded_.assign(pool_.threads(), nullptr);
  of_pieces_.assign(global_pieces(), {});
  of_clients_.assign(clients_ ? asked_.size() : 0, {});
  seconds_.assign(pieces(), 0.0);
}

Status Evaluator::work(std::uint32_t worker, std::uint32_t piece) {
  const Stopwatch watch(&seconds_[piece]);
  if (piece >= global_pieces()) return work_clients(worker, piece - global_pieces());
  work_global(worker, piece);
  return {};
}

EvaluationResult Evaluator::end() {
  EvaluationResult result;
  if (global_) result.global = total(of_pieces_);
  if (const Score score = total(of_clients_); score.samples > 0) result.clients = score;
  result.groups.resize(of_clients_.empty() ? 0 : models_.of_group.size());
  for (std::size_t i = 0; i < of_clients_.size(); ++i) {
    const Evaluation& own = of_clients_[i];
    if (own.samples == 0) continue;
    if (!result.groups.empty()) add(own, result.groups[models_.group_of[asked_[i].value].value]);
    client_accuracy_[asked_[i].value] =
        static_cast<float>(static_cast<double>(own.correct) / static_cast<double>(own.samples));
  }
  return result;
}

double Evaluator::seconds() const {
  return std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
}

std::uint32_t Evaluator::global_pieces() const {
  return global_ ? static_cast<std::uint32_t>((data_.global_test().size() + kPiece - 1) / kPiece) : 0;
}

std::uint32_t Evaluator::client_pieces() const {
  return clients_ ? static_cast<std::uint32_t>((asked_.size() + kClientsPerPiece - 1) / kClientsPerPiece) : 0;
}

void Evaluator::work_global(std::uint32_t worker, std::uint32_t piece) {
  const SampleView test = data_.global_test();
  SampleView view = test;
  view.rows = test.rows.subspan(piece * kPiece, std::min(kPiece, test.size() - piece * kPiece));
  const bool reload = loaded_[worker] != models_.shared.data();
  of_pieces_[piece] = solvers_[worker]->evaluate(reload ? models_.shared : std::span<const float>(), view);
  loaded_[worker] = models_.shared.data();
}

Status Evaluator::work_clients(std::uint32_t worker, std::uint32_t piece) {
  const std::size_t end = std::min<std::size_t>(asked_.size(), (piece + std::size_t{1}) * kClientsPerPiece);
  for (std::size_t i = std::size_t{piece} * kClientsPerPiece; i < end; ++i) {
    std::span<const float> model = models_.shared;
    if (!models_.of_group.empty()) {
      const GroupId group = models_.group_of[asked_[i].value];
      if (group == kNoGroup) continue;
      model = models_.of_group[group.value];
    }
    // A model that the worker's solver has just used need not be loaded again, unless the client may bring its own.
    const bool reload = models_.in_clients || loaded_[worker] != model.data();
    MUSTER_ASSIGN(of_clients_[i], links_[worker]->evaluate({.client = asked_[i],
                                                            .model = reload ? model : std::span<const float>(),
                                                            .own_model = models_.in_clients}));
    loaded_[worker] = model.data();
  }
  return {};
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
