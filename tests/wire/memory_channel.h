// A pair of Channels between two ChannelUsers of this process: frames are written, carried by a thread, and parsed, as
// over a network. The test may cut the line, or look at every frame on its way.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "wire/chunks.h"

namespace muster {

class MemoryLine {
 public:
  // What becomes of a frame: true, it goes on (perhaps changed); false, it is lost and the line with it.
  using Tap = std::function<bool(v1::Frame& frame, bool up)>;
  // What arrives instead of a frame, as it is written: nothing, something else, several. What cannot be read breaks the
  // line, as it breaks a stream of gRPC.
  using Mangle = std::function<std::vector<std::string>(std::string bytes, bool up)>;
  using Attach = std::function<std::shared_ptr<ChannelUser>(std::shared_ptr<Channel>)>;

  // `dialler` and `listener` give the users of the two ends.
  MemoryLine(const Attach& dialler, const Attach& listener, Tap tap = {}, Mangle mangle = {})
      : tap_(std::move(tap)), mangle_(std::move(mangle)) {
    listener_.user = listener(listener_.channel = std::make_shared<End>(*this, listener_));
    dialler_.user = dialler(dialler_.channel = std::make_shared<End>(*this, dialler_));
    up_ = std::thread([this] { carry(dialler_, listener_, true); });
    down_ = std::thread([this] { carry(listener_, dialler_, false); });
  }
  ~MemoryLine() {
    cut();
    up_.join();
    down_.join();
  }
  MemoryLine(const MemoryLine&) = delete;
  MemoryLine& operator=(const MemoryLine&) = delete;

  // At once; what is on its way is lost.
  void cut() {
    const std::lock_guard lock(mutex_);
    cut_ = true;
    changed_.notify_all();
  }

 private:
  struct Side {
    std::shared_ptr<Channel> channel;
    std::shared_ptr<ChannelUser> user;
    std::deque<Outgoing> queue;
    bool closing = false;
    std::chrono::milliseconds pause{0};  // before more is read from the other side
  };

  class End final : public Channel {
   public:
    End(MemoryLine& line, Side& side) : line_(&line), side_(&side) {}
    void send(Outgoing outgoing) override {
      const std::lock_guard lock(own_);
      if (!line_) return;
      const std::lock_guard inner(line_->mutex_);
      if (!side_->closing) side_->queue.push_back(std::move(outgoing));
      line_->changed_.notify_all();
    }
    void close() override {
      const std::lock_guard lock(own_);
      if (!line_) return;
      const std::lock_guard inner(line_->mutex_);
      side_->closing = true;
      line_->changed_.notify_all();
    }
    void pause(std::chrono::milliseconds how_long) override {
      const std::lock_guard lock(own_);
      if (!line_) return;
      const std::lock_guard inner(line_->mutex_);
      side_->pause = how_long;
    }
    void detach() {
      const std::lock_guard lock(own_);
      line_ = nullptr;
    }

   private:
    std::mutex own_;
    MemoryLine* line_;
    Side* side_;
  };

  bool pass(v1::Frame frame, Side& to, bool up) {
    if (tap_ && !tap_(frame, up)) return false;
    std::string bytes = frame.SerializeAsString();
    for (const std::string& arrived : mangle_ ? mangle_(std::move(bytes), up) : std::vector{std::move(bytes)}) {
      v1::Frame parsed;
      if (!parsed.ParseFromString(arrived)) return false;
      to.user->received(std::move(parsed));
    }
    return true;
  }

  void carry(Side& from, Side& to, bool up) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return cut_ || !from.queue.empty() || from.closing; });
      if (cut_ || from.queue.empty()) break;
      Outgoing next = std::move(from.queue.front());
      from.queue.pop_front();
      lock.unlock();
      bool whole = true;
      if (next.vector) {
        std::size_t offset = 0;
        do {
          v1::Frame chunk = chunk_of(*next.vector, offset);
          offset += chunk.chunk().values().size() / sizeof(float);
          whole = pass(std::move(chunk), to, up);
        } while (whole && offset < next.vector->values.size());
      } else {
        whole = pass(std::move(next.frame), to, up);
      }
      lock.lock();
      if (!whole) break;
      const auto pause = std::exchange(to.pause, std::chrono::milliseconds(0));
      if (pause.count() > 0) changed_.wait_for(lock, pause, [&] { return cut_; });
    }
    cut_ = true;
    changed_.notify_all();
    lock.unlock();
    static_cast<End&>(*to.channel).detach();
    to.user->closed("the line was cut");
  }

  Tap tap_;
  Mangle mangle_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Side dialler_;
  Side listener_;
  bool cut_ = false;
  std::thread up_;
  std::thread down_;
};

}  // namespace muster
