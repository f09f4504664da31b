// `muster client`: takes part in a deployment.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "app/network_arguments.h"
#include "app/network_commands.h"
#include "app/network_summaries.h"
#include "deploy/client_run.h"
#include "net/address.h"
#include "recipe/requirement.h"

namespace muster {
namespace {

struct ClientArguments {
  std::string to;
  std::string clients;
  std::string data;
  std::string name;
  std::string state;
  std::vector<std::string> require;
  std::uint32_t threads = 1;
  std::uint32_t connections = 1;
  double patience_s = 60;
  NetworkArguments network;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::string part;
  for (std::istringstream in(list); std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

Status run(const ClientArguments& arguments) {
  ClientRunOptions options{.to = split(arguments.to),
                           .state = arguments.state,
                           .require = arguments.require,
                           .threads = arguments.threads,
                           .connections = arguments.connections,
                           .patience_s = arguments.patience_s,
                           .interrupt = &arguments.network.begin("client"),
                           .say = arguments.network.note()};
  if (options.to.empty()) return usage_error("--to: empty, want host:port");
  for (const std::string& address : options.to) MUSTER_TRY(check_address("--to", address, false));
  for (const std::string& wanted : arguments.require) MUSTER_TRY(check_requirement(wanted));
  MUSTER_ASSIGN(options.security,
                load_security(arguments.network.pki, arguments.network.insecure, Role::kClient, options.to));
  const std::string certified = options.security.identity.name;
  log_name(certified.empty() ? arguments.name : certified);
  if (!arguments.data.empty()) {
    if (!arguments.clients.empty()) {
      return usage_error("--data: a client with data of its own is one; it does not go with --clients");
    }
    if (!certified.empty() && !arguments.name.empty() && arguments.name != certified) {
      return usage_error("--name: {}, but the certificate is of {}", arguments.name, certified);
    }
    options.name = certified.empty() ? arguments.name : certified;
    options.data = arguments.data;
    if (options.name.empty()) return usage_error("--name: missing; what this client is called, without a certificate");
    MUSTER_TRY(check_name(options.name));
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(options.data, ignored)) {
      return usage_error("--data: {}: no such file", arguments.data);
    }
  } else if (!arguments.name.empty()) {
    return usage_error("--name: is for a client with data of its own; want --data FILE");
  } else if (!arguments.clients.empty()) {
    MUSTER_ASSIGN(options.clients, parse_client_ranges(arguments.clients));
  } else {
    options.clients = options.security.identity.clients;
  }
  if (options.clients.empty() && options.data.empty()) {
    return usage_error(
        "--data: missing; this client's own CSV or npz (or --clients, e.g. 0-49: clients of the recipe's partition "
        "that "
        "this process stands for)");
  }
  std::uint64_t count = options.data.empty() ? 0 : 1;
  for (const ClientRange& range : options.clients) count += std::uint64_t{range.last} - range.first + 1;
  if (arguments.connections > std::max<std::uint64_t>(count, 1)) {
    return usage_error("--connections: {}, want at most {}, as many as this process has clients", arguments.connections,
                       count);
  }
  MUSTER_ASSIGN(const std::string signature, run_client(options));
  if (options.say) {
    options.say({signature.empty() ? "the cloud has stopped, and may go on later" : "the run is over: " + signature});
  }
  return {};
}

}  // namespace

void add_client_command(Command program) {
  auto arguments = std::make_shared<ClientArguments>();
  Command command = program.add_command(kClientSummary.name, kClientSummary.text);
  command
      .add_option("--to", arguments->to,
                  "Address of the cloud or an edge, and of others to go to if that is gone: host:port,...")
      .required();
  command.add_option("--clients", arguments->clients,
                     "Clients of the recipe's partition that this process stands for, e.g. 0-49,60; default: those of "
                     "its certificate");
  command.add_option("--data", arguments->data,
                     "This client's own CSV or npz file, read as the cloud's recipe says; samples stay here");
  command.add_option("--name", arguments->name, "Name of a client with --data; default: that of its certificate");
  command.add_option("--state", arguments->state,
                     "Folder for what clients remember from round to round; default: in memory only");
  command
      .add_option("--require", arguments->require,
                  "section.key=value: takes part only in runs whose recipe says so, repeatable; e.g. "
                  "aggregation.in-group=secure-sum")
      .one_at_a_time();
  command.add_option("--threads", arguments->threads, "How many clients train at a time")
      .between(1, 1024)
      .show_default();
  command.add_option("--connections", arguments->connections, "Connections that share the clients among them")
      .between(1, 1000)
      .show_default();
  command.add_option("--patience", arguments->patience_s, "Seconds without an answer before it gives up")
      .at_least(0)
      .show_default();
  arguments->network.add_to(command, false);
  command.set_footer(
      "Examples:\n"
      "  muster client --to cloud.example.org:7400 --pki pki/client-graz --data graz.csv --state state\n"
      "  muster client --to edge.example.org:7401,cloud.example.org:7400 --pki pki/client-sim-0 --state state");
  command.set_action([arguments, command] { return arguments->network.end(run(*arguments), command); });
}

}  // namespace muster
