// The program with the network.
#include "app/network_commands.h"

#include "app/commands.h"

namespace muster {

void add_network_commands(Command program) {
  add_pki_command(program);
  add_cloud_command(program);
  add_edge_command(program);
  add_client_command(program);
  add_federate_command(program);
}

void add_network_benches(Command bench) {
  add_bench_network_command(bench);
}

}  // namespace muster
