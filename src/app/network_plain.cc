// The program without the network: it knows the names of what it cannot do.
#include "app/commands.h"
#include "app/network_summaries.h"

namespace muster {

namespace {

// `words`: as they are typed.
void add_missing(Command parent, const NetworkSummary& summary, const std::string& words) {
  Command command = parent.add_command(summary.name, summary.text);
  command.accept_anything();
  command.set_footer(
      fmt::format("Needs the network, which this program was built without: `./muster {} --help`.", words));
  command.set_action([words]() -> Status {
    return usage_error(
        "{}: this program was built without the network; use `./muster {} ...`, or muster-net where it is installed",
        words, words);
  });
}

}  // namespace

void add_network_commands(Command program) {
  for (const NetworkSummary& summary : kNetworkSummaries) add_missing(program, summary, summary.name);
}

void add_network_benches(Command bench) {
  add_missing(bench, kBenchNetworkSummary, std::string("bench ") + kBenchNetworkSummary.name);
}

}  // namespace muster
