// How a process that dials stays connected: it dials again when a stream ends, with pauses that grow and differ, until
// the run is over, it is refused, or nobody answered for as long as it is patient.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/net_credentials.h"
#include "wire/answerer.h"

namespace muster {

// Whoever dials is sent a few models at a time, however large.
inline constexpr ChunkReader::Limits kDialerLimits{
    .vector_values = std::uint64_t{1} << 34, .held_values = std::uint64_t{1} << 36, .held_vectors = 1 << 16};

struct PeerLoopOptions {
  std::vector<std::string> addresses;  // tried in turn, the first one first
  NetCredentials credentials;
  double patience_s = 60;  // without an answer from anybody
  const std::atomic<bool>* interrupt = nullptr;
  SayNote say;
};

// Returns the run's signature, "" if it was interrupted there. Fails if it was refused, gave up, or broke.
[[nodiscard]] Result<std::string> stay_connected(Answerer& answerer, const PeerLoopOptions& options);
// Several connections of one process, each by an answerer of its own. If one fails, all are ended.
[[nodiscard]] Result<std::string> stay_connected(std::span<const std::unique_ptr<Answerer>> answerers,
                                                 const PeerLoopOptions& options);

}  // namespace muster
