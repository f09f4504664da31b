// A process that stands for clients: those of a simulated partition, or one with data of its own. It dials the cloud or
// an edge, trains when it is asked to, and comes back when the connection is lost.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "deploy/identity_check.h"
#include "deploy/peer_loop.h"
#include "pki/identity.h"

namespace muster {

struct ClientRunOptions {
  std::vector<std::string> to;  // the cloud or an edge, and where to go if that is gone
  Security security;
  std::vector<ClientRange> clients;  // of the partition that the cloud's recipe makes
  std::string name;                  // instead: of a client with data of its own,
  std::filesystem::path data;        // which are here
  std::filesystem::path state;       // what they remember
  std::vector<std::string> require;  // of the cloud's recipe (recipe/requirement.h)
  std::uint32_t threads = 1;
  std::uint32_t connections = 1;  // that share the clients among them; at most as many as clients
  double patience_s = 60;
  const std::atomic<bool>* interrupt = nullptr;
  SayNote say;
};

// Until the run is over; returns its signature, "" if it was interrupted at the cloud.
[[nodiscard]] Result<std::string> run_client(const ClientRunOptions& options);

// What such a process answers through whatever channel: all but dialling.
[[nodiscard]] Answerer::Options client_answers(const ClientRunOptions& options);

// What a process welcomed to a run must do first: use the same kernels as the cloud, where this machine has them.
void use_kernels(const std::string& name, const SayNote& say);

}  // namespace muster
