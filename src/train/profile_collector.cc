#include "train/profile_collector.h"

#include <algorithm>

#include "base/check.h"
#include "grouping/principal_components.h"
#include "solver/training_flops.h"

namespace muster {
namespace {

// All vectors are in memory at once.
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 30;

}  // namespace

void reduce_vectors(const ProfileKind& kind, Rows<float>& vectors, std::span<const std::uint32_t> missing) {
  const std::optional<double> share = kind.kept_variance();
  if (!share || vectors.values.empty()) return;
  const std::uint32_t count = vectors.count();
  if (missing.empty()) {
    vectors = principal_components(vectors, *share);
    return;
  }
  std::vector<std::uint32_t> from;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!std::ranges::binary_search(missing, i)) from.push_back(i);
  }
  Rows<float> present(static_cast<std::uint32_t>(from.size()), vectors.width);
  for (std::uint32_t i = 0; i < from.size(); ++i) std::ranges::copy(vectors.row(from[i]), present.row(i).begin());
  const Rows<float> components = principal_components(present, *share);
  vectors = Rows<float>(count, std::max<std::size_t>(1, components.width));
  for (std::uint32_t i = 0; i < from.size(); ++i) std::ranges::copy(components.row(i), vectors.row(from[i]).begin());
}

Result<ProfileCollector> ProfileCollector::make(const ProfileKind& kind, const Network& network,
                                                const SampleView& exemplars, const ProfileRequest& request) {
  const ProfileEntry& entry = kind.entry();
  if (entry.exemplars && exemplars.size() == 0) {
    return usage_error("profile.kind: \"{}\" needs exemplars at the server, want data.exemplars >= 1", entry.name);
  }
  const auto count = static_cast<std::uint32_t>(request.clients.size());
  MUSTER_ASSIGN(const std::size_t width, kind.width(network, request.models.count()));
  if (width > kMostBytes / sizeof(float) / std::max(1u, count)) {
    return usage_error("profile.kind: \"{}\" is {} numbers of each of {} clients, want at most {} GiB together",
                       entry.name, width, count, kMostBytes >> 30);
  }
  ProfileCollector made(kind, network, width, kind.bytes(network, request.models.count(), exemplars));
  ClientProfiles& profiles = made.collected_.profiles;
  profiles.kind = entry.name;
  profiles.clients.assign(request.clients.begin(), request.clients.end());
  profiles.reveals = kind.reveals();
  profiles.epsilon = kind.epsilon();
  if (entry.gives == ProfileGives::kLabels) profiles.labels = Rows<std::uint32_t>(count, network.classes());
  if (width > 0) profiles.vectors = Rows<float>(count, width);
  return made;
}

bool ProfileCollector::nothing_to_ask() const {
  return kind_->entry().gives == ProfileGives::kNothing;
}

void ProfileCollector::add(std::size_t index, ProfileReply& reply) {
  ClientProfiles& profiles = collected_.profiles;
  const auto row = static_cast<std::uint32_t>(index);
  profiles.bytes_down += each_.down;
  const auto drop = [&](DropReason reason) {
    profiles.missing.push_back(row);
    collected_.dropped.push_back({profiles.clients[index], reason});
  };
  const auto* const told = std::get_if<ClientProfile>(&reply);
  if (!told) return drop(std::get<Dropped>(reply).reason);
  if (const auto fault = refuse(kind_->entry(), *told, width_, network_->classes())) return drop(*fault);
  if (!profiles.vectors.values.empty()) std::ranges::copy(told->vector, profiles.vectors.row(row).begin());
  if (!profiles.labels.values.empty()) std::ranges::copy(told->labels, profiles.labels.row(row).begin());
  profiles.bytes_up += each_.up;
  collected_.samples_trained += told->samples_trained;
  // 2 operations per multiply-add to evaluate a sample.
  const double flops =
      training_flops(*network_) * static_cast<double>(told->samples_trained) +
      2.0 * static_cast<double>(network_->forward_macs()) * static_cast<double>(told->samples_evaluated);
  collected_.slowest_flops = std::max(collected_.slowest_flops, flops);
}

CollectedProfiles ProfileCollector::finish() && {
  reduce_vectors(*kind_, collected_.profiles.vectors, collected_.profiles.missing);
  return std::move(collected_);
}

}  // namespace muster
