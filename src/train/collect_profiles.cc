#include "train/collect_profiles.h"

#include <algorithm>

#include "base/check.h"
#include "grouping/principal_components.h"

namespace muster {
namespace {

// All vectors are in memory at once.
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 30;

}  // namespace

void reduce_vectors(const ProfileKind& kind, Rows<float>& vectors, std::span<const std::uint32_t> missing) {
  if (!kind.kept_variance()) return;
  const std::uint32_t count = vectors.count();
  std::vector<std::uint32_t> from;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!std::binary_search(missing.begin(), missing.end(), i)) from.push_back(i);
  }
  if (from.size() == count && count > 0) {
    vectors = principal_components(vectors, *kind.kept_variance());
    return;
  }
  Rows<float> present(static_cast<std::uint32_t>(from.size()), vectors.width);
  for (std::uint32_t i = 0; i < from.size(); ++i) {
    std::copy_n(vectors.row(from[i]).data(), vectors.width, present.row(i).data());
  }
  const Rows<float> components = principal_components(present, *kind.kept_variance());
  vectors = Rows<float>(count, std::max<std::size_t>(1, components.width));
  for (std::uint32_t i = 0; i < from.size(); ++i) {
    std::copy_n(components.row(i).data(), components.width, vectors.row(from[i]).data());
  }
}

Result<CollectedProfiles> collect_profiles(const ProfileKind& kind, const ProfileCall& call, const Network& network,
                                           const FederatedData& data, WorkerPool& pool,
                                           std::span<const std::unique_ptr<ClientLink>> links) {
  MUSTER_CHECK(links.size() == pool.threads(), "{} links, {} threads", links.size(), pool.threads());
  const ProfileEntry& entry = kind.entry();
  const SampleView exemplars = data.exemplars();
  if (entry.exemplars && exemplars.size() == 0) {
    return usage_error("profile.kind: \"{}\" needs exemplars at the server, want data.exemplars >= 1", entry.name);
  }
  const auto count = static_cast<std::uint32_t>(call.clients.size());
  MUSTER_ASSIGN(const std::size_t width, kind.width(network, call.models.count()));
  if (width > kMostBytes / sizeof(float) / std::max(1u, count)) {
    return usage_error("profile.kind: \"{}\" is {} numbers of each of {} clients, want at most {} GiB together",
                       entry.name, width, count, kMostBytes >> 30);
  }

  CollectedProfiles collected;
  ClientProfiles& profiles = collected.profiles;
  profiles.kind = entry.name;
  profiles.clients.assign(call.clients.begin(), call.clients.end());
  profiles.reveals = kind.reveals();
  profiles.epsilon = kind.epsilon();
  if (entry.gives == ProfileGives::kNothing) return collected;
  if (entry.gives == ProfileGives::kLabels) {
    profiles.labels = Rows<std::uint32_t>(count, network.classes());
  } else {
    profiles.vectors = Rows<float>(count, width);
  }

  struct Outcome {
    std::optional<Dropped> dropped;
    std::uint64_t trained = 0;
    std::uint64_t evaluated = 0;
  };
  std::vector<Outcome> outcomes(count);
  MUSTER_TRY(pool.run(count, [&](std::uint32_t worker, std::uint32_t i) -> Status {
    MUSTER_ASSIGN(const ProfileReply reply, links[worker]->profile({.client = call.clients[i],
                                                                    .kind = entry.name,
                                                                    .round = call.round,
                                                                    .models = call.models,
                                                                    .exemplars = exemplars}));
    const auto* const told = std::get_if<ClientProfile>(&reply);
    // What arrives from a client is not trusted.
    if (!told) {
      outcomes[i].dropped = Dropped{call.clients[i], std::get<Dropped>(reply).reason};
    } else if (const auto reason = refuse(entry, *told, width, network.classes())) {
      outcomes[i].dropped = Dropped{call.clients[i], *reason};
    } else {
      if (profiles.vectors.width > 0)
        std::copy(told->vector.begin(), told->vector.end(), profiles.vectors.row(i).begin());
      if (profiles.labels.width > 0)
        std::copy(told->labels.begin(), told->labels.end(), profiles.labels.row(i).begin());
      outcomes[i].trained = told->samples_trained;
      outcomes[i].evaluated = told->samples_evaluated;
    }
    return {};
  }));

  const ProfileBytes each = kind.bytes(network, call.models.count(), exemplars);
  for (std::uint32_t i = 0; i < count; ++i) {
    profiles.bytes_down += each.down;
    if (outcomes[i].dropped) {
      profiles.missing.push_back(i);
      collected.dropped.push_back(*outcomes[i].dropped);
      continue;
    }
    profiles.bytes_up += each.up;
    collected.samples_trained += outcomes[i].trained;
    // Per multiply-add of the forward pass: 6 operations to train on a sample, 2 to evaluate one.
    const double flops =
        static_cast<double>(network.forward_macs()) *
        (6.0 * static_cast<double>(outcomes[i].trained) + 2.0 * static_cast<double>(outcomes[i].evaluated));
    collected.slowest_flops = std::max(collected.slowest_flops, flops);
  }
  reduce_vectors(kind, profiles.vectors, profiles.missing);
  return collected;
}

}  // namespace muster
