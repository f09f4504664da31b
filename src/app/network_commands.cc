// The program with the network.
#include "app/commands.h"

namespace muster {

void add_network_commands(Command) {}

}  // namespace muster
