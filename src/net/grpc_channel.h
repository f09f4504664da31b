// A Channel over one gRPC stream, for both ends: what is sent waits in a queue, vectors are cut into chunks when their
// turn comes, and one frame is on its way at a time.
#pragma once

#include <deque>
#include <mutex>

#include "wire/channel.h"

namespace muster {

// What a stream's end can do, called with the channel's lock held.
class StreamEnd {
 public:
  virtual ~StreamEnd() = default;
  virtual void start_write(const v1::Frame& frame) = 0;
  // Everything has been written.
  virtual void start_close() = 0;
  // The peer does not take what it is sent: the stream breaks.
  virtual void abort() = 0;
};

class GrpcChannel final : public Channel {
 public:
  void send(Outgoing outgoing) override;
  void close() override;
  void pause(std::chrono::milliseconds how_long) override;

  // The stream is there: what waits is written. `end` is borrowed until detach().
  void attach(StreamEnd& end);
  // The frame that was being written is.
  void wrote();
  // What was being written did not arrive, and nothing will: closes.
  void broke();
  // The stream is gone.
  void detach();
  // How long nothing is to be read, since pause() was last called; 0 after that.
  [[nodiscard]] std::chrono::milliseconds take_pause();

 private:
  void write_next();

  std::mutex mutex_;
  StreamEnd* end_ = nullptr;
  std::deque<Outgoing> queue_;
  std::size_t offset_ = 0;  // of the vector that is first in the queue
  v1::Frame frame_;         // on its way
  bool writing_ = false;
  bool closing_ = false;
  bool gone_ = false;
  std::chrono::milliseconds pause_{0};
};

// Arguments of both ends: limits, and pings that find out within seconds that a peer is gone.
inline constexpr int kMostFrameBytes = 4 << 20;
inline constexpr std::size_t kMostWaiting = 1 << 16;  // frames for a peer that does not read
inline constexpr int kPingEveryMs = 3000;
inline constexpr int kPingTimeoutMs = 5000;

}  // namespace muster
