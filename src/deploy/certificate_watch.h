// CertificateWatch: a stream lasts no longer than the certificate that it was opened with. Certificates are looked at
// with every frame that comes, and once a second, for peers that say nothing, all of them by one thread, which also
// reads the list of revoked ones again when it has changed.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "deploy/doorkeeper.h"
#include "pki/trust_store.h"
#include "wire/remote_clients.h"

namespace muster {

// Thread-safe. May outlive the peers, and whoever they are for.
class CertificateWatch {
 public:
  // `say`: of a list that cannot be used; the one before stays in force.
  CertificateWatch(std::shared_ptr<TrustStore> trust, SayNote say) : trust_(std::move(trust)), say_(std::move(say)) {}

  void read_list();

  // Whom a verified peer's frames are for, while its certificate holds; then `user` refuses it, with the reason.
  [[nodiscard]] std::shared_ptr<ChannelUser> watch(std::shared_ptr<PeerUser> user, Identity identity,
                                                   std::shared_ptr<Doorkeeper::Pass> pass);

 private:
  class Watched;
  void look_now_and_then(const std::stop_token& stop);

  const std::shared_ptr<TrustStore> trust_;
  const SayNote say_;
  std::mutex mutex_;  // of what is below
  std::condition_variable_any stopped_;
  std::vector<std::weak_ptr<Watched>> all_;
  std::jthread thread_;  // since the first peer came
};

}  // namespace muster
