#include "app/bench_train.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "app/bench_check.h"
#include "app/bench_clock.h"
#include "app/bench_federation.h"
#include "app/temporary_folder.h"
#include "app/torch_reference.h"
#include "base/isa.h"
#include "model/kernels/peak.h"
#include "record/weights_file.h"

namespace muster {
namespace {

constexpr double kWindow_s = 0.5;
constexpr int kFewestWindows = 3;
constexpr std::uint32_t kCheckedSteps = 5;
constexpr const char* kModes[] = {"std", "foreach"};
// Its rounds are short and its clients many: what a slow exchange between workers would hurt most.
constexpr std::string_view kTwoWorkersWorkload = "b";

double peak_gflops() {
  const PeakKernels& kernels = peak_kernels();
  constexpr std::size_t kSteps = 1'000'000;
  float sink = 1;
  const double start = cpu_seconds();
  kernels.multiply_add(kSteps, &sink);
  return kernels.flops_per_step * kSteps / (cpu_seconds() - start) / 1e9;
}

// How often to take turns, and how long each turn is.
struct Turns {
  int count;
  double seconds;
};
Turns turns(double seconds) {
  const int count = std::max(kFewestWindows, static_cast<int>(seconds / kWindow_s));
  return {count, seconds / count};
}

Result<std::vector<double>> reference_losses(TorchReference& reference, const Workload& workload,
                                             const Network& network, std::span<const float> model,
                                             const BenchBatch& batch) {
  MUSTER_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
  MUSTER_TRY(write_npz(folder / "weights.npz", network, model));
  const Shape shape = workload.shape;
  const std::vector<ParameterTensor> tensors{
      {"x", {batch.size, shape.height, shape.width, shape.channels}, {0, batch.rows.size()}},
      {"y", {batch.size}, {batch.rows.size(), batch.size}}};
  std::vector<float> flat = batch.rows;
  for (const std::int32_t label : batch.labels) flat.push_back(static_cast<float>(label));
  MUSTER_TRY(write_npz(folder / "batch.npz", tensors, flat));
  return reference.losses(workload.name, folder / "weights.npz", folder / "batch.npz", kCheckedSteps);
}

// What is wrong with the network's gradient or its first steps; nothing if all is well.
Result<std::optional<std::string>> find_wrong(const Workload& workload, const std::shared_ptr<const Network>& network,
                                              const FederatedData& data, std::span<const float> model,
                                              TorchReference* reference) {
  const BenchBatch batch = first_batch(workload, data);
  const Status gradient = check_gradient(network, model, batch, batch_gradient(network, model, batch));
  if (!gradient) return std::optional(gradient.error().message);
  std::vector<double> expected;
  if (reference) {
    MUSTER_ASSIGN(expected, reference_losses(*reference, workload, *network, model, batch));
  }
  const Status losses =
      check_losses(step_losses(network, model, batch, workload.learning_rate, kCheckedSteps), expected);
  if (!losses) return std::optional(losses.error().message);
  return std::optional<std::string>();
}

struct References {
  TorchReference tuned;
  TorchReference installed;
};

Result<References> start_references() {
  using enum TorchReference::Settings;
  MUSTER_ASSIGN(TorchReference tuned, TorchReference::start(kTuned));
  MUSTER_ASSIGN(TorchReference installed, TorchReference::start(kInstalled));
  return References{std::move(tuned), std::move(installed)};
}

Result<TrainBenchRow> measure(const Workload& workload, const TrainBenchOptions& options, References* references,
                              double& peak) {
  TorchReference* const reference = references ? &references->tuned : nullptr;
  TrainBenchRow row{.workload = workload};
  MUSTER_ASSIGN(const auto network, make_network(workload.model, workload.shape, workload.classes));
  MUSTER_ASSIGN(const auto data, make_workload_data(workload));
  MUSTER_ASSIGN(const auto federation, BenchFederation::create(workload, network, *data, 1));
  row.parameters = network->parameters();
  MUSTER_ASSIGN(row.wrong, find_wrong(workload, network, *data, federation->model(), reference));
  if (row.wrong) return row;

  const double loss_before = federation->model_loss();
  if (references) {
    MUSTER_TRY(references->tuned.prepare(workload.name));
    MUSTER_TRY(references->installed.prepare(workload.name));
  }
  MUSTER_TRY(federation->train_for(0));  // warms up, by an amount of work that does not depend on the clock
  const double loss_after = federation->update_loss();
  if (!(loss_after < loss_before)) {
    row.wrong = fmt::format("training took the test loss from {:.6g} to {:.6g}", loss_before, loss_after);
    return row;
  }
  std::vector<double> ours;
  std::vector<double> theirs[std::size(kModes)];
  std::vector<double> installed;
  const Turns plan = turns(options.seconds);
  for (int turn = 0; turn < plan.count; ++turn) {
    peak = std::max(peak, peak_gflops());
    MUSTER_ASSIGN(const double rate, federation->train_for(plan.seconds));
    ours.push_back(rate);
    for (std::size_t mode = 0; reference && mode < std::size(kModes); ++mode) {
      MUSTER_ASSIGN(const double other, reference->window(kModes[mode], plan.seconds));
      theirs[mode].push_back(other);
    }
    if (references) {
      MUSTER_ASSIGN(const double other, references->installed.window("std", plan.seconds));
      installed.push_back(other);
    }
  }
  row.ours = rate_of(ours);
  row.gflops = row.ours->median * useful_flops(*network) / 1e9;
  MUSTER_ASSIGN(row.gather_share, federation->gather_share(plan.seconds));
  for (std::size_t mode = 0; reference && mode < std::size(kModes); ++mode) {
    const Rate rate = rate_of(theirs[mode]);
    if (row.reference && row.reference->median >= rate.median) continue;
    row.reference = rate;
    row.reference_mode = kModes[mode];
  }
  if (references) row.installed = rate_of(installed);
  return row;
}

Result<TwoWorkers> measure_two_workers(double seconds) {
  MUSTER_ASSIGN(const std::vector<Workload> chosen, choose_workloads(kTwoWorkersWorkload));
  const Workload& workload = chosen.front();
  MUSTER_ASSIGN(const auto network, make_network(workload.model, workload.shape, workload.classes));
  MUSTER_ASSIGN(const auto data, make_workload_data(workload));
  std::vector<double> rates[2];
  std::unique_ptr<BenchFederation> federations[2];
  for (std::uint32_t i = 0; i < 2; ++i) {
    MUSTER_ASSIGN(federations[i], BenchFederation::create(workload, network, *data, i + 1));
    MUSTER_TRY(federations[i]->train_rounds_for(0));
  }
  const Turns plan = turns(seconds);
  for (int turn = 0; turn < plan.count; ++turn) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      MUSTER_ASSIGN(const double rate, federations[i]->train_rounds_for(plan.seconds));
      rates[i].push_back(rate);
    }
  }
  return TwoWorkers{std::string(workload.name), rate_of(rates[0]).median, rate_of(rates[1]).median};
}

}  // namespace

