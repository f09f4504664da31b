// The commands under `muster bench`, one file each.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "app/bench_scale.h"
#include "app/commands.h"

namespace muster {

void add_bench_train_command(Command bench);
void add_bench_scale_command(Command bench);
void add_bench_grouping_command(Command bench);
void add_bench_phases_command(Command bench);
void add_bench_csv_command(Command bench);
void add_bench_ranks_command(Command bench);
void add_bench_store_command(Command bench);
void add_bench_secure_command(Command bench);

// What `bench scale` and `bench store` print, of each case whether it is within its limit.
[[nodiscard]] Status print_scale_cases(const std::vector<ScaleCase>& cases, bool json);
// The same as part of more.
[[nodiscard]] nlohmann::ordered_json scale_cases_json(const std::vector<ScaleCase>& cases);
void print_scale_lines(const std::vector<ScaleCase>& cases);

}  // namespace muster
