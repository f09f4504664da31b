// Channel: the stream of frames between this process and one peer, whatever carries it: gRPC over TLS, or queues
// between threads in tests. Frames arrive in the order in which they were sent, or the channel closes. A vector is sent
// as chunks that are cut when their turn comes, so a model that goes to many peers is in memory once.
#pragma once

#include <muster/v1/federation.pb.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace muster {

// Floats on their way, known by a number that the sender gives once.
struct WireVector {
  std::uint64_t number = 0;
  std::vector<float> values;
};

// A frame, or a whole vector.
struct Outgoing {
  v1::Frame frame;
  std::shared_ptr<const WireVector> vector = {};  // instead of the frame, where it is set
};

// Thread-safe. May outlive the peer: what is sent to a closed channel is dropped.
class Channel {
 public:
  virtual ~Channel() = default;

  // Returns at once.
  virtual void send(Outgoing outgoing) = 0;
  // After what was sent so far, or at once if that takes longer than a few seconds.
  virtual void close() = 0;
  // Reads nothing more from the peer for so long: what it sends waits at its side. Called from received(), where a peer
  // says more than it may; a channel to somebody who is trusted need not do it.
  virtual void pause(std::chrono::milliseconds /*how_long*/) {}
};

// Whoever a channel is for. Calls come one at a time; they may send, but must not wait.
class ChannelUser {
 public:
  virtual ~ChannelUser() = default;

  virtual void received(v1::Frame frame) = 0;
  // Once, and nothing after it. `why`: for people.
  virtual void closed(const std::string& why) = 0;
};

}  // namespace muster
