// The command line: one file per command; here only what they share. Errors become one line on stderr and an exit
// status, and nowhere else.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "app/commands.h"
#include "app/interruption.h"
#include "app/launch.h"
#include "app/log_lines.h"
#include "base/fail_point.h"
#include "engine/rank_run.h"

namespace muster {
namespace {

constexpr const char* kVersion = "muster " MUSTER_VERSION;

// The exit status of a line that did what it was asked to.
Result<int> run(int argc, char** argv, Ranks* ranks) {
  CommandLine line("muster", "Muster: grouped federated learning on ordinary computers", kVersion);
  Command program = line.program();
  program.set_footer(
      "Example:\n  muster run fedavg --set data.partition=dirichlet --set data.alpha=0.1 --rounds 50\n"
      "`muster COMMAND --help` shows a command's options, with examples.\n"
      "Exit status: 0 done, also when a run diverged; 1 failed; 2 bad usage or recipe; 130, 143 or 75 interrupted by "
      "SIGINT, SIGTERM or SIGUSR1, after saving.");
  add_run_command(program, ranks);
  add_compare_command(program, ranks);
  add_list_command(program);
  add_show_command(program);
  add_export_command(program, MUSTER_VERSION);
  add_predict_command(program);
  add_report_command(program);
  add_reproduce_command(program, ranks);
  add_group_command(program);
  add_data_command(program);
  add_runs_command(program);
  add_ui_command(program);
  add_network_commands(program);
  add_network_benches(add_bench_command(program));
  add_completion_command(program);
  add_man_command(program, kVersion);
  MUSTER_TRY(line.run({argv + 1, argv + argc}));
  return line.exit_status();
}

// Prints what went wrong, if anything did.
int status_of(const Result<int>& outcome) {
  if (outcome) return *outcome;
  log_line(LogLevel::kError, outcome.error().message);
  return outcome.error().code == ErrorCode::kUsage ? 2 : 1;
}

// Of several processes the first does what the line says, with the help of the others, and speaks for all.
int run_as_launched(int argc, char** argv) {
  if (const Status armed = arm_fail_points(std::getenv("MUSTER_FAIL_AT"), std::getenv("MUSTER_FAIL_TRACE")); !armed) {
    return status_of(armed.error());
  }
  const Launch launch = read_launch([](const char* name) { return std::getenv(name); });
  // Before they are joined, which takes a while: a batch system may warn a job that has only just begun.
  if (launch.rank > 0) leave_interruptions_to_others();
  if (launch.rank == 0 && launch.size > 1) catch_interruptions_of_job();
  Result<std::unique_ptr<Ranks>> ranks = join_ranks(launch);
  if (!ranks) return launch.rank == 0 ? status_of(std::move(ranks).error()) : 2;
  if (!*ranks) return status_of(run(argc, argv, nullptr));
  if ((*ranks)->rank() > 0) return serve_runs(**ranks);
  const int status = status_of(run(argc, argv, ranks->get()));
  // Of a rank that is gone nothing can be expected any more; the launcher ends the others.
  if ((*ranks)->lost()) std::_Exit(status);
  quit_ranks(**ranks, status);
  return status;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  try {
    return muster::run_as_launched(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "muster: out of memory\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "muster: %s\n", e.what());
  }
  return 1;
}
