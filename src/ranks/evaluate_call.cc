// Evaluation: a unit is a piece of it, the same as on threads, so that sums have the same bits.
#include <algorithm>
#include <array>

#include "base/stopwatch.h"
#include "ranks/rank_call.h"
#include "ranks/travelling_state.h"
#include "train/evaluation_check.h"

namespace muster {
namespace {

constexpr std::array kSlots{kModelSlot, kPersonalSlot};

class EvaluateCall final : public RankCall {
 public:
  explicit EvaluateCall(LocalFederation& federation)
      : federation_(federation), pieces_(federation.evaluation()), request_(pieces_.request()) {}

  CallKind kind() const override { return CallKind::kEvaluate; }
  std::vector<double> work() const override {
    std::vector<double> work;
    for (std::uint32_t unit = 0; unit < pieces_.count(); ++unit) {
      const EvaluationPieces::Piece piece = pieces_.piece(unit);
      double samples = piece.global ? static_cast<double>(piece.count) : 0.0;
      for (const ClientId client : clients(piece)) samples += federation_.roster().test_samples(client);
      work.push_back(samples);
    }
    return work;
  }

  // One model that everybody scores; others go where they are needed.
  std::vector<std::span<const float>> for_all() const override {
    if (!request_.global.empty()) return {request_.global};
    const auto other = [&](std::uint32_t model) { return model != request_.model_of.front(); };
    if (request_.model_of.empty() || std::ranges::any_of(request_.model_of, other)) return {};
    return {request_.models[request_.model_of.front()]};
  }

  void describe(NumberedModels&, ParcelWriter& out) const override {
    out.put(static_cast<std::uint8_t>(request_.held_out));
    out.put(request_.round);
    out.put(static_cast<std::uint8_t>(request_.own_models));
    put_details(request_.global_details, out);
    put_details(request_.details, out);
  }

  Status ask(std::uint32_t rank, std::uint32_t unit, NumberedModels& models, ParcelWriter& out) override {
    const EvaluationPieces::Piece piece = pieces_.piece(unit);
    out.put(static_cast<std::uint8_t>(piece.global));
    if (piece.global) {
      out.put(std::uint64_t{piece.first});
      out.put(std::uint64_t{piece.count});
      models.put(rank, request_.global, out);
      return {};
    }
    out.put_list(clients(piece));
    for (std::size_t i = 0; i < piece.count; ++i) {
      models.put(rank, request_.models[request_.model_of[piece.first + i]], out);
    }
    MUSTER_ASSIGN(std::vector<StateCopy> states, copies_of(federation_.states(), clients(piece), kSlots));
    put_copies(std::move(states), out);
    return {};
  }

  Status answered(std::uint32_t unit, ParcelReader& in) override {
    const EvaluationPieces::Piece piece = pieces_.piece(unit);
    std::vector<EvaluateReply> replies;
    for (std::size_t i = 0; i < (piece.global ? 1 : piece.count); ++i) replies.push_back(take_evaluation(in));
    const double seconds = in.take_double();
    MUSTER_TRY(in.finish("an evaluation"));
    if (piece.global) {
      const auto* const told = std::get_if<Evaluation>(&replies[0]);
      if (!told || !adds_up(*told, piece.count, request_.global_details, federation_.network().classes())) {
        return failure("an evaluation does not add up");
      }
    }
    pieces_.put(unit, std::move(replies), seconds);
    return {};
  }

  Status do_here(std::uint32_t worker, std::uint32_t unit) override { return pieces_.work(worker, unit); }
  void accept(std::uint32_t) override {}

 private:
  // None of a piece of the server's samples.
  [[nodiscard]] std::span<const ClientId> clients(const EvaluationPieces::Piece& piece) const {
    if (piece.global) return {};
    return std::span<const ClientId>(request_.clients).subspan(piece.first, piece.count);
  }

  LocalFederation& federation_;
  EvaluationPieces& pieces_;
  const EvaluationRequest& request_;
};

class ServedEvaluation final : public ServedCall {
 public:
  ServedEvaluation(LocalFederation& federation, EvaluationRequest request)
      : federation_(federation), request_(std::move(request)) {}

