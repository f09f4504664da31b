// MemberMerge: how the models of a group's members become the group's model (aggregation.in-group). One file decides
// each choice; the catalogue lists them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/merge_report.h"
#include "base/ids.h"

namespace muster {

struct AggregationOptions;

// What all members of one merge have in common. Borrowed until finish().
struct MemberMergeCall {
  std::span<const float> start;  // what they began with, a flat vector
  std::size_t parameters = 0;    // the first of it are trained; running statistics follow
  std::uint32_t round = 0;
  GroupId group;
  std::uint32_t part = 0;  // which of the group's own rounds
};

// Used by one thread. The result depends on the calls and on the order of the models alone.
class MemberMerge {
 public:
  virtual ~MemberMerge() = default;

  virtual void begin(const MemberMergeCall& call) = 0;
  // In member order; whoever dropped is not added. The model is finite and as long as `start`.
  virtual void add(ClientId client, std::span<const float> model, std::uint64_t samples) = 0;
  // Writes the group's model. Precondition: something was added. Places in the report are those of add().
  [[nodiscard]] virtual MergeReport finish(std::span<float> model) = 0;
};

// One choice of aggregation.in-group.
struct InGroupEntry {
  std::string name;
  std::string summary;
  std::vector<std::string> keys = {};  // of [aggregation], that mean something for it
  // It judges models one by one: members send nothing besides, and it sees what each of them sent.
  bool judges = false;
  // With one member it may do something else than take its model.
  bool changes_one = false;
  // Empty for a secure sum, which nobody merges who sees models.
  std::function<std::unique_ptr<MemberMerge>(const AggregationOptions& options, std::uint64_t seed)> make = {};
};
inline constexpr std::string_view kSecureSum = "secure-sum";
// The catalogue, in the order of the documentation.
[[nodiscard]] const std::vector<InGroupEntry>& in_group_choices();
// Null for an unknown name.
[[nodiscard]] const InGroupEntry* find_in_group(std::string_view name);

// One factory per file.
std::unique_ptr<MemberMerge> make_member_mean(bool by_samples);
std::unique_ptr<MemberMerge> make_member_rule(const std::string& rule, const AggregationOptions& options,
                                              std::uint64_t seed);

}  // namespace muster
