// The commands of a deployment on machines of their own, as a shell script: one word for each process, addresses as
// variables on top.
#pragma once

#include <string>
#include <vector>

#include "pki/identity.h"

namespace muster {

struct PlannedDeployment {
  std::string program;  // this one, for whoever tries the script on this machine
  std::uint32_t edges = 0;
  std::vector<ClientRange> clients;  // of each client process
  std::uint32_t connections = 1;     // of each client process
};

// What processes are called: the names in their certificates.
inline constexpr const char* kCloudName = "main";
[[nodiscard]] std::string edge_name(std::uint32_t edge);
[[nodiscard]] std::string client_process_name(std::uint32_t process);

// Of every client process: the edge that it dials first. Precondition: there are edges.
[[nodiscard]] std::uint32_t edge_of(std::uint32_t process, std::uint32_t edges);

// The script wants recipe.toml beside it, and keeps certificates, states and runs there.
[[nodiscard]] std::string deployment_commands(const PlannedDeployment& planned);

}  // namespace muster
