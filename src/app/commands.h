// The commands of `muster`, one file each. A command registers itself and, when it is chosen, leaves its error in
// `outcome`; it prints its result on stdout and nothing else there.
#pragma once

#include <optional>

#include "base/result.h"

namespace CLI {
class App;
}

namespace muster {

struct Outcome {
  std::optional<Error> error;
  void operator=(Status status) {
    if (!status) error = std::move(status).error();
  }
};

// `outcome` outlives the app's parse.
void add_run_command(CLI::App& app, Outcome& outcome);
void add_list_command(CLI::App& app, Outcome& outcome);
void add_show_command(CLI::App& app, Outcome& outcome);
void add_export_command(CLI::App& app, Outcome& outcome);
void add_group_command(CLI::App& app, Outcome& outcome);
void add_data_command(CLI::App& app, Outcome& outcome);
void add_bench_command(CLI::App& app, Outcome& outcome);

}  // namespace muster
