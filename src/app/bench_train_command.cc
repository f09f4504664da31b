// `muster bench train`: how fast clients train, per workload, compared with plain PyTorch.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/bench_commands.h"
#include "app/bench_train.h"
#include "record/json_text.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

struct BenchTrainArguments {
  std::string workloads;
  double seconds = 3;
  bool json = false;
  bool no_reference = false;
};

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const TrainBenchRow& row, double peak_gflops) {
  Json json{{"workload", row.workload.name}, {"model", row.workload.summary}, {"parameters", row.parameters}};
  json["samples_per_s"] = row.ours ? Json(row.ours->median) : Json();
  json["samples_per_s_range"] = row.ours ? Json{row.ours->lowest, row.ours->highest} : Json();
  json["reference_samples_per_s"] = row.reference ? Json(row.reference->median) : Json();
  json["reference_samples_per_s_range"] = row.reference ? Json{row.reference->lowest, row.reference->highest} : Json();
  json["reference_mode"] = row.reference ? Json(row.reference_mode) : Json();
  json["ratio"] = or_null(row.ratio());
  json["wanted_ratio"] = row.workload.wanted_ratio;
  json["installed_samples_per_s"] = row.installed ? Json(row.installed->median) : Json();
  json["installed_samples_per_s_range"] = row.installed ? Json{row.installed->lowest, row.installed->highest} : Json();
  json["installed_ratio"] = or_null(row.installed_ratio());
  json["gflops"] = row.ours ? Json(row.gflops) : Json();
  json["roofline_share"] = row.ours ? Json(row.gflops / peak_gflops) : Json();
  json["gather_share"] = row.ours ? Json(row.gather_share) : Json();
  json["wanted_gather_share"] = or_null(row.workload.most_gathering);
  json["checked"] = !row.wrong;
  return json;
}

Json to_json(const TrainBenchReport& report) {
  Json json{{"isa", report.isa}, {"peak_gflops", report.peak_gflops}};
  json["reference"] = report.reference.empty() ? Json() : Json(report.reference);
  json["reference_blas"] = report.reference_blas.empty() ? Json() : Json(report.reference_blas);
  json["workloads"] = Json::array();
  for (const TrainBenchRow& row : report.rows) json["workloads"].push_back(to_json(row, report.peak_gflops));
  if (report.two_workers) {
    const TwoWorkers& two = *report.two_workers;
    json["two_workers"] = {{"workload", two.workload},
                           {"samples_per_s", two.two},
                           {"one_worker_samples_per_s", two.one},
                           {"ratio", two.two / two.one},
                           {"wanted_ratio", kWantedTwoWorkers}};
  } else {
    json["two_workers"] = nullptr;
  }
  return json;
}

void print_table(const TrainBenchReport& report) {
  fmt::print("one core, {}, {:.0f} GFLOP/s at most; reference: {}\n", report.isa, report.peak_gflops,
             report.reference.empty() ? "none" : fmt::format("{}, BLAS {}", report.reference, report.reference_blas));
  fmt::print("{:<5} {:<26} {:>11} {:>11} {:<8} {:>6} {:>6} {:>11} {:>6} {:>8} {:>9} {:>8}\n", "", "", "samples/s",
             "reference", "mode", "ratio", "want", "installed", "ratio", "GFLOP/s", "roofline", "gather");
  for (const TrainBenchRow& row : report.rows) {
    if (!row.ours) {
      fmt::print("{:<5} {:<26} wrong: {}\n", row.workload.name, row.workload.summary, row.wrong.value_or(""));
      continue;
    }
    const auto shown = [](const char* format, std::optional<double> value) {
      return value ? fmt::format(fmt::runtime(format), *value) : "-";
    };
    const auto middle = [](const std::optional<Rate>& rate) {
      return rate ? std::optional(rate->median) : std::nullopt;
    };
    fmt::print(
        "{:<5} {:<26} {:>11.0f} {:>11} {:<8} {:>6} {:>6} {:>11} {:>6} {:>8.1f} {:>7.0f} % {:>6.1f} %{}\n",
        row.workload.name, row.workload.summary, row.ours->median, shown("{:.0f}", middle(row.reference)),
        row.reference ? row.reference_mode : "-", shown("{:.2f}", row.ratio()), row.workload.wanted_ratio,
        shown("{:.0f}", middle(row.installed)), shown("{:.2f}", row.installed_ratio()), row.gflops,
        100 * row.gflops / report.peak_gflops, 100 * row.gather_share,
        row.workload.most_gathering ? fmt::format(" (want {} % at most)", 100 * *row.workload.most_gathering) : "");
  }
  if (report.two_workers) {
    const TwoWorkers& two = *report.two_workers;
    fmt::print("two workers on {}: {:.0f} samples/s, {:.2f} times one worker (want {})\n", two.workload, two.two,
               two.two / two.one, kWantedTwoWorkers);
  }
}

Status bench_train(const BenchTrainArguments& arguments) {
  TrainBenchOptions options{.seconds = arguments.seconds, .reference = !arguments.no_reference};
  MUSTER_ASSIGN(options.workloads, choose_workloads(arguments.workloads));
  options.say = [](const std::string& text) { std::fprintf(stderr, "muster: %s\n", text.c_str()); };
  MUSTER_ASSIGN(const TrainBenchReport report, run_train_bench(options));
  if (arguments.json) {
    fmt::print("{}\n", json_text(to_json(report)));
  } else {
    print_table(report);
  }
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  for (const TrainBenchRow& row : report.rows) {
    if (row.wrong) return failure("workload {} failed its check: {}", row.workload.name, *row.wrong);
  }
  return {};
}

}  // namespace

void add_bench_train_command(Command bench) {
  auto arguments = std::make_shared<BenchTrainArguments>();
  Command command = bench.add_command("train", "Samples per second of one core, compared with plain PyTorch");
  command.add_option("--workload", arguments->workloads,
                     "Some, separated by commas, of " + workload_names() + "; default: all");
  command.add_option("--seconds", arguments->seconds, "Processor time per workload, and per mode of the references")
      .between(0.01, 3600)
      .show_default();
  command.add_flag("--no-reference", arguments->no_reference, "Do not run PyTorch");
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  command.set_footer("Example:\n  muster bench train --workload a,e1 --seconds 5 --json");
  command.set_action([arguments] { return bench_train(*arguments); });
}

}  // namespace muster
