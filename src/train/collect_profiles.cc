#include "train/collect_profiles.h"

#include <algorithm>

#include "base/check.h"
#include "grouping/principal_components.h"

namespace muster {
namespace {

// All vectors are in memory at once.
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 30;

// The rows with a profile in the coordinates of their principal components; zeros for the others.
Rows<float> reduced(const Rows<float>& vectors, std::span<const std::uint32_t> missing, double share) {
  const std::uint32_t count = vectors.count();
  Rows<float> present(count - static_cast<std::uint32_t>(missing.size()), vectors.width);
  std::vector<std::uint32_t> from;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!std::binary_search(missing.begin(), missing.end(), i)) from.push_back(i);
  }
  if (from.empty()) return Rows<float>(count, 1);
  if (from.size() == count) return principal_components(vectors, share);
  for (std::uint32_t i = 0; i < from.size(); ++i) {
    std::copy_n(vectors.row(from[i]).data(), vectors.width, present.row(i).data());
  }
  const Rows<float> components = principal_components(present, share);
  Rows<float> result(count, components.width);
  for (std::uint32_t i = 0; i < from.size(); ++i) {
    std::copy_n(components.row(i).data(), components.width, result.row(from[i]).data());
  }
  return result;
}

}  // namespace

Result<CollectedProfiles> collect_profiles(const ProfileOptions& options, const ProfileCall& call,
                                           const Network& network, const FederatedData& data, WorkerPool& pool,
                                           std::span<const std::unique_ptr<ClientLink>> links) {
  MUSTER_CHECK(links.size() == pool.threads(), "{} links, {} threads", links.size(), pool.threads());
  MUSTER_TRY(check_profile(options));
  const ProfileEntry kind = profile_kind(options);
  const SampleView exemplars = data.exemplars();
  if (kind.gives == ProfileGives::kProbabilities && exemplars.size() == 0) {
    return usage_error("profile.kind: \"{}\" needs exemplars at the server, want data.exemplars >= 1", options.kind);
  }
  const auto count = static_cast<std::uint32_t>(call.clients.size());
  MUSTER_ASSIGN(const std::size_t width, profile_width(options, network, call.models.count()));
  if (width * sizeof(float) > kMostBytes / std::max(1u, count)) {
    return usage_error("profile.kind: \"{}\" of {} clients is {} numbers each, want at most {} GiB together",
                       options.kind, count, width, kMostBytes >> 30);
  }

  CollectedProfiles collected;
  ClientProfiles& profiles = collected.profiles;
  profiles.kind = options.kind;
  profiles.clients.assign(call.clients.begin(), call.clients.end());
  profiles.reveals = profile_reveals(options);
  profiles.epsilon = options.epsilon;
  if (kind.gives == ProfileGives::kNothing) return collected;
  if (kind.gives == ProfileGives::kLabels) {
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
                                                                    .round = call.round,
                                                                    .options = &options,
                                                                    .models = call.models,
                                                                    .exemplars = exemplars}));
    const auto* const told = std::get_if<ClientProfile>(&reply);
    // What arrives from a client is not trusted to have the right size.
    if (!told) {
      outcomes[i].dropped = std::get<Dropped>(reply);
    } else if (told->vector.size() != profiles.vectors.width || told->labels.size() != profiles.labels.width) {
      outcomes[i].dropped = Dropped{call.clients[i], DropReason::kMalformed};
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

  const ProfileBytes each = profile_bytes(options, network, call.models.count(), exemplars);
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
  if (options.variance) profiles.vectors = reduced(profiles.vectors, profiles.missing, *options.variance);
  return collected;
}

}  // namespace muster
