// `muster bench`: speed and scale, as ratios to a reference measured in the same run.

#include "app/bench_commands.h"
#include "app/commands.h"

namespace muster {

Command add_bench_command(Command program) {
  Command bench =
      program.add_command("bench", "Measure speed and scale on this machine, against a reference in the same run");
  bench.set_footer(
      "Examples:\n  muster bench train --workload a,f --seconds 10 --json\n  muster bench scale\n"
      "  muster bench grouping\n"
      "  muster bench csv\n"
      "  muster bench store\n"
      "  muster bench secure --out costs.json\n"
      "  muster bench phases fedavg --set model.name=cnn --rounds 5");
  add_bench_train_command(bench);
  add_bench_scale_command(bench);
  add_bench_grouping_command(bench);
  add_bench_phases_command(bench);
  add_bench_csv_command(bench);
  add_bench_ranks_command(bench);
  add_bench_store_command(bench);
  add_bench_secure_command(bench);
  return bench;
}

}  // namespace muster
