#include "wire/remote_peer.h"

#include <utility>

namespace muster {
namespace {

// What anybody may send without being asked: a Hello, what an edge tells of its clients, replies that it had kept.
constexpr Allowance::Amount kUnasked{.frames = 1000, .bytes = 16 << 20};
constexpr Allowance::Amount kUnaskedPerSecond{.frames = 100, .bytes = 1 << 20};

}  // namespace

RemoteClients::Peer::Peer(RemoteClients& owner, std::shared_ptr<Channel> channel, std::string name, bool edge,
                          Allowed allowed)
    : owner_(owner),
      channel_(std::move(channel)),
      name_(std::move(name)),
      edge_(edge),
      allowed_(std::move(allowed)),
      allowance_(kUnasked, kUnaskedPerSecond, std::chrono::steady_clock::now()) {}

void RemoteClients::Peer::received(v1::Frame frame) {
  const std::shared_ptr<Peer> self = shared_from_this();
  if (!keeps_its_pace(frame)) return refuse("its first frame is not a Hello", false);
  switch (frame.body_case()) {
    case v1::Frame::kHello:
      return owner_.take_hello(self, frame.hello());
    case v1::Frame::kPresence:
      return owner_.take_presence(self, frame.presence());
    case v1::Frame::kReply:
      return owner_.take_reply(self, frame.reply());
    case v1::Frame::kChunk: {
      Status status;
      {
        const std::lock_guard lock(owner_.mutex_);
        if (!reader_ || gone_) return;  // before the run, or after a refusal
        owner_.moved_.up += frame.chunk().values().size();
        status = reader_->add(frame.chunk());
      }
      if (!status) refuse(status.error().message, true);
      return;
    }
    case v1::Frame::kRefusal:
      owner_.say({.line = fmt::format("{}: {}", name_, frame.refusal().reason()), .peer = name_});
      return channel_->close();
    default:
      refuse("a frame that is not expected here", false);
  }
}

bool RemoteClients::Peer::keeps_its_pace(const v1::Frame& frame) {
  bool told = true;
  std::chrono::milliseconds owed;
  {
    const std::lock_guard lock(owner_.mutex_);
    if (!greeted_ && !frame.has_hello() && !frame.has_refusal()) return gone_;
    owed = allowance_.spend(frame.ByteSizeLong(), std::chrono::steady_clock::now());
    if (owed.count() > 0) told = std::exchange(slowed_, true);
  }
  if (owed.count() > 0) channel_->pause(owed);
  if (!told) {
    owner_.say(
        {.line = fmt::format("{} sends more than it was asked for, and is read more slowly", name_), .peer = name_});
  }
  return true;
}

void RemoteClients::Peer::refuse(const std::string& reason, bool again) {
  owner_.say({.line = fmt::format("{} is refused: {}", name_, reason), .peer = name_});
  v1::Frame frame;
  frame.mutable_refusal()->set_reason(reason);
  frame.mutable_refusal()->set_again(again);
  channel_->send({std::move(frame)});
  channel_->close();
  owner_.leave(*this, reason);
}

}  // namespace muster
