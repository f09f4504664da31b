// Where a client goes that arrives after the groups were formed. What is known of it and of the groups -> a group, and
// how little it fits there. Ties go to the lowest group. Vectors of another width, or not finite, are errors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/rows.h"
#include "grouping/grouping.h"

namespace muster {

struct Placement {
  std::uint32_t group = 0;
  double dissimilarity = 0;
};

// The mean of each group's rows, every member counting alike.
[[nodiscard]] Rows<float> group_means(const RowsView<float>& vectors, const Grouping& grouping);

// The groups' update directions as they were when the groups were formed.
class GroupDirections {
 public:
  // A direction and the number of members of each group, at least one.
  [[nodiscard]] static Result<GroupDirections> make(const RowsView<float>& directions,
                                                    std::span<const std::uint32_t> sizes);

  // The group with the least (1 - cosine) / 2 between its direction and the newcomer's update (FedGroup). A zero update
  // has no direction: it goes to the largest group, at 1/2. A group whose direction is zero is at 1/2 from everyone.
  [[nodiscard]] Result<Placement> place(std::span<const float> update) const;

 private:
  Rows<float> units_;  // length 1, or 0
  std::uint32_t largest_ = 0;
};

// The row of `heads` that is nearest in L2, e.g. to a newcomer's last layer; its distance.
[[nodiscard]] Result<Placement> nearest_head(const RowsView<float>& heads, std::span<const float> head);

// The model with the smallest loss on the newcomer's data; that loss. A loss that is not finite counts as +infinity: if
// none is finite, the answer is group 0 at +infinity. Fails only if there are no losses.
[[nodiscard]] Result<Placement> smallest_loss(std::span<const float> losses);

}  // namespace muster
