// `muster bench scale`: a million clients in little memory, a thousand clients in a second, models merged at the
// speed of memory.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/bench_commands.h"
#include "app/bench_scale.h"
#include "record/json_text.h"

namespace muster {
namespace {

struct BenchScaleArguments {
  ScaleBenchOptions sizes;
  bool json = false;
};

Status bench_scale(const BenchScaleArguments& arguments) {
  ScaleBenchOptions options = arguments.sizes;
  options.say = [](const std::string& text) { std::fprintf(stderr, "muster: %s\n", text.c_str()); };
  MUSTER_ASSIGN(const std::vector<ScaleCase> cases, run_scale_bench(options));
  return print_scale_cases(cases, arguments.json);
}

}  // namespace

nlohmann::ordered_json scale_cases_json(const std::vector<ScaleCase>& cases) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ScaleCase& c : cases) {
    list.push_back({{"case", c.name},
                    {"value", c.value},
                    {"unit", c.unit},
                    {"at_most", c.at_most},
                    {"ok", c.ok()},
                    {"note", c.note}});
  }
  return list;
}

void print_scale_lines(const std::vector<ScaleCase>& cases) {
  for (const ScaleCase& c : cases) {
    fmt::print("{:<4} {}: {:.2f} {} (at most {}){}\n", c.ok() ? "ok" : "over", c.name, c.value, c.unit, c.at_most,
               c.note.empty() ? "" : "; " + c.note);
  }
}

Status print_scale_cases(const std::vector<ScaleCase>& cases, bool json) {
  if (json) {
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"cases", scale_cases_json(cases)}}));
  } else {
    print_scale_lines(cases);
  }
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  return {};
}

void add_bench_scale_command(Command bench) {
  auto arguments = std::make_shared<BenchScaleArguments>();
  Command command =
      bench.add_command("scale", "A million virtual clients, MNIST on a thousand clients, merging large models");
  command.add_option("--clients", arguments->sizes.clients, "Virtual clients of the first run")
      .show_default()
      .between(1, 100'000'000);
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  command.set_footer("Examples:\n  muster bench scale --json\n  muster bench scale --clients 10000000");
  command.set_action([arguments] { return bench_scale(*arguments); });
}

}  // namespace muster
