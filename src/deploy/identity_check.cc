#include "deploy/identity_check.h"

#include <array>

namespace muster {
namespace {

bool on_loopback(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("localhost:") || address.starts_with("[::1]:");
}

}  // namespace

Result<Security> load_security(const std::filesystem::path& folder, bool insecure, Role role,
                               const std::vector<std::string>& addresses, SayNote say) {
  if (insecure) {
    if (!folder.empty()) return usage_error("--insecure: does not go with --pki; leave out one of them");
    for (const std::string& address : addresses) {
      if (!on_loopback(address)) {
        return usage_error("--insecure: plain text is for loopback only, not for {}; use --pki DIR", address);
      }
    }
    return Security{};
  }
  if (folder.empty()) {
    return usage_error("--pki: missing; a folder that `muster pki issue --role {}` made (or --insecure, on loopback)",
                       role_name(role));
  }
  MUSTER_ASSIGN(Credentials own, Credentials::load(folder));
  if (own.identity.role != role) {
    return usage_error("--pki {}: the certificate is of {}, want one of role {}", folder.string(), own.identity.shown(),
                       role_name(role));
  }
  MUSTER_ASSIGN(TrustStore loaded, TrustStore::load(folder));
  const auto trust = std::make_shared<TrustStore>(std::move(loaded));
  return Security{.credentials = {.authority = own.authority, .certificate = own.certificate, .key = own.key.text()},
                  .trust = trust,
                  .watch = std::make_shared<CertificateWatch>(trust, std::move(say)),
                  .identity = own.identity};
}

Result<std::shared_ptr<ChannelUser>> let_in(RemoteClients& clients, const Security& security, bool edges,
                                            const std::string& certificate, const std::string& address,
                                            std::shared_ptr<Channel> channel) {
  // Over plain text a peer is whoever it says it is.
  if (!security.trust)
    return std::shared_ptr<ChannelUser>(
        clients.attach(std::move(channel), address, edges, [](const v1::Client&) { return true; }));
  security.watch->read_list();
  MUSTER_ASSIGN(const Identity peer, verify_peer(certificate, *security.trust, utc_now()));
  const std::array accepted{Role::kClient, Role::kEdge};
  MUSTER_TRY(check_role(peer, std::span(accepted).first(edges ? 2 : 1)));
  MUSTER_ASSIGN(std::shared_ptr<Doorkeeper::Pass> pass, security.door->enter(peer, std::chrono::steady_clock::now()));
  const auto allowed = [peer](const v1::Client& client) {
    return client.has_name() ? client.name() == peer.name : peer.stands_for(client.simulated());
  };
  return security.watch->watch(clients.attach(std::move(channel), peer.shown(), peer.role == Role::kEdge, allowed),
                               peer, std::move(pass));
}

}  // namespace muster
