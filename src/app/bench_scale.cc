#include "app/bench_scale.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "aggregate/aggregator.h"
#include "app/bench_clock.h"
#include "app/temporary_folder.h"
#include "engine/simulation.h"

namespace muster {
namespace {

constexpr double kMegabyte = 1e6;

// Memory of this process that is in use now; 0 if the system does not tell.
double resident_bytes() {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "r"), &std::fclose);
  unsigned long all = 0;
  unsigned long resident = 0;
  if (!file || std::fscanf(file.get(), "%lu %lu", &all, &resident) != 2) return 0;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

Result<Recipe> recipe_with(const std::vector<std::string>& settings) {
  MUSTER_ASSIGN(Recipe recipe, load_recipe("fedavg"));
  MUSTER_TRY(apply_setting(recipe, "evaluation.on=auto"));  // not every client, of which there may be a million
  for (const std::string& setting : settings) MUSTER_TRY(apply_setting(recipe, setting));
  return recipe;
}

Status measure_virtual_clients(const ScaleBenchOptions& options, std::vector<ScaleCase>& cases) {
  MUSTER_ASSIGN(const Recipe recipe, recipe_with({"data.source=synthetic", "data.test-fraction=0.1",
                                                  fmt::format("data.clients={}", options.clients), "model.name=softmax",
                                                  "local.epochs=1", "local.batch-size=10", "plan.sample-clients=100",
                                                  fmt::format("rounds={}", options.rounds)}));
  MUSTER_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
  const std::uint32_t early = std::max(1u, options.rounds / 10);
  const double start = wall_seconds();
  double ready_s = 0;
  double early_bytes = 0;
  double late_bytes = 0;
  SimulationOptions simulation{.out = folder.path(), .quiet = true};
  simulation.on_round = [&](std::uint32_t round) {
    if (round == 0) ready_s = wall_seconds() - start;
    if (round == early) early_bytes = resident_bytes();
    if (round == options.rounds) late_bytes = resident_bytes();
  };
  MUSTER_ASSIGN(const RunSummary summary, simulate(recipe, simulation));
  const std::string name = fmt::format("{} virtual clients", options.clients);
  const double millions = options.clients / 1e6;
  cases.push_back({name + ": start-up", ready_s, "s", std::max(5.0, 1.5 * millions), ""});
  cases.push_back({name + ": peak memory", static_cast<double>(summary.peak_rss_bytes) / kMegabyte, "MB",
                   std::max(300.0, 100 * millions), ""});
  cases.push_back({fmt::format("{}: memory after round {} against round {}", name, options.rounds, early),
                   early_bytes > 0 ? 100 * std::abs(late_bytes / early_bytes - 1) : 0, "%", 2,
                   fmt::format("{:.1f} MB, {:.1f} MB", early_bytes / kMegabyte, late_bytes / kMegabyte)});
  return {};
}

Status measure_mnist(const ScaleBenchOptions& options, std::vector<ScaleCase>& cases) {
  const std::vector<std::string> settings{"data.source=mnist",
                                          "data.partition=classes-per-client",
                                          "data.classes-per-client=2",
                                          "data.clients=1000",
                                          "data.merge-test=false",
                                          "data.test-fraction=0.0",
                                          "data.normalize=true",
                                          "model.name=softmax",
                                          "local.epochs=1",
                                          "local.batch-size=10",
                                          "local.learning-rate=0.03",
                                          "plan.sample-clients=10",
                                          "evaluation.every=1",
                                          fmt::format("rounds={}", options.mnist_rounds)};
  MUSTER_ASSIGN(Recipe recipe, recipe_with(settings));
  MUSTER_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
  ScaleCase result{fmt::format("MNIST by 1000 clients: {} rounds", options.mnist_rounds), 0, "s", 2, ""};
  const auto run = [&]() -> Result<RunSummary> {
    const double start = wall_seconds();
    auto summary = simulate(recipe, {.out = folder.path(), .quiet = true});
    result.value = wall_seconds() - start;
    return summary;
  };
  auto summary = run();
  if (!summary) {
    result.note = fmt::format("on generated data, because {}", summary.error().message);
    recipe.data.source = "blobs";
    recipe.data.normalize = std::nullopt;
    MUSTER_TRY(run());
  }
  cases.push_back(std::move(result));
  return {};
}

Status measure_aggregation(const ScaleBenchOptions& options, std::vector<ScaleCase>& cases) {
  // Several different models, so that none waits in the cache for its turn.
  constexpr std::size_t kDistinct = 4;
  const std::size_t size = options.parameters;
  MUSTER_ASSIGN(const auto aggregator, make_aggregator({.global = "samples-weighted"},
                                                       {.parameters = size, .size = size, .clients = options.models}));
  std::vector<GroupUpdate> updates(kDistinct);
  for (std::size_t i = 0; i < kDistinct; ++i) {
    updates[i].model.assign(size, static_cast<float>(i + 1));
    updates[i].samples = 10;
    updates[i].members.resize(1);
  }
  std::vector<float> model(size);
  const auto merge = [&] {
    const double start = wall_seconds();
    aggregator->begin(model);
    for (std::uint32_t i = 0; i < options.models; ++i) aggregator->add(updates[i % kDistinct]);
    aggregator->finish(model);
    return wall_seconds() - start;
  };
  const double merge_s = std::min(merge(), merge());
  double expected = 0;
  for (std::uint32_t i = 0; i < options.models; ++i)
    expected += static_cast<double>(i % kDistinct + 1) / options.models;
  for (const float value : model) {
    if (std::abs(static_cast<double>(value) - expected) > 1e-5) {
      return failure("aggregation: a mean of {} became {}", expected, value);
    }
  }

  std::vector<char> from(8 * size, 1);
  std::vector<char> to(8 * size);
  double copy_s = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double start = wall_seconds();
    std::memcpy(to.data(), from.data(), to.size());
    copy_s = std::min(copy_s, wall_seconds() - start);
  }
  // A model passes through once in float; its sum is read and written in double.
  const double merged = 20.0 * static_cast<double>(size) * options.models / merge_s / 1e9;
  const double copied = 2.0 * static_cast<double>(to.size()) / copy_s / 1e9;
  cases.push_back({fmt::format("merging {} models of {:.1f} M parameters: time against copying as many bytes",
                               options.models, static_cast<double>(size) / 1e6),
                   copied / merged, "times", 1.5,
                   fmt::format("{:.2f} s, {:.1f} GB/s; copying {:.1f} GB/s", merge_s, merged, copied)});
  return {};
}

}  // namespace

Result<std::vector<ScaleCase>> run_scale_bench(const ScaleBenchOptions& options) {
  std::vector<ScaleCase> cases;
  options.say(fmt::format("{} virtual clients, {} rounds", options.clients, options.rounds));
  MUSTER_TRY(measure_virtual_clients(options, cases));
  options.say(fmt::format("MNIST by 1000 clients, {} rounds", options.mnist_rounds));
  MUSTER_TRY(measure_mnist(options, cases));
  options.say("merging models");
  MUSTER_TRY(measure_aggregation(options, cases));
  return cases;
}

}  // namespace muster
