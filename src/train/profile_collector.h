// ProfileCollector: puts what clients tell together, a row each, and counts what it took. Checks every answer: who told
// something of the wrong size or not finite told nothing.
#pragma once

#include <cstddef>

#include "train/federation.h"

namespace muster {

class ProfileCollector {
 public:
  // Fails if the network or the exemplars lack what the kind needs, or if all vectors together are too large to hold.
  // All are borrowed.
  [[nodiscard]] static Result<ProfileCollector> make(const ProfileKind& kind, const Network& network,
                                                     const SampleView& exemplars, const ProfileRequest& request);

  [[nodiscard]] bool nothing_to_ask() const;
  // The answer of request.clients[index]; each index once.
  void add(std::size_t index, ProfileReply& reply);
  // Who has not answered is missing.
  [[nodiscard]] CollectedProfiles finish() &&;

 private:
  ProfileCollector(const ProfileKind& kind, const Network& network, std::size_t width, ProfileBytes each)
      : kind_(&kind), network_(&network), width_(width), each_(each) {}

  const ProfileKind* kind_;
  const Network* network_;
  std::size_t width_;
  ProfileBytes each_;  // what one client receives and sends
  CollectedProfiles collected_;
};

// Replaces vectors by their coordinates on as many principal components as kind.kept_variance() wants, if it wants any.
// Rows in `missing` (ascending) do not take part and stay zero.
void reduce_vectors(const ProfileKind& kind, Rows<float>& vectors, std::span<const std::uint32_t> missing);

}  // namespace muster
