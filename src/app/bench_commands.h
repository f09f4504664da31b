// The commands under `muster bench`, one file each.
#pragma once

#include "app/commands.h"

namespace muster {

void add_bench_train_command(Command bench);
void add_bench_scale_command(Command bench);
void add_bench_grouping_command(Command bench);
void add_bench_phases_command(Command bench);
void add_bench_csv_command(Command bench);
void add_bench_ranks_command(Command bench);

}  // namespace muster
