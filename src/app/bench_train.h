// `bench train`: checks each workload, then times it against the PyTorch reference, window by window in turns.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/bench_rate.h"
#include "app/bench_workload.h"

namespace muster {

struct TrainBenchOptions {
  std::vector<Workload> workloads;
  double seconds = 3;  // of processor time per workload, and as much for each mode of the reference
  bool reference = true;
  std::function<void(const std::string&)> say;  // progress for people
};

struct TrainBenchRow {
  Workload workload;
  std::size_t parameters = 0;
  std::optional<std::string> wrong;  // what a check found; then nothing was timed
  std::optional<Rate> ours;          // samples per second of one core
  std::optional<Rate> reference;     // told the processor, and in its better mode
  std::string reference_mode;
  std::optional<Rate> installed;  // the reference without any settings, with optimizer.step
  double gflops = 0;
  double gather_share = 0;  // of our time, for batches of stored samples

  [[nodiscard]] std::optional<double> ratio() const;
  [[nodiscard]] std::optional<double> installed_ratio() const;
};

// Training through the engine by one worker and by two, in samples per second of wall time.
struct TwoWorkers {
  std::string workload;
  double one = 0;
  double two = 0;
};
inline constexpr double kWantedTwoWorkers = 1.8;

struct TrainBenchReport {
  std::string isa;
  double peak_gflops = 0;
  std::string reference;       // e.g. "torch 1.13"; "" if there was none
  std::string reference_blas;  // see TorchReference::blas(); "" if there was no reference
  std::vector<TrainBenchRow> rows;
  std::optional<TwoWorkers> two_workers;  // none on a machine with one core
};

[[nodiscard]] Result<TrainBenchReport> run_train_bench(const TrainBenchOptions& options);

}  // namespace muster
