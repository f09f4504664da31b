// `muster bench network`: a deployment on this machine, measured.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/bench_network.h"
#include "app/network_commands.h"
#include "app/network_summaries.h"
#include "record/json_text.h"

namespace muster {
namespace {

struct BenchNetworkArguments {
  NetworkBenchOptions options;
  bool json = false;
};

std::string bounds(const NetworkCase& c) {
  if (c.at_least > 0) return fmt::format(" (at least {:g})", c.at_least);
  return c.at_most > 0 ? fmt::format(" (at most {:.3g})", c.at_most) : "";
}

Status bench_network(BenchNetworkArguments arguments) {
  std::error_code error;
  arguments.options.program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) return failure("cannot find this program: {}", error.message());
  MUSTER_ASSIGN(const std::vector<NetworkCase> cases, run_network_bench(arguments.options));
  if (arguments.json) {
    const auto number = [](double value) {
      return value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const NetworkCase& c : cases) {
      list.push_back({{"case", c.name},
                      {"value", c.value},
                      {"unit", c.unit},
                      {"at_least", number(c.at_least)},
                      {"at_most", number(c.at_most)},
                      {"ratio", number(c.ratio)},
                      {"reference", c.reference},
                      {"checked", c.checked},
                      {"ok", c.ok()}});
    }
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"cases", list}}));
  } else {
    for (const NetworkCase& c : cases) {
      const char* const missed = c.at_least > 0 ? "low" : "over";
      fmt::print("{:<4} {}: {:.3g} {}{}{}\n     checked: {}\n", c.ok() ? "ok" : missed, c.name, c.value, c.unit,
                 bounds(c), c.ratio > 0 ? fmt::format(", {:.2f} times {}", c.ratio, c.reference) : "", c.checked);
    }
  }
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  return {};
}

}  // namespace

void add_bench_network_command(Command bench) {
  auto arguments = std::make_shared<BenchNetworkArguments>();
  arguments->options.say = [](const std::string& text) { std::fprintf(stderr, "muster: %s\n", text.c_str()); };
  Command command = bench.add_command(kBenchNetworkSummary.name, kBenchNetworkSummary.text);
  command.add_option("--case", arguments->options.only, "Only the cases with this in their name, e.g. memory");
  command.add_option("--repeats", arguments->options.repeats, "Runs of each, of which the fastest counts")
      .between(1, 100)
      .show_default();
  command.add_option("--scale", arguments->options.scale, "Of clients, connections and rounds: 0.1 for a quick look")
      .at_least(0)
      .show_default();
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  command.set_footer("Example:\n  ./muster bench network --case memory");
  command.set_action([arguments] { return bench_network(*arguments); });
}

}  // namespace muster
