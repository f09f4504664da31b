// The commands under `muster bench`, one file each.
#pragma once

#include "app/commands.h"

namespace muster {

void add_bench_train_command(CLI::App& bench, Outcome& outcome);
void add_bench_scale_command(CLI::App& bench, Outcome& outcome);
void add_bench_grouping_command(CLI::App& bench, Outcome& outcome);
void add_bench_profile_command(CLI::App& bench, Outcome& outcome);

}  // namespace muster
