// `muster bench phases`: where the time of a run goes, in shares of wall time times threads.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/bench_commands.h"
#include "app/temporary_folder.h"
#include "engine/simulation.h"
#include "record/json_text.h"

namespace muster {
namespace {

struct BenchPhasesArguments {
  std::string recipe = "demo";
  std::vector<std::string> settings;
  std::uint32_t rounds = 0;
  std::uint32_t threads = 0;
  bool json = false;
};

struct Part {
  std::string name;
  std::string layer;  // "" if it is no layer's
  double seconds = 0;
};

// What a federation needs beside training and evaluation, as a share of the wall time.
double overhead_of(const RunTimes& times) {
  return (times.group_s + times.plan_s + times.aggregate_s + times.records_s) / times.run_s;
}

// Every part once; the last, idle, is what remains of all threads' time.
std::vector<Part> parts_of(const RunTimes& times) {
  std::vector<Part> parts;
  SolverTimes sum;
  for (const SolverTimes& solver : times.solvers) {
    sum.train_s += solver.train_s;
    sum.samples_s += solver.samples_s;
    sum.gather_s += solver.gather_s;
    sum.evaluate_s += solver.evaluate_s;
    sum.executor.load_s += solver.executor.load_s;
    sum.executor.store_s += solver.executor.store_s;
    sum.executor.loss_s += solver.executor.loss_s;
    sum.executor.step_s += solver.executor.step_s;
    // A thread that trained nobody has no layers.
    if (sum.executor.layers.empty()) {
      sum.executor.layers = solver.executor.layers;
    } else {
      for (std::size_t i = 0; i < solver.executor.layers.size(); ++i) {
        sum.executor.layers[i].forward_s += solver.executor.layers[i].forward_s;
        sum.executor.layers[i].backward_s += solver.executor.layers[i].backward_s;
      }
    }
  }
  parts.push_back({"grouping", "", times.group_s});
  parts.push_back({"plan", "", times.plan_s});
  const std::size_t before = parts.size();
  parts.push_back({"samples", "", sum.samples_s});
  parts.push_back({"gather", "", sum.gather_s});
  parts.push_back({"load", "", sum.executor.load_s});
  for (const auto& layer : sum.executor.layers) parts.push_back({"forward", layer.name, layer.forward_s});
  parts.push_back({"loss", "", sum.executor.loss_s});
  for (auto layer = sum.executor.layers.rbegin(); layer != sum.executor.layers.rend(); ++layer) {
    parts.push_back({"backward", layer->name, layer->backward_s});
  }
  parts.push_back({"step", "", sum.executor.step_s});
  parts.push_back({"store", "", sum.executor.store_s});
  double local = 0;
  for (std::size_t i = before; i < parts.size(); ++i) local += parts[i].seconds;
  parts.push_back({"local rest", "", std::max(0.0, sum.train_s - local)});
  parts.push_back({"aggregation", "", times.aggregate_s});
  parts.push_back({"evaluation", "", sum.evaluate_s});
  parts.push_back({"records", "", times.records_s});
  parts.push_back({"checkpoints", "", times.checkpoints_s});
  double busy = 0;
  for (const Part& part : parts) busy += part.seconds;
  parts.push_back({"idle", "", std::max(0.0, times.run_s * times.threads - busy)});
  return parts;
}

void print(const RunTimes& times, const RunSummary& summary, bool json) {
  const std::vector<Part> parts = parts_of(times);
  const double all_s = times.run_s * times.threads;
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Part& part : parts) {
      list.push_back({{"part", part.name}, {"seconds", part.seconds}, {"share", part.seconds / all_s}});
      if (!part.layer.empty()) list.back()["layer"] = part.layer;
    }
    const nlohmann::ordered_json object{{"recipe", summary.recipe},       {"rounds", summary.rounds},
                                        {"threads", times.threads},       {"prepare_s", times.prepare_s},
                                        {"run_s", times.run_s},           {"samples_trained", summary.samples_trained},
                                        {"overhead", overhead_of(times)}, {"parts", list}};
    fmt::print("{}\n", json_text(object));
    return;
  }
  fmt::print("{}: {} rounds in {:.3f} s on {} threads, after {:.3f} s of preparation; {}, {} parameters\n",
             summary.recipe, summary.rounds, times.run_s, times.threads, times.prepare_s, summary.data,
             summary.parameters);
  for (const Part& part : parts) {
    if (part.seconds == 0) continue;
    fmt::print("{:<12} {:<24} {:>9.4f} s {:>6.1f} %\n", part.name, part.layer, part.seconds,
               100 * part.seconds / all_s);
  }
  fmt::print("grouping, plan, aggregation and records: {:.2f} % of the wall time\n", 100 * overhead_of(times));
}

Status bench_phases(const BenchPhasesArguments& arguments) {
  MUSTER_ASSIGN(Recipe recipe, load_recipe(arguments.recipe));
  for (const std::string& setting : arguments.settings) MUSTER_TRY(apply_setting(recipe, setting));
  if (arguments.rounds > 0) recipe.rounds = arguments.rounds;
  MUSTER_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
  RunTimes times;
  MUSTER_ASSIGN(const RunSummary summary,
                simulate(recipe, {.threads = arguments.threads, .out = folder.path(), .quiet = true, .times = &times}));
  print(times, summary, arguments.json);
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  return {};
}

}  // namespace

void add_bench_phases_command(Command bench) {
  auto arguments = std::make_shared<BenchPhasesArguments>();
  Command command = bench.add_command("phases", "Where the time of a run goes");
  command.add_alias("profile");
  command.add_option("recipe", arguments->recipe, "A built-in recipe or a .toml file; default: demo");
  command.add_option("--set", arguments->settings, "section.key=value: any key of the recipe, repeatable")
      .one_at_a_time();
  command.add_option("--rounds", arguments->rounds, "Rounds of training; default: the recipe's").at_least(1);
  command.add_option("--threads", arguments->threads, "Worker threads; default: all cores").between(1, 1024);
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  command.set_footer("Example:\n  muster bench phases fedavg --set model.name=cnn --rounds 5 --threads 1");
  command.set_action([arguments] { return bench_phases(*arguments); });
}

}  // namespace muster
