// What the stages exchange, as messages and back. What is read comes from a peer: sizes and ranges are checked here,
// and an answer that makes no sense is one of a client that dropped out.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "clients/state_versions.h"
#include "secure/sealed_relay.h"
#include "train/client_link.h"
#include "train/federation.h"
#include "wire/chunks.h"

namespace muster {

// What a client answered to "train this", and whether it has kept a state of it.
struct TrainAnswer {
  TrainReply reply;
  bool remembers = false;
  std::optional<SealedHead> sealed = {};  // the update's model is, and only its size says anything
};

using ChainKeyReply = std::variant<ChainKey, Dropped>;

// What a client answered in one phase of a secure sum, and whether it has kept a state.
struct SummedAnswer {
  SumReply reply;
  bool remembers = false;
};

// A group's update, and the state of each of its members after it, in their order: of those that count, and of those
// that dropped.
struct GroupAnswer {
  GroupUpdate update;
  std::vector<StateVersion> bases;
  std::vector<StateVersion> dropped_bases = {};
  bool lost = false;  // the edge went away before it answered; the group may be tried again elsewhere
};

// A message and the vectors that it names, which go before it.
struct OutgoingReply {
  v1::Reply reply;
  std::vector<std::shared_ptr<const WireVector>> vectors;
};

// Numbers vectors. Thread-safe.
class VectorNumbers {
 public:
  [[nodiscard]] std::shared_ptr<const WireVector> make(std::vector<float> values);

 private:
  std::atomic<std::uint64_t> last_{0};
};

void put(const Memory& memory, v1::Memory& out);
[[nodiscard]] Memory take_memory(const v1::Memory& in);
[[nodiscard]] std::string to_text(const v1::TaskId& id);
// A message of a secure sum as a vector, and back; nothing if the vector is not of the size that is said.
[[nodiscard]] std::vector<float> values_of_bytes(std::span<const std::byte> bytes);
[[nodiscard]] std::optional<std::vector<std::byte>> bytes_of_values(std::span<const float> values, std::uint64_t size);
// What a peer may have had a hand in, as one line that is fit for a terminal and not too long.
[[nodiscard]] std::string told_text(std::string_view text);

void put_answer(TrainAnswer answer, VectorNumbers& numbers, OutgoingReply& out);
void put_answer(SummedAnswer answer, VectorNumbers& numbers, OutgoingReply& out);
void put_answer(ProfileReply reply, VectorNumbers& numbers, OutgoingReply& out);
void put_answer(EvaluateReply reply, VectorNumbers& numbers, OutgoingReply& out);
void put_answer(GroupAnswer answer, VectorNumbers& numbers, OutgoingReply& out);
void put_answer(ChainKeyReply reply, OutgoingReply& out);

// The answers of `client` (or of the members of a group); vectors are taken from `vectors`.
[[nodiscard]] TrainAnswer take_train_answer(const v1::Reply& in, ClientId client, ChunkReader& vectors);
[[nodiscard]] SummedAnswer take_summed_answer(const v1::Reply& in, ClientId client, ChunkReader& vectors);
[[nodiscard]] ProfileReply take_profile_answer(const v1::Reply& in, ClientId client, ChunkReader& vectors);
[[nodiscard]] EvaluateReply take_evaluate_answer(const v1::Reply& in, ClientId client, ChunkReader& vectors);
[[nodiscard]] GroupAnswer take_group_answer(const v1::Reply& in, GroupId group, std::span<const ClientId> members,
                                            ChunkReader& vectors);
[[nodiscard]] ChainKeyReply take_chain_key_answer(const v1::Reply& in, ClientId client);

// What a member is told at its turn in a sealed chain. Taking it fails where sizes are none that a member can have.
void put(const ChainVisit& visit, v1::ChainVisit& out);
[[nodiscard]] std::optional<ChainVisit> take_chain_visit(const v1::ChainVisit& in);

}  // namespace muster
