// Federation: all clients of a run, wherever they are: threads of this process, other ranks, devices behind edge
// servers. The port of the round loop, which knows nothing else about clients. It gives a Roster and takes three kinds
// of work: train these groups, tell these profiles, evaluate these models.
//
// Every piece of work is answered exactly once, in the order it was given, one answer at a time. A client that is late,
// gone or wrong is an answer too (Dropped, with its reason); an Error means that the federation itself broke. What
// comes back is checked here, in the calls that are not virtual: ids, sizes and numbers that are not finite. So nothing
// that a peer sends reaches a MUSTER_CHECK, an index or a buffer. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "clients/roster.h"
#include "model/network.h"
#include "profile/profile.h"
#include "train/group_trainer.h"

namespace muster {

// Who is asked for a profile, and with which models. Borrowed for the call.
struct ProfileRequest {
  std::span<const ClientId> clients;  // each once
  std::uint32_t round = 1;            // in which they are asked: who is gone in it does not answer
  std::uint32_t as_of_round = 1;      // whose learning rate and draws their training has
  bool losses = false;                // the losses of `models`, instead of the recipe's kind of profile
  RowsView<float> models;             // flat vectors, a row each: one to start from, or those whose losses are asked
  std::function<void(std::size_t answered)> answered = {};  // called as answers come in; may be empty
};

struct CollectedProfiles {
  ClientProfiles profiles;       // rows in the order of the request
  std::vector<Dropped> dropped;  // clients without a profile, in the order asked
  std::uint64_t samples_trained = 0;
  double slowest_flops = 0;  // of the client that had most to compute
};

// Which models are scored, and where. Borrowed until the evaluation ends.
struct EvaluationRequest {
  HeldOut held_out = HeldOut::kTest;           // which samples
  std::uint32_t round = 1;                     // after which they are scored
  std::span<const float> global;               // scored on the server's samples; empty: it is not asked for
  Details global_details = {};                 // of it
  std::vector<std::span<const float>> models;  // what clients score on their own samples
  std::vector<ClientId> clients;               // who is asked, each once
  std::vector<std::uint32_t> model_of;         // of each of `clients`: its place in `models`
  bool own_models = false;                     // clients score the models they keep, where they have one
  Details details = {};                        // of every client
};

struct Score {
  std::uint64_t samples = 0;
  std::uint64_t correct = 0;
  double loss_sum = 0;
  Predictions predictions = {};

  // The sums.
  void add(const Evaluation& piece);
  [[nodiscard]] double accuracy() const { return static_cast<double>(correct) / static_cast<double>(samples); }
  [[nodiscard]] double loss() const { return loss_sum / static_cast<double>(samples); }
};

struct EvaluationResult {
  std::optional<Score> global;
  std::vector<EvaluateReply> clients;  // in the order of the request
  double seconds = 0;                  // of wall time, or as much of it as was not spent beside training
  double beside_training_s = 0;        // of the training that it went on beside
};

// Takes the answer to the entry `index` of a ProfileRequest.
using ProfileSink = std::function<void(std::size_t index, ProfileReply& reply)>;

class Federation {
 public:
  Federation(std::shared_ptr<const Network> network, std::unique_ptr<ProfileKind> profile,
             std::unique_ptr<GroupTrainer> trainer);
  virtual ~Federation() = default;
  Federation(const Federation&) = delete;
  Federation& operator=(const Federation&) = delete;

  [[nodiscard]] virtual const Roster& roster() const = 0;
  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] const std::shared_ptr<const Network>& shared_network() const { return network_; }
  // The recipe's kind of profile, and how it trains groups: every process of a federation has them.
  [[nodiscard]] const ProfileKind& profile_kind() const { return *profile_; }
  [[nodiscard]] const GroupTrainer& trainer() const { return *trainer_; }

  // How many participants are asked for each that is needed: a federation whose clients may be late can close a round
  // when enough have answered. At least 1.
  [[nodiscard]] virtual double over_select() const { return 1; }

  // Trains the groups. Precondition: ids are those of the roster, and models have network().size() values.
  [[nodiscard]] Status train(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink);

  // Asks for profiles; vectors are reduced to their principal components where the kind says so. Fails if the network
  // or the data lack what the kind needs, or if all vectors together are too large.
  [[nodiscard]] Result<CollectedProfiles> profile(const ProfileRequest& request);

  // begin_evaluation() returns at once; the work is done beside the next train(), and the rest of it in
  // end_evaluation(). One evaluation at a time.
  void begin_evaluation(EvaluationRequest request);
  [[nodiscard]] bool evaluating() const { return evaluation_.has_value(); }
  [[nodiscard]] Result<EvaluationResult> end_evaluation();
  [[nodiscard]] Result<EvaluationResult> evaluate(EvaluationRequest request);
  // The number of samples that the server has itself, for tests and for validation, and what clients are sent as
  // exemplars.
  [[nodiscard]] virtual std::size_t global_test_samples() const = 0;
  [[nodiscard]] virtual std::size_t global_validation_samples() const { return 0; }
  [[nodiscard]] virtual SampleView exemplars() const = 0;

  // What clients remember, or where they remember it, for checkpoints.
  [[nodiscard]] virtual Result<std::string> save() = 0;
  [[nodiscard]] virtual Status restore(std::string_view saved) = 0;

 private:
  virtual Status do_train(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) = 0;
  // Answers every entry of the request once, in order.
  virtual Status do_profile(const ProfileRequest& request, const ProfileSink& sink) = 0;
  virtual void do_begin_evaluation(const EvaluationRequest& request) = 0;
  virtual Result<EvaluationResult> do_end_evaluation() = 0;

  std::shared_ptr<const Network> network_;
  std::unique_ptr<ProfileKind> profile_;
  std::unique_ptr<GroupTrainer> trainer_;
  std::optional<EvaluationRequest> evaluation_;  // begun and not ended
};

}  // namespace muster
