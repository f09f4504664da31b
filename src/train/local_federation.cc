#include "train/local_federation.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/stopwatch.h"

namespace muster {
namespace {

Roster roster_of(const FederatedData& data, const LocalFederationOptions& options) {
  Roster roster(data.shape(), data.classes(), data.edges());
  roster.set_class_names(data.preparation().classes);
  if (options.training.secure.hides_samples()) roster.hide_samples();
  roster.reserve(data.clients());
  for (std::uint32_t k = 0; k < data.clients(); ++k) {
    const bool late = std::ranges::binary_search(options.late, k);
    const SampleCounts counts = data.counts({k});
    roster.add({.name = data.client_name({k}),
                .train_samples = counts.train,
                .test_samples = counts.test,
                .validation_samples = counts.validation,
                .edge = data.edge({k}),
                .since_round = late ? options.late_round : 1});
  }
  return roster;
}

}  // namespace

LocalFederation::LocalFederation(const FederatedData& data, std::shared_ptr<const Network> network,
                                 std::unique_ptr<ProfileKind> profile, std::unique_ptr<GroupTrainer> trainer,
                                 LocalFederationOptions options)
    : Federation(std::move(network), std::move(profile), std::move(trainer)),
      data_(data),
      options_(std::move(options)) {}

LocalFederation::~LocalFederation() = default;

Result<std::unique_ptr<LocalFederation>> LocalFederation::make(const FederatedData& data,
                                                               std::shared_ptr<const Network> network,
                                                               const LocalFederationOptions& options) {
  MUSTER_ASSIGN(std::unique_ptr<ProfileKind> profile, make_profile_kind(options.profile));
  MUSTER_ASSIGN(std::unique_ptr<GroupTrainer> trainer,
                make_group_trainer(options.training, options.aggregation, options.privacy, options.seed));
  std::unique_ptr<LocalFederation> made(
      new LocalFederation(data, std::move(network), std::move(profile), std::move(trainer), options));
  made->roster_ = roster_of(data, options);
  MUSTER_ASSIGN(made->parts_, model_parts(made->network(), options.local));
  MUSTER_ASSIGN(made->objective_, make_objective(options.local.objective));
  made->states_ = std::make_unique<ClientStates>(options.states);
  const std::uint32_t threads =
      options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  made->pool_ = std::make_unique<WorkerPool>(threads, options.spare);
  made->solvers_.resize(threads);
  made->links_.resize(threads);
  for (std::uint32_t worker = 0; worker < (options.spare ? 1 : threads); ++worker) made->make_worker(worker);
  if (options.spare) made->pool_->set_first([federation = made.get()](std::uint32_t w) { federation->make_worker(w); });
  made->host_ = std::make_unique<ThreadHost>(*made->pool_, made->links_, made->trainer());
  made->evaluation_ = std::make_unique<EvaluationPieces>(data, made->solvers_, made->links_);
  return made;
}

void LocalFederation::make_worker(std::uint32_t worker) {
  const std::string& stragglers = options_.faults.stragglers;
  const bool partial = stragglers.empty() ? objective_->takes_partial_work() : stragglers == "partial";
  solvers_[worker] = std::make_unique<LocalSolver>(shared_network(), data_, options_.local, options_.augmentation,
                                                   *objective_, *states_, options_.seed, parts_);
  solvers_[worker]->set_attackers(options_.attackers.get());
  links_[worker] = make_in_process_link(*solvers_[worker], profile_kind(), options_.faults, partial, options_.seed,
                                        options_.attackers.get(), &options_.privacy, &options_.secrets);
  if (times_) solvers_[worker]->set_times(&(*times_)[worker]);
}

void LocalFederation::set_times(std::vector<SolverTimes>& times) {
  times.resize(threads());
  times_ = &times;
  for (std::uint32_t worker = 0; worker < threads(); ++worker) {
    if (solvers_[worker]) solvers_[worker]->set_times(&times[worker]);
  }
}

Status LocalFederation::do_train(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) {
  const bool beside = evaluating() && !beside_training_;
  if (beside) {
    host_->set_meanwhile({.pieces = evaluation_->count(), .work = [this](std::uint32_t worker, std::uint32_t piece) {
                            return evaluation_->work(worker, piece);
                          }});
  }
  MUSTER_TRY(host_->run(call, tasks, sink));
  // A training that failed has left pieces undone: end_evaluation() does them all.
  beside_training_ = beside_training_ || beside;
  return {};
}

Status LocalFederation::do_profile(const ProfileRequest& request, const ProfileSink& sink) {
  const SampleView exemplars = data_.exemplars();
  const std::string kind = request.losses ? losses_profile().entry().name : profile_kind().entry().name;
  return in_order<ProfileReply>(
      *pool_, static_cast<std::uint32_t>(request.clients.size()),
      [&](std::uint32_t worker, std::uint32_t i) {
        return links_[worker]->profile({.client = request.clients[i],
                                        .kind = kind,
                                        .round = request.as_of_round,
                                        .asked_in = request.round,
                                        .models = request.models,
                                        .exemplars = exemplars});
      },
      sink);
}

void LocalFederation::do_begin_evaluation(const EvaluationRequest& request) {
  evaluation_->begin(request);
  beside_training_ = false;
}

Result<EvaluationResult> LocalFederation::do_end_evaluation() {
  double seconds = 0;
  if (!beside_training_) {
    const Stopwatch watch(&seconds);
    MUSTER_TRY(pool_->run(evaluation_->count(), [this](std::uint32_t worker, std::uint32_t piece) {
      return evaluation_->work(worker, piece);
    }));
  }
  EvaluationResult result = evaluation_->end();
  result.seconds = seconds;
  if (beside_training_) result.beside_training_s = evaluation_->seconds() / pool_->workers();
  return result;
}

}  // namespace muster
