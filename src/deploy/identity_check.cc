#include "deploy/identity_check.h"

#include <array>

namespace muster {
namespace {

bool on_loopback(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("localhost:") || address.starts_with("[::1]:");
}

// Watches a peer's certificate while its stream lasts.
class Watched final : public ChannelUser {
 public:
  Watched(std::shared_ptr<ChannelUser> user, std::shared_ptr<Channel> channel, std::shared_ptr<TrustStore> trust,
          Identity identity, std::shared_ptr<Doorkeeper::Pass> pass)
      : user_(std::move(user)),
        channel_(std::move(channel)),
        trust_(std::move(trust)),
        identity_(std::move(identity)),
        pass_(std::move(pass)) {}

  void received(v1::Frame frame) override {
    if (refused_) return;
    (void)trust_->reload_if_changed();  // a list that is broken leaves the one before in force
    if (const Status valid = trust_->check_still_valid(identity_, utc_now()); !valid) {
      refused_ = true;
      v1::Frame last;
      last.mutable_refusal()->set_reason(valid.error().message);
      channel_->send({std::move(last)});
      channel_->close();
      user_->closed(valid.error().message);
      return;
    }
    user_->received(std::move(frame));
  }
  void closed(const std::string& why) override {
    pass_.reset();
    if (!refused_) user_->closed(why);
  }

 private:
  std::shared_ptr<ChannelUser> user_;
  std::shared_ptr<Channel> channel_;
  std::shared_ptr<TrustStore> trust_;
  Identity identity_;
  std::shared_ptr<Doorkeeper::Pass> pass_;
  bool refused_ = false;
};

}  // namespace

Result<Security> load_security(const std::filesystem::path& folder, bool insecure, Role role,
                               const std::vector<std::string>& addresses) {
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
  MUSTER_ASSIGN(TrustStore trust, TrustStore::load(folder));
  return Security{.credentials = {.authority = own.authority, .certificate = own.certificate, .key = own.key.text()},
                  .trust = std::make_shared<TrustStore>(std::move(trust)),
                  .identity = own.identity};
}

Result<std::shared_ptr<ChannelUser>> let_in(RemoteClients& clients, const Security& security, bool edges,
                                            const std::string& certificate, const std::string& address,
                                            std::shared_ptr<Channel> channel) {
  // Over plain text a peer is whoever it says it is.
  if (!security.trust)
    return clients.attach(std::move(channel), address, edges, [](const v1::Client&) { return true; });
  (void)security.trust->reload_if_changed();
  MUSTER_ASSIGN(const Identity peer, verify_peer(certificate, *security.trust, utc_now()));
  const std::array accepted{Role::kClient, Role::kEdge};
  MUSTER_TRY(check_role(peer, std::span(accepted).first(edges ? 2 : 1)));
  MUSTER_ASSIGN(std::shared_ptr<Doorkeeper::Pass> pass, security.door->enter(peer, std::chrono::steady_clock::now()));
  const auto allowed = [peer](const v1::Client& client) {
    return client.has_name() ? client.name() == peer.name : peer.stands_for(client.simulated());
  };
  std::shared_ptr<ChannelUser> user = clients.attach(channel, peer.shown(), peer.role == Role::kEdge, allowed);
  return std::shared_ptr<ChannelUser>(
      std::make_shared<Watched>(std::move(user), std::move(channel), security.trust, peer, std::move(pass)));
}

}  // namespace muster
