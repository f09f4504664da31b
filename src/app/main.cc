// The command line: one file per command; here only what they share. Errors become one line on stderr and an exit
// status, and nowhere else.
#include <cstdio>
#include <exception>
#include <new>

#include "app/commands.h"

namespace muster {
namespace {

constexpr const char* kVersion = "muster " MUSTER_VERSION;

// The exit status of a line that did what it was asked to.
Result<int> run(int argc, char** argv) {
  CommandLine line("muster", "Muster: grouped federated learning on ordinary computers", kVersion);
  Command program = line.program();
  program.set_footer(
      "Example:\n  muster run fedavg --set data.partition=dirichlet --set data.alpha=0.1 --rounds 50\n"
      "`muster COMMAND --help` shows a command's options, with examples.\n"
      "Exit status: 0 done, also when a run diverged; 1 failed; 2 bad usage or recipe; 130 or 143 interrupted by "
      "SIGINT "
      "or SIGTERM, after saving.");
  add_run_command(program);
  add_compare_command(program);
  add_list_command(program);
  add_show_command(program);
  add_export_command(program, MUSTER_VERSION);
  add_predict_command(program);
  add_reproduce_command(program);
  add_group_command(program);
  add_data_command(program);
  add_bench_command(program);
  add_completion_command(program);
  add_man_command(program, kVersion);
  MUSTER_TRY(line.run({argv + 1, argv + argc}));
  return line.exit_status();
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  try {
    const muster::Result<int> outcome = muster::run(argc, argv);
    if (outcome) return *outcome;
    std::fprintf(stderr, "muster: %s\n", outcome.error().message.c_str());
    return outcome.error().code == muster::ErrorCode::kUsage ? 2 : 1;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "muster: out of memory\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "muster: %s\n", e.what());
  }
  return 1;
}
