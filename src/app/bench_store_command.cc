// `muster bench store`: what recording costs a run, and how fast a thousand runs are listed and compared.
#include <cstdio>
#include <memory>

#include "app/bench_commands.h"
#include "app/bench_store.h"

namespace muster {
namespace {

struct BenchStoreArguments {
  StoreBenchOptions sizes;
  bool json = false;
};

Status bench_store(const BenchStoreArguments& arguments) {
  StoreBenchOptions options = arguments.sizes;
  options.say = [](const std::string& text) { std::fprintf(stderr, "muster: %s\n", text.c_str()); };
  MUSTER_ASSIGN(const std::vector<ScaleCase> cases, run_store_bench(options));
  return print_scale_cases(cases, arguments.json);
}

}  // namespace

void add_bench_store_command(Command bench) {
  auto arguments = std::make_shared<BenchStoreArguments>();
  Command command = bench.add_command("store", "What recording costs a run, and how fast a large store answers");
  command.add_option("--runs", arguments->sizes.runs, "Runs of the large store").between(1, 100'000).show_default();
  command.add_option("--rounds", arguments->sizes.rounds, "Rounds of each").between(1, 100'000).show_default();
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  command.set_footer("Examples:\n  muster bench store\n  muster bench store --runs 100 --json");
  command.set_action([arguments] { return bench_store(*arguments); });
}

}  // namespace muster
