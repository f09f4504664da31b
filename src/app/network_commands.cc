// The program with the network.
#include "app/network_commands.h"

#include "app/commands.h"

namespace muster {

void add_network_commands(Command program) {
  add_pki_command(program);
}

}  // namespace muster
