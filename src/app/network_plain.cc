// The program without the network: it knows the names of what it cannot do.
#include "app/commands.h"
#include "app/network_summaries.h"

namespace muster {

void add_network_commands(Command program) {
  for (const NetworkSummary& summary : kNetworkSummaries) {
    Command command = program.add_command(summary.name, summary.text);
    command.accept_anything();
    command.set_footer(
        fmt::format("Needs the network, which this program was built without: `./muster {} --help`.", summary.name));
    command.set_action([name = std::string(summary.name)]() -> Status {
      return usage_error(
          "{}: this program was built without the network; use `./muster {} ...`, or muster-net where it is installed",
          name, name);
    });
  }
}

}  // namespace muster
