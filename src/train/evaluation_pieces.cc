#include "train/evaluation_pieces.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/stopwatch.h"

namespace muster {
namespace {

// Samples per piece of the global test set: small enough to balance, large enough to be cheap to hand out.
constexpr std::size_t kPiece = 512;
constexpr std::size_t kClientsPerPiece = 16;

std::uint32_t pieces_of(std::size_t things, std::size_t each) {
  return static_cast<std::uint32_t>((things + each - 1) / each);
}

}  // namespace

EvaluationPieces::EvaluationPieces(const FederatedData& data, std::span<const std::unique_ptr<LocalSolver>> solvers,
                                   std::span<const std::unique_ptr<ClientLink>> links)
    : data_(data), solvers_(solvers), links_(links) {}

void EvaluationPieces::begin(const EvaluationRequest& request) {
  version_ = next_version_;
  next_version_ += request.models.size() + 1;
  request_ = &request;
  of_global_.assign(global_pieces(), {});
  of_clients_.assign(request.clients.size(), Evaluation{});
  seconds_.assign(count(), 0.0);
}

std::uint32_t EvaluationPieces::global_pieces() const {
  return request_->global.empty() ? 0 : pieces_of(global_samples().size(), kPiece);
}

std::uint32_t EvaluationPieces::client_pieces() const {
  return pieces_of(request_->clients.size(), kClientsPerPiece);
}

SampleView EvaluationPieces::global_samples() const {
  return solvers_[0]->global_samples(request_->held_out);
}

EvaluationPieces::Piece EvaluationPieces::piece(std::uint32_t number) const {
  const bool global = number < global_pieces();
  const std::size_t each = global ? kPiece : kClientsPerPiece;
  const std::size_t first = (global ? number : number - global_pieces()) * each;
  const std::size_t all = global ? global_samples().size() : request_->clients.size();
  return {.global = global, .first = first, .count = std::min(each, all - first)};
}

Status EvaluationPieces::work(std::uint32_t worker, std::uint32_t number) {
  const Stopwatch watch(&seconds_[number]);
  const Piece asked = piece(number);
  if (!asked.global) return work_clients(worker, asked);
  of_global_[number] = solvers_[worker]->evaluate_global(request_->global, request_->held_out, asked.first, asked.count,
                                                         version_ + request_->models.size(), request_->global_details);
  return {};
}

Status EvaluationPieces::work_clients(std::uint32_t worker, const Piece& piece) {
  for (std::size_t i = piece.first; i < piece.first + piece.count; ++i) {
    const std::uint32_t model = request_->model_of[i];
    MUSTER_ASSIGN(of_clients_[i], links_[worker]->evaluate({.client = request_->clients[i],
                                                            .model = request_->models[model],
                                                            .round = request_->round,
                                                            .version = version_ + model,
                                                            .own_model = request_->own_models,
                                                            .held_out = request_->held_out,
                                                            .details = request_->details}));
  }
  return {};
}

void EvaluationPieces::put(std::uint32_t number, std::vector<EvaluateReply> replies, double seconds) {
  const Piece asked = piece(number);
  seconds_[number] = seconds;
  if (asked.global) {
    MUSTER_CHECK(replies.size() == 1 && std::holds_alternative<Evaluation>(replies[0]), "{} answers", replies.size());
    of_global_[number] = std::get<Evaluation>(std::move(replies[0]));
    return;
  }
  MUSTER_CHECK(replies.size() == asked.count, "{} answers of {}", replies.size(), asked.count);
  std::ranges::move(replies, of_clients_.begin() + static_cast<std::ptrdiff_t>(asked.first));
}

EvaluationResult EvaluationPieces::end() {
  EvaluationResult result{.clients = std::move(of_clients_)};
  if (!request_->global.empty()) {
    result.global.emplace();
    for (const Evaluation& piece : of_global_) {
      result.global->add(piece);
      if (piece.predictions) result.global->predictions.append(*piece.predictions);
    }
  }
  return result;
}

double EvaluationPieces::seconds() const {
  return std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
}

}  // namespace muster
