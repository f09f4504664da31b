// To any group, all equally likely; always the same one for a client of a run.
#include "base/random.h"
#include "plan/newcomer_rule.h"

namespace muster {
namespace {

class RandomGroup final : public NewcomerRule {
 public:
  explicit RandomGroup(std::uint64_t seed) : seed_(seed) {}

  const NewcomerEntry& entry() const override { return random_group_entry(); }
  Result<std::vector<Placement>> place(const KnownGroups& groups, std::span<const ClientId> clients,
                                       const RowsView<float>&) const override {
    std::vector<Placement> placements;
    for (const ClientId client : clients) {
      Stream stream({.seed = seed_, .purpose = Purpose::kGrouping, .id = client.value, .part = 3});
      placements.push_back({.group = stream.below(groups.grouping.count())});
    }
    return placements;
  }

 private:
  std::uint64_t seed_;
};

}  // namespace

const NewcomerEntry& random_group_entry() {
  static const NewcomerEntry entry{.name = "random", .summary = "any group, all equally likely"};
  return entry;
}

std::unique_ptr<NewcomerRule> make_random_group(std::uint64_t seed) {
  return std::make_unique<RandomGroup>(seed);
}

}  // namespace muster
