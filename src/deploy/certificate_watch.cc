#include "deploy/certificate_watch.h"

#include <chrono>
#include <utility>

namespace muster {
namespace {

constexpr std::chrono::seconds kEvery{1};

}  // namespace

class CertificateWatch::Watched final : public ChannelUser {
 public:
  Watched(std::shared_ptr<PeerUser> user, std::shared_ptr<TrustStore> trust, Identity identity,
          std::shared_ptr<Doorkeeper::Pass> pass)
      : user_(std::move(user)), trust_(std::move(trust)), identity_(std::move(identity)), pass_(std::move(pass)) {}

  void received(v1::Frame frame) override {
    const std::lock_guard lock(mutex_);
    if (holds()) user_->received(std::move(frame));
  }
  void closed(const std::string& why) override {
    const std::lock_guard lock(mutex_);
    pass_.reset();
    if (!std::exchange(over_, true)) user_->closed(why);
  }
  void look() {
    const std::lock_guard lock(mutex_);
    (void)holds();
  }

 private:
  // With the lock held.
  bool holds() {
    if (over_) return false;
    const Status valid = trust_->check_still_valid(identity_, utc_now());
    if (valid) return true;
    over_ = true;
    user_->refuse(valid.error().message, false);
    return false;
  }

  const std::shared_ptr<PeerUser> user_;
  const std::shared_ptr<TrustStore> trust_;
  const Identity identity_;
  std::mutex mutex_;  // calls of the user come one at a time, also those of the watch
  std::shared_ptr<Doorkeeper::Pass> pass_;
  bool over_ = false;
};

void CertificateWatch::read_list() {
  const Result<bool> read = trust_->reload_if_changed();
  if (!read && say_) say_({.line = read.error().message + "; the list before it stays in force"});
}

std::shared_ptr<ChannelUser> CertificateWatch::watch(std::shared_ptr<PeerUser> user, Identity identity,
                                                     std::shared_ptr<Doorkeeper::Pass> pass) {
  auto watched = std::make_shared<Watched>(std::move(user), trust_, std::move(identity), std::move(pass));
  const std::lock_guard lock(mutex_);
  all_.push_back(watched);
  if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { look_now_and_then(stop); });
  return watched;
}

void CertificateWatch::look_now_and_then(const std::stop_token& stop) {
  while (true) {
    std::vector<std::shared_ptr<Watched>> present;
    {
      std::unique_lock lock(mutex_);
      if (stopped_.wait_for(lock, stop, kEvery, [&] { return stop.stop_requested(); })) return;
      std::erase_if(all_, [&](const std::weak_ptr<Watched>& one) {
        const std::shared_ptr<Watched> watched = one.lock();
        if (watched) present.push_back(watched);
        return !watched;
      });
    }
    read_list();
    for (const std::shared_ptr<Watched>& one : present) one->look();
  }
}

}  // namespace muster
