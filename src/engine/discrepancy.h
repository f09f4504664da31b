// Discrepancy: how far the models that a round's participants send are from the model they are merged into, on average
// (FedGroup, Eq. 4, measured right after training). It grows with the difference between clients' data.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/rows.h"

namespace muster {

// Keeps every model of the round: the distances can only be taken when the merged model is known.
class Discrepancy {
 public:
  void reset();
  void add(GroupId group, std::span<const float> model);
  // The mean distance to the merged model of each sender's group, over the first `parameters` numbers of both; nothing
  // if nobody sent anything.
  [[nodiscard]] std::optional<double> mean(const std::function<std::span<const float>(GroupId)>& merged,
                                           std::size_t parameters) const;

 private:
  std::vector<GroupId> groups_;  // of each row
  Rows<float> models_;
};

}  // namespace muster
