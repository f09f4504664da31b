#include "app/bench_federation.h"

#include "app/bench_clock.h"

namespace muster {
namespace {

constexpr std::uint64_t kSeed = 1;

}  // namespace

Result<std::unique_ptr<BenchFederation>> BenchFederation::create(const Workload& workload,
                                                                 std::shared_ptr<const Network> network,
                                                                 const FederatedData& data, std::uint32_t threads) {
  std::unique_ptr<BenchFederation> made(new BenchFederation(data));
  MUSTER_ASSIGN(made->federation_,
                LocalFederation::make(data, network, {.threads = threads, .seed = kSeed, .local = workload.local()}));
  for (std::uint32_t k = 0; k < data.clients(); ++k) made->clients_.push_back(ClientId{k});
  made->model_.resize(network->size());
  Stream stream({.seed = kSeed, .purpose = Purpose::kInitialise});
  network->initialise(made->model_, stream);
  made->mean_.reset(made->model_.size());
  return made;
}

Result<std::uint64_t> BenchFederation::train_next() {
  MUSTER_ASSIGN(spare_,
                federation_->trainer().train(call(), task(clients_[next_]), federation_->link(0), std::move(spare_)));
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

Result<double> BenchFederation::gather_share(double seconds) {
  SolverTimes times;
  federation_->solver(0).set_times(&times);
  const auto rate = train_for(seconds);
  federation_->solver(0).set_times(nullptr);
  if (!rate) return rate;
  return times.gather_s / times.train_s;
}

Result<double> BenchFederation::train_rounds_for(double seconds) {
  std::uint64_t trained = 0;
  const double start = wall_seconds();
  while (true) {
    std::vector<GroupTask> tasks;
    for (const ClientId& client : clients_) tasks.push_back(task(client));
    mean_.reset(model_.size());
    const auto add = [&](GroupUpdate& update) {
      if (update.members.empty()) return;
      mean_.add(update.model, static_cast<double>(update.samples));
      for (const MemberReport& member : update.members) trained += member.samples_trained;
    };
    MUSTER_TRY(federation_->train(call(), tasks, {.group = add}));
    if (mean_.weight() > 0) mean_.store(model_);
    mean_.reset(model_.size());
    next_ = 0;
    ++round_;
    const double used = wall_seconds() - start;
    if (used >= seconds) return static_cast<double>(trained) / used;
  }
}

double BenchFederation::test_loss(std::span<const float> model) {
  const Evaluation evaluation = federation_->solver(0).evaluate(model, data_.global_test());
  return evaluation.loss_sum / static_cast<double>(evaluation.samples);
}

}  // namespace muster