  Result<Unit> read(ReceivedModels& models, ParcelReader& in) override {
    return in.take_flag() ? read_global(models, in) : read_clients(models, in);
  }

 private:
  Result<Unit> read_global(ReceivedModels& models, ParcelReader& in) {
    const auto first = in.take<std::uint64_t>();
    const auto count = in.take<std::uint64_t>();
    const ReceivedModels::Model model = models.take(in, federation_.network().size());
    MUSTER_TRY(in.finish("samples to evaluate"));
    const std::size_t samples = federation_.solver(0).global_samples(request_.held_out).size();
    if (first > samples || count > samples - first || !usable(model)) {
      return failure("samples to evaluate are malformed");
    }
    return Unit([this, first, count, model](std::uint32_t worker, ParcelWriter& answer) -> Status {
      double seconds = 0;
      {
        const Stopwatch watch(&seconds);
        const Evaluation told = federation_.solver(worker).evaluate_global(
            *model.values, request_.held_out, first, count, model.number, request_.global_details);
        put_evaluation(told, answer);
      }
      answer.put(seconds);
      return {};
    });
  }

  struct Asked {
    std::vector<ClientId> clients;
    std::vector<ReceivedModels::Model> models;
    std::vector<StateCopy> states;
  };

  Result<Unit> read_clients(ReceivedModels& models, ParcelReader& in) {
    const std::size_t size = federation_.network().size();
    auto asked = std::make_shared<Asked>();
    asked->clients = in.take_list<ClientId>();
    for (std::size_t i = 0; i < asked->clients.size(); ++i) asked->models.push_back(models.take(in, size));
    asked->states = take_copies(in, asked->clients, size);
    MUSTER_TRY(in.finish("clients to evaluate"));
    const auto known = [&](ClientId client) { return client.value < federation_.roster().clients(); };
    if (!std::ranges::all_of(asked->clients, known) ||
        !std::ranges::all_of(asked->models, [&](const auto& model) { return usable(model); })) {
      return failure("clients to evaluate are malformed");
    }
    return Unit([this, asked](std::uint32_t worker, ParcelWriter& answer) { return score(worker, *asked, answer); });
  }

  Status score(std::uint32_t worker, const Asked& asked, ParcelWriter& answer) {
    double seconds = 0;
    {
      const Stopwatch watch(&seconds);
      MUSTER_TRY(store_copies(federation_.states(), asked.states));
      for (std::size_t i = 0; i < asked.clients.size(); ++i) {
        MUSTER_ASSIGN(const EvaluateReply reply, federation_.link(worker).evaluate({.client = asked.clients[i],
                                                                                    .model = *asked.models[i].values,
                                                                                    .round = request_.round,
                                                                                    .version = asked.models[i].number,
                                                                                    .own_model = request_.own_models,
                                                                                    .held_out = request_.held_out,
                                                                                    .details = request_.details}));
        put_evaluation(reply, answer);
      }
      for (const StateCopy& copy : asked.states) federation_.states().forget(copy.client, copy.slot);
    }
    answer.put(seconds);
    return {};
  }

  [[nodiscard]] bool usable(const ReceivedModels::Model& model) const {
    return model.values && model.values->size() == federation_.network().size();
  }

  LocalFederation& federation_;
  const EvaluationRequest request_;  // without models and clients: units bring them
};

}  // namespace

std::unique_ptr<RankCall> make_evaluate_call(LocalFederation& federation) {
  return std::make_unique<EvaluateCall>(federation);
}

Result<std::unique_ptr<ServedCall>> serve_evaluate(LocalFederation& federation, ParcelReader& in) {
  EvaluationRequest request;
  request.held_out = static_cast<HeldOut>(in.take_below<std::uint8_t>(3));
  request.round = in.take<std::uint32_t>();
  request.own_models = in.take_flag();
  request.global_details = take_details(in);
  request.details = take_details(in);
  MUSTER_TRY(in.finish("a call to evaluate"));
  if (federation.network().classes() != 2 && (request.details.scores || request.global_details.scores)) {
    return failure("a call to evaluate asks for scores of {} classes", federation.network().classes());
  }
  return std::unique_ptr<ServedCall>(new ServedEvaluation(federation, std::move(request)));
}

}  // namespace muster
