// Oracle: what only a simulation can know of its clients: their true labels, planted clusters, and who attacks. It goes
// into the record and nowhere else: no decision may ask it, and a deployed run has none.
#pragma once

#include <memory>
#include <optional>

#include "base/rows.h"
#include "data/federated_data.h"
#include "engine/client_distances.h"
#include "grouping/quality.h"
#include "solver/attack.h"

namespace muster {

class Oracle {
 public:
  // `data` is borrowed. `attackers`: null where all clients are honest.
  Oracle(const FederatedData& data, std::uint64_t seed, std::shared_ptr<const Attackers> attackers = nullptr);

  struct Judgement {
    GroupQuality quality;
    Rows<std::uint64_t> labels;  // true labels, a row per group; none where these would be very many numbers
  };
  // How even the groups' true labels are; where there are very many groups, of some of them.
  [[nodiscard]] Judgement judge(const Grouping& grouping) const;
  [[nodiscard]] GroupQuality quality(const Grouping& grouping) const { return judge(grouping).quality; }
  // The same of single clients, those with samples; where there are very many, of some of them. Judged when it is first
  // asked for, so not by two threads at once.
  [[nodiscard]] const GroupQuality& client_quality() const;
  // How far the groups are the planted clusters; not set where the data have none, or the groups are very many.
  [[nodiscard]] std::optional<Agreement> truth(const Grouping& grouping) const;

  // Mean distances between two clients of the same planted cluster, and of different ones; NaN where there are none.
  struct Contrast {
    double within = 0;
    double between = 0;
  };
  // Not set where the data have no clusters.
  [[nodiscard]] std::optional<Contrast> contrast(const ClientDistances& distances) const;

  // Who is malicious, and what they do; null where all clients are honest.
  [[nodiscard]] const Attackers* attackers() const { return attackers_.get(); }

 private:
  const FederatedData& data_;
  std::shared_ptr<const Attackers> attackers_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> clusters_;  // of each client; empty if none are planted
  mutable std::optional<GroupQuality> client_quality_;
};

}  // namespace muster
