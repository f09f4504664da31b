// Whom a process that listens lets in: peers whose certificate the authority signed, for the role and the clients that
// the certificate says, as long as it holds.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "deploy/certificate_watch.h"
#include "deploy/doorkeeper.h"
#include "net/listener.h"
#include "pki/credentials.h"
#include "pki/trust_store.h"
#include "wire/remote_clients.h"

namespace muster {

// How a process proves itself and whom it trusts; empty folder: plain text, on loopback only.
struct Security {
  NetCredentials credentials;
  std::shared_ptr<TrustStore> trust;                                  // null: plain text
  std::shared_ptr<Doorkeeper> door = std::make_shared<Doorkeeper>();  // of those that dial it, by certificate
  std::shared_ptr<CertificateWatch> watch;                            // of the same; null: plain text
  Identity identity;
};

// `role`: what the certificate of this process must say. `say`: of what goes wrong with certificates later.
[[nodiscard]] Result<Security> load_security(const std::filesystem::path& folder, bool insecure, Role role,
                                             const std::vector<std::string>& addresses, SayNote say = {});

// What a Listener's attach does: verifies the peer and hands it to `clients`. `edges`: whether edges are taken, too.
// Both are borrowed.
[[nodiscard]] Result<std::shared_ptr<ChannelUser>> let_in(RemoteClients& clients, const Security& security, bool edges,
                                                          const std::string& certificate, const std::string& address,
                                                          std::shared_ptr<Channel> channel);

}  // namespace muster
