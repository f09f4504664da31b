#include "app/bench_federation.h"

#include "app/bench_clock.h"

namespace muster {
namespace {

constexpr std::uint64_t kSeed = 1;

}  // namespace

Result<std::unique_ptr<BenchFederation>> BenchFederation::create(const Workload& workload,
                                                                 std::shared_ptr<const Network> network,
                                                                 const FederatedData& data, std::uint32_t threads) {
  std::unique_ptr<BenchFederation> made(new BenchFederation(workload, std::move(network), data));
  MUSTER_ASSIGN(made->profile_, make_profile_kind({}));
  MUSTER_ASSIGN(made->objective_, make_objective({}));
  made->pool_ = std::make_unique<WorkerPool>(threads);
  for (std::uint32_t worker = 0; worker < threads; ++worker) {
    made->solvers_.push_back(std::make_unique<LocalSolver>(made->network_, data, workload.local(), Augmentation{},
                                                           *made->objective_, made->states_, kSeed));
    made->links_.push_back(make_in_process_link(*made->solvers_.back(), *made->profile_, {}, false, kSeed));
  }
  made->host_ = make_thread_host(*made->pool_, made->links_);
  MUSTER_ASSIGN(made->trainer_, make_group_trainer({}, "samples-weighted", kSeed));
  for (std::uint32_t k = 0; k < data.clients(); ++k) made->clients_.push_back(ClientId{k});
  made->model_.resize(made->network_->size());
  Stream stream({.seed = kSeed, .purpose = Purpose::kInitialise});
  made->network_->initialise(made->model_, stream);
  made->mean_.reset(made->model_.size());
  return made;
}

GroupTask BenchFederation::task(const ClientId& client) const {
  return {.group = GroupId{client.value}, .round = round_, .members = {&client, 1}, .model = model_};
}

Result<std::uint64_t> BenchFederation::train_next() {
  MUSTER_ASSIGN(spare_, trainer_->train(task(clients_[next_]), *links_[0], std::move(spare_)));
  if (spare_.members.empty()) return failure("training diverged");
  mean_.add(spare_.model, static_cast<double>(spare_.samples));
  if (++next_ == clients_.size()) {
    mean_.store(model_);
    mean_.reset(model_.size());
    next_ = 0;
    ++round_;
  }
  return spare_.members.front().samples_trained;
}

Result<double> BenchFederation::train_for(double seconds) {
  std::uint64_t trained = 0;
  const double start = cpu_seconds();
  while (true) {
    MUSTER_ASSIGN(const std::uint64_t samples, train_next());
    trained += samples;
    const double used = cpu_seconds() - start;
    if (used >= seconds) return static_cast<double>(trained) / used;
  }
}

Result<double> BenchFederation::train_rounds_for(double seconds) {
  std::uint64_t trained = 0;
  const double start = wall_seconds();
  while (true) {
    std::vector<GroupTask> tasks;
    for (const ClientId& client : clients_) tasks.push_back(task(client));
    mean_.reset(model_.size());
    MUSTER_TRY(host_->run(tasks, *trainer_, [&](GroupUpdate& update) {
      if (update.members.empty()) return;
      mean_.add(update.model, static_cast<double>(update.samples));
      for (const MemberReport& member : update.members) trained += member.samples_trained;
    }));
    if (mean_.weight() > 0) mean_.store(model_);
    mean_.reset(model_.size());
    next_ = 0;
    ++round_;
    const double used = wall_seconds() - start;
    if (used >= seconds) return static_cast<double>(trained) / used;
  }
}

double BenchFederation::test_loss(std::span<const float> model) {
  const Evaluation evaluation = solvers_[0]->evaluate(model, data_.global_test());
  return evaluation.loss_sum / static_cast<double>(evaluation.samples);
}

}  // namespace muster
