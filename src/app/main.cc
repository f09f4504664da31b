// The command line: one file per command; here only what they share. Errors become one line on stderr and an exit
// status, and nowhere else.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>

#include "app/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"Muster: grouped federated learning on ordinary computers"};
  app.name("muster");
  app.set_version_flag("--version", "muster " MUSTER_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Example:\n  muster run fedavg --set data.partition=dirichlet --set data.alpha=0.1 --rounds 50\n"
      "`muster COMMAND --help` tells more, with an example for each.");

  muster::Outcome outcome;
  muster::add_run_command(app, outcome);
  muster::add_list_command(app, outcome);
  muster::add_show_command(app, outcome);
  muster::add_export_command(app, outcome);
  muster::add_group_command(app, outcome);
  muster::add_data_command(app, outcome);
  muster::add_bench_command(app, outcome);

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "muster: %s; `muster --help` shows what is accepted\n", e.what());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "muster: out of memory\n");
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "muster: %s\n", e.what());
    return 1;
  }
  if (outcome.error) {
    std::fprintf(stderr, "muster: %s\n", outcome.error->message.c_str());
    return outcome.error->code == muster::ErrorCode::kUsage ? 2 : 1;
  }
  return 0;
}
