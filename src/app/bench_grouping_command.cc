// `muster bench grouping`: what forming groups takes, and how it grows.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/bench_commands.h"
#include "app/bench_grouping.h"
#include "record/json_text.h"

namespace muster {
namespace {

struct BenchGroupingArguments {
  GroupingBenchOptions options;
  bool json = false;
};

Status bench_grouping(const BenchGroupingArguments& arguments) {
  MUSTER_ASSIGN(const std::vector<GroupingCase> cases, run_grouping_bench(arguments.options));
  if (arguments.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const GroupingCase& c : cases) {
      list.push_back({{"case", c.name},
                      {"seconds", c.seconds},
                      {"at_most", c.at_most},
                      {"checked", c.checked},
                      {"exponent", c.exponent},
                      {"sizes", c.sizes},
                      {"peak_mb", c.peak_mb},
                      {"ok", c.ok()}});
    }
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"cases", list}}));
  } else {
    for (const GroupingCase& c : cases) {
      fmt::print("{:<4} {:<56} {:>10.6f} s (at most {:g}), grows by n^{:.2f}\n", c.ok() ? "ok" : "over", c.name,
                 c.seconds, c.at_most, c.exponent);
      fmt::print("     {}; checked: {}\n", c.sizes, c.checked);
    }
  }
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  return {};
}

}  // namespace

void add_bench_grouping_command(Command bench) {
  auto arguments = std::make_shared<BenchGroupingArguments>();
  arguments->options.say = [](const std::string& text) { std::fprintf(stderr, "muster: %s\n", text.c_str()); };
  Command command = bench.add_command(
      "grouping", "How long the expensive grouping methods take, and how that grows with the clients");
  command.add_option("--case", arguments->options.only, "Only the cases with this in their name, e.g. inter-cluster");
  command.add_flag("--large", arguments->options.large, "Also 100,000 clients on one edge");
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  command.set_footer("Example:\n  muster bench grouping --case gap-voting --json");
  command.set_action([arguments] { return bench_grouping(*arguments); });
}

}  // namespace muster
