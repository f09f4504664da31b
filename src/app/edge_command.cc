// `muster edge`: hosts groups between the cloud and their clients.
#include <memory>

#include "app/network_arguments.h"
#include "app/network_commands.h"
#include "app/network_summaries.h"
#include "deploy/edge_run.h"
#include "net/address.h"

namespace muster {
namespace {

struct EdgeArguments {
  std::string cloud;
  std::string listen;
  double patience_s = 60;
  NetworkArguments network;
};

Status run(const EdgeArguments& arguments) {
  MUSTER_TRY(check_address("--cloud", arguments.cloud, false));
  MUSTER_TRY(check_address("--listen", arguments.listen, true));
  EdgeRunOptions options{.cloud = arguments.cloud,
                         .listen = arguments.listen,
                         .patience_s = arguments.patience_s,
                         .interrupt = &arguments.network.begin("edge"),
                         .say = arguments.network.note(),
                         .listening = arguments.network.listening(arguments.listen),
                         .status = arguments.network.status()};
  MUSTER_ASSIGN(options.security, load_security(arguments.network.pki, arguments.network.insecure, Role::kEdge,
                                                {arguments.cloud, arguments.listen}, options.say));
  log_name(options.security.identity.name);
  MUSTER_TRY(run_edge(options));
  return {};
}

}  // namespace

void add_edge_command(Command program) {
  auto arguments = std::make_shared<EdgeArguments>();
  Command command = program.add_command(kEdgeSummary.name, kEdgeSummary.text);
  command.add_option("--cloud", arguments->cloud, "Address of the cloud: host:port").required();
  command.add_option("--listen", arguments->listen, "Address that clients dial: host:port; port 0 is any").required();
  command.add_option("--patience", arguments->patience_s, "Seconds without an answer from the cloud before it gives up")
      .at_least(0)
      .show_default();
  arguments->network.add_to(command, true);
  command.set_footer(
      "Example:\n  muster edge --cloud cloud.example.org:7400 --listen 0.0.0.0:7401 --pki pki/edge-north");
  command.set_action([arguments, command] { return arguments->network.end(run(*arguments), command); });
}

}  // namespace muster
