// Asks clients for their profiles, several at a time, and puts the answers together. The result depends neither on the
// number of threads nor on the order in which clients answer.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "train/client_link.h"
#include "train/worker_pool.h"

namespace muster {

// Who is asked, when, and with which models. Borrowed for the call.
struct ProfileCall {
  std::span<const ClientId> clients;
  std::uint32_t round = 1;  // the round that the groups are formed for, from 1
  RowsView<float> models;   // flat vectors, a row each: one to start from, or those whose losses are asked
};

struct CollectedProfiles {
  ClientProfiles profiles;
  std::vector<Dropped> dropped;  // clients without a profile, in the order asked
  std::uint64_t samples_trained = 0;
  double slowest_flops = 0;  // of the client that had most to compute
};

// `links`: one per worker of the pool, to clients that tell this kind. Rows come in the order of call.clients; any of
// them may vanish, also all. A client whose answer refuse() would refuse is dropped. Vectors are reduced where the kind
// says so. Fails if the network or the data lack what the kind needs, or if all vectors together are too large.
// Precondition: call.models has network.size() columns, and a row if the kind needs one.
[[nodiscard]] Result<CollectedProfiles> collect_profiles(const ProfileKind& kind, const ProfileCall& call,
                                                         const Network& network, const FederatedData& data,
                                                         WorkerPool& pool,
                                                         std::span<const std::unique_ptr<ClientLink>> links);

// Replaces vectors by their coordinates on as many principal components as kind.kept_variance() wants, if it wants any.
// Rows in `missing` (ascending) do not take part and stay zero.
void reduce_vectors(const ProfileKind& kind, Rows<float>& vectors, std::span<const std::uint32_t> missing);

}  // namespace muster
