// The commands of `muster`, one file each. A command registers itself; when it is chosen it prints its result on stdout
// and nothing else there, or returns its error.
#pragma once

#include "app/argument_parser.h"

namespace muster {

class Ranks;

// `ranks`: of the job that this is rank 0 of; may be null. Borrowed.
void add_run_command(Command program, Ranks* ranks);
void add_compare_command(Command program, Ranks* ranks);
void add_list_command(Command program);
void add_show_command(Command program);
// `version` is the program's, "0.1.0": exported files name it.
void add_export_command(Command program, const std::string& version);
void add_predict_command(Command program);
void add_report_command(Command program);
void add_reproduce_command(Command program, Ranks* ranks);
void add_group_command(Command program);
void add_runs_command(Command program);
void add_data_command(Command program);
void add_ui_command(Command program);
// Returns `bench` itself, which has commands of its own.
Command add_bench_command(Command program);
// Those of a deployment. The program built with the network has them (network_commands.cc), the others name them and
// say that they cannot do them (network_plain.cc).
void add_network_commands(Command program);
void add_network_benches(Command bench);
void add_completion_command(Command program);
void add_man_command(Command program, const std::string& version);

}  // namespace muster