std::optional<double> TrainBenchRow::ratio() const {
  if (!ours || !reference) return std::nullopt;
  return ours->median / reference->median;
}

std::optional<double> TrainBenchRow::installed_ratio() const {
  if (!ours || !installed) return std::nullopt;
  return ours->median / installed->median;
}

Result<TrainBenchReport> run_train_bench(const TrainBenchOptions& options) {
  TrainBenchReport report{.isa = std::string(name(current_isa()))};
  std::optional<References> references;
  if (options.reference) {
    auto started = start_references();
    if (started) {
      references = std::move(started).value();
      report.reference = "torch " + references->tuned.version();
      report.reference_blas = references->tuned.blas();
      if (report.reference_blas == "reference") {
        options.say(
            "PyTorch runs on the reference BLAS, up to eight times slower than it can be, which flatters the ratios; "
            "on Debian: apt-get install libopenblas0-pthread");
      }
    } else {
      options.say(started.error().message);
    }
  }
  for (const Workload& workload : options.workloads) {
    options.say(fmt::format("{}: {}", workload.name, workload.summary));
    auto row = measure(workload, options, references ? &*references : nullptr, report.peak_gflops);
    if (!row) return std::move(row).error().within(fmt::format("workload {}", workload.name));
    report.rows.push_back(std::move(row).value());
  }
  if (std::thread::hardware_concurrency() >= 2) {
    options.say("two workers");
    MUSTER_ASSIGN(report.two_workers, measure_two_workers(options.seconds));
  }
  return report;
}

}  // namespace muster
