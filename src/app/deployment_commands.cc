#include "app/deployment_commands.h"

#include <fmt/format.h>

namespace muster {
namespace {

constexpr int kCloudPort = 7400;

// For a shell, whatever the text holds.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string variables(const PlannedDeployment& planned) {
  std::string text = "CLOUD=${CLOUD:-127.0.0.1} CLOUD_PORT=${CLOUD_PORT:-" + std::to_string(kCloudPort) + "}\n";
  for (std::uint32_t e = 0; e < planned.edges; ++e) {
    text += fmt::format("EDGE_{0}=${{EDGE_{0}:-127.0.0.1}} EDGE_{0}_PORT=${{EDGE_{0}_PORT:-{1}}}\n", e,
                        kCloudPort + 1 + static_cast<int>(e));
  }
  return text;
}

std::string certificates(const PlannedDeployment& planned) {
  std::string text = "    \"$MUSTER\" pki init pki\n";
  text += fmt::format("    \"$MUSTER\" pki issue pki --role cloud --name {} --host \"$CLOUD\"\n", kCloudName);
  for (std::uint32_t e = 0; e < planned.edges; ++e) {
    text += fmt::format("    \"$MUSTER\" pki issue pki --role edge --name {} --host \"$EDGE_{}\"\n", edge_name(e), e);
  }
  for (std::uint32_t p = 0; p < planned.clients.size(); ++p) {
    text += fmt::format("    \"$MUSTER\" pki issue pki --role client --name {} --clients {}\n", client_process_name(p),
                        to_string({planned.clients[p]}));
  }
  return text;
}

std::string processes(const PlannedDeployment& planned) {
  std::string text = fmt::format(
      "  cloud)\n    exec \"$MUSTER\" cloud recipe.toml --listen \"0.0.0.0:$CLOUD_PORT\" --pki pki/cloud-{} \"$@\" "
      ";;\n",
      kCloudName);
  for (std::uint32_t e = 0; e < planned.edges; ++e) {
    text += fmt::format(
        "  edge-{0})\n    exec \"$MUSTER\" edge --cloud \"$CLOUD:$CLOUD_PORT\" --listen \"0.0.0.0:$EDGE_{1}_PORT\" "
        "--pki pki/edge-{0} \"$@\" ;;\n",
        edge_name(e), e);
  }
  for (std::uint32_t p = 0; p < planned.clients.size(); ++p) {
    std::string to = "$CLOUD:$CLOUD_PORT";
    if (planned.edges > 0) to = fmt::format("$EDGE_{0}:$EDGE_{0}_PORT,", edge_of(p, planned.edges)) + to;
    const std::string connections =
        planned.connections > 1 ? fmt::format(" --connections {}", planned.connections) : std::string();
    text += fmt::format(
        "  client-{0})\n    exec \"$MUSTER\" client --to \"{1}\" --pki pki/client-{0} --state states/client-{0}{2} "
        "\"$@\" ;;\n",
        client_process_name(p), to, connections);
  }
  return text;
}

}  // namespace

std::string edge_name(std::uint32_t edge) {
  return fmt::format("e{}", edge);
}

std::string client_process_name(std::uint32_t process) {
  return fmt::format("sim-{}", process);
}

std::uint32_t edge_of(std::uint32_t process, std::uint32_t edges) {
  return process % edges;
}

std::string deployment_commands(const PlannedDeployment& planned) {
  std::string who = "cloud";
  for (std::uint32_t e = 0; e < planned.edges; ++e) who += " | edge-" + edge_name(e);
  const auto last = static_cast<std::uint32_t>(planned.clients.size()) - 1;
  who += " | client-" + client_process_name(0);
  if (last > 0) who += " ... client-" + client_process_name(last);
  return fmt::format(
      R"sh(#!/bin/sh
# The commands of a deployment on several machines.
#   1. Set the addresses below, by which the machines call each other, here or in the environment.
#   2. `sh commands.sh pki` makes the certificates in ./pki, on a machine of your own.
#   3. Copy to every machine this file and, into a folder pki beside it, the folder pki/NAME of each process that it
#      runs (of the cloud: pki/cloud-{5}); to the cloud's machine also recipe.toml; pki/ca.key to none.
#   4. `sh commands.sh NAME` on the machine of each process, in any order: {0}
# Words after NAME are further options. All machines must be able to read or generate the recipe's data.
set -eu
cd "$(dirname "$0")"
MUSTER=${{MUSTER:-{1}}} # elsewhere: muster-net, or ./muster of a source tree
{2}
name=${{1:-}}
[ $# -eq 0 ] || shift
case $name in
  pki)
{3}    ;;
{4}  *)
    echo "usage: sh commands.sh pki | {0}" >&2
    exit 2 ;;
esac
)sh",
      who, quoted(planned.program), variables(planned), certificates(planned), processes(planned), kCloudName);
}

}  // namespace muster
