// The commands of a deployment, one file each, as those in commands.h.
#pragma once

#include "app/argument_parser.h"

namespace muster {

void add_pki_command(Command program);
void add_cloud_command(Command program);
void add_edge_command(Command program);
void add_client_command(Command program);
void add_federate_command(Command program);
void add_bench_network_command(Command bench);

}  // namespace muster
