// EvaluationPieces: one evaluation on the threads of this process, cut into pieces that do not depend on the number of
// threads and whose results are summed in order.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/federated_data.h"
#include "solver/local_solver.h"
#include "train/federation.h"

namespace muster {

class EvaluationPieces {
 public:
  // One solver and one link per worker. All are borrowed.
  EvaluationPieces(const FederatedData& data, std::span<const std::unique_ptr<LocalSolver>> solvers,
                   std::span<const std::unique_ptr<ClientLink>> links);

  // `request` is borrowed until end().
  void begin(const EvaluationRequest& request);
  // begin(), each piece once, from any worker; end().
  [[nodiscard]] std::uint32_t count() const { return global_pieces() + client_pieces(); }
  [[nodiscard]] Status work(std::uint32_t worker, std::uint32_t number);
  [[nodiscard]] EvaluationResult end();
  // What a piece asks for: `count` of the server's samples from `first` on, or as many entries of the request's
  // clients.
  struct Piece {
    bool global = false;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  [[nodiscard]] Piece piece(std::uint32_t number) const;
  // Instead of work(): the piece was done elsewhere, and took so long; an answer for each of its clients, or one for
  // all of its samples.
  void put(std::uint32_t number, std::vector<EvaluateReply> replies, double seconds);
  [[nodiscard]] const EvaluationRequest& request() const { return *request_; }
  // What the pieces took, all together.
  [[nodiscard]] double seconds() const;

 private:
  [[nodiscard]] std::uint32_t global_pieces() const;
  [[nodiscard]] std::uint32_t client_pieces() const;
  [[nodiscard]] SampleView global_samples() const;
  Status work_clients(std::uint32_t worker, const Piece& piece);

  const FederatedData& data_;
  std::span<const std::unique_ptr<LocalSolver>> solvers_;
  std::span<const std::unique_ptr<ClientLink>> links_;
  const EvaluationRequest* request_ = nullptr;
  std::uint64_t version_ = 0;  // of the request's first model; the others follow, the global one comes last
  std::uint64_t next_version_ = 1;
  std::vector<Evaluation> of_global_;
  std::vector<EvaluateReply> of_clients_;
  std::vector<double> seconds_;  // of each piece
};

}  // namespace muster
