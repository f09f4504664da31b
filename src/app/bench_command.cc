// `muster bench`: speed and scale, as ratios to a reference measured in the same run.
#include <CLI/CLI.hpp>

#include "app/bench_commands.h"
#include "app/commands.h"

namespace muster {

void add_bench_command(CLI::App& app, Outcome& outcome) {
  CLI::App* bench = app.add_subcommand("bench", "Speed and scale of this machine, against a reference in the same run");
  bench->require_subcommand(1);
  bench->footer(
      "Examples:\n  muster bench train --workload a,f --seconds 10 --json\n  muster bench scale\n"
      "  muster bench grouping\n"
      "  muster bench profile fedavg --set model.name=cnn --rounds 5");
  add_bench_train_command(*bench, outcome);
  add_bench_scale_command(*bench, outcome);
  add_bench_grouping_command(*bench, outcome);
  add_bench_profile_command(*bench, outcome);
}

}  // namespace muster
