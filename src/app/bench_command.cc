// `muster bench`: speed and scale, as ratios to a reference measured in the same run.
#include <CLI/CLI.hpp>

#include "app/bench_commands.h"
#include "app/commands.h"

namespace muster {

void add_bench_command(CLI::App& app, Outcome& outcome) {
  CLI::App* bench = app.add_subcommand("bench", "Speed and scale of this machine, against a reference in the same run");
  bench->require_subcommand(1);
  bench->footer("Examples:\n  muster bench train\n  muster bench train --workload a,f --seconds 10 --json");
  add_bench_train_command(*bench, outcome);
}

}  // namespace muster
