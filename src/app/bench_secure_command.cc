// `muster bench secure`: secure sums and filters within their limits, and what group operations cost on this machine.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "app/bench_commands.h"
#include "app/bench_secure.h"
#include "base/file.h"
#include "record/cost_file.h"
#include "record/json_text.h"

namespace muster {
namespace {

struct BenchSecureArguments {
  SecureBenchOptions options;
  std::string out;
  bool only_costs = false;
  bool json = false;
};

nlohmann::ordered_json paper_json(const MeasuredCosts& costs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string& operation : measured_operations(costs)) {
    for (const PaperCurve& paper : paper_curves(operation)) {
      nlohmann::ordered_json row{{"operation", operation}, {"what", paper.what}, {"parameters", paper.parameters}};
      row.update(to_json(paper.curve));
      row.erase("r2");
      list.push_back(std::move(row));
    }
  }
  return list;
}

std::string curve_text(const FittedCurve& curve) {
  return fmt::format("{:>12.4g} {:>12.4g} {:>12.4g}", curve.quadratic, curve.linear, curve.constant);
}

Status print_costs(const MeasuredCosts& costs) {
  fmt::print(
      "\nseconds of a member in an operation of a group of s, on this machine:\n{:<14} {:>12} {:>12} {:>12} {:>12} "
      "{:>8}\n",
      "operation", "parameters", "s^2", "s", "1", "R^2");
  for (const MeasuredOperation& one : costs.operations) {
    fmt::print("{:<14} {:>12} {} {:>8.4f}\n", one.operation, one.parameters, curve_text(one.by_size), one.by_size.r2);
  }
  fmt::print("an epoch: {:.4g} s per 10^9 operations, {:.4g} s besides, R^2 {:.4f}\n", costs.epoch.linear,
             costs.epoch.constant, costs.epoch.r2);
  fmt::print("\nbeside Group-FEL's, measured on a Raspberry Pi 4 (a group of 10: theirs, ours, in s):\n");
  for (const std::string& operation : measured_operations(costs)) {
    for (const PaperCurve& paper : paper_curves(operation)) {
      MUSTER_ASSIGN(const FittedCurve ours, operation_curve(costs, operation, paper.parameters));
      fmt::print("{:<42} {:>8} {}   {:.3f}, {:.4f}\n", paper.what, paper.parameters, curve_text(paper.curve),
                 paper.curve.at(10), ours.at(10));
    }
  }
  return {};
}

Status bench_secure(const BenchSecureArguments& arguments) {
  std::vector<ScaleCase> cases;
  if (!arguments.only_costs) {
    MUSTER_ASSIGN(cases, run_secure_bench(arguments.options));
  }
  MUSTER_ASSIGN(const MeasuredCosts costs, measure_costs(arguments.options));
  if (!arguments.out.empty()) MUSTER_TRY(write_output(arguments.out, to_text(costs)));
  if (arguments.json) {
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"cases", scale_cases_json(cases)},
                                                        {"operations", to_json(costs.operations)},
                                                        {"epoch", to_json(costs.epoch)},
                                                        {"paper", paper_json(costs)}}));
  } else {
    print_scale_lines(cases);
    MUSTER_TRY(print_costs(costs));
  }
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  return {};
}

}  // namespace

void add_bench_secure_command(Command bench) {
  auto arguments = std::make_shared<BenchSecureArguments>();
  arguments->options.say = [](const std::string& text) { std::fprintf(stderr, "muster: %s\n", text.c_str()); };
  Command command =
      bench.add_command("secure", "Secure sums and filters within their limits, and what group operations cost here");
  command.add_option("--out", arguments->out, "Write the costs to this file, which cost.file of a recipe reads");
  command.add_flag("--only-costs", arguments->only_costs, "Only what group operations cost");
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  command.set_footer(
      "Examples:\n  muster bench secure --json\n"
      "  muster bench secure --only-costs --out costs.json && muster run group-fel --set cost.model=group-operations "
      "--set cost.file=costs.json");
  command.set_action([arguments] { return bench_secure(*arguments); });
}

}  // namespace muster
