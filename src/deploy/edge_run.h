// An edge: dials the cloud, takes the clients that dial it, hosts the groups whose members are all here and passes on
// what the cloud asks of single ones.
#pragma once

#include <string>
#include <vector>

#include "deploy/identity_check.h"
#include "deploy/peer_loop.h"
#include "deploy/status_page.h"

namespace muster {

struct EdgeRunOptions {
  std::string cloud;
  std::string listen;
  Security security;
  double patience_s = 60;
  const std::atomic<bool>* interrupt = nullptr;
  SayNote say;
  std::function<void(int port)> listening;  // called once clients can dial
  StatusPageOptions status;
};

// What an edge makes of the clients that dial it, and what it answers the cloud: all but dialling and listening.
[[nodiscard]] RemoteClients::Admit edge_admission();
[[nodiscard]] Answerer::Options edge_answers(RemoteClients& clients, const Security& security, SayNote say);

// Until the run is over; returns its signature, "" if it was interrupted at the cloud.
[[nodiscard]] Result<std::string> run_edge(const EdgeRunOptions& options);

}  // namespace muster
