// MergeReport: what a merge did with the models it was given, for the record. Nobody is left out without a reason.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace muster {

enum class FilterReason : std::uint8_t {
  kNone,
  kFar,       // other models are nearer to each other
  kMinority,  // not of the cluster that more than half of the models form
};
inline constexpr std::uint32_t kFilterReasons = static_cast<std::uint32_t>(FilterReason::kMinority) + 1;
// As the record has it; "" = not filtered.
[[nodiscard]] std::string_view name(FilterReason reason);

struct MergeReport {
  struct Filtered {
    std::uint32_t place = 0;  // among the models, in the order in which they were added
    FilterReason reason = FilterReason::kNone;
  };
  std::vector<Filtered> filtered;      // ascending; they contribute nothing
  std::vector<std::uint32_t> clipped;  // places of models whose change was shortened, ascending
  bool fell_back = false;              // too few models for the rule, which did what its documentation says instead
};

}  // namespace muster
