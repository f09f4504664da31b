#include "engine/discrepancy.h"

#include <cmath>

namespace muster {

void Discrepancy::reset() {
  groups_.clear();
  models_.values.clear();
}

void Discrepancy::add(GroupId group, std::span<const float> model) {
  groups_.push_back(group);
  models_.width = model.size();
  models_.values.insert(models_.values.end(), model.begin(), model.end());
}

std::optional<double> Discrepancy::mean(const std::function<std::span<const float>(GroupId)>& merged,
                                        std::size_t parameters) const {
  if (groups_.empty()) return std::nullopt;
  double sum = 0;
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    const std::span<const float> own = models_.row(i);
    const std::span<const float> centre = merged(groups_[i]);
    double squares = 0;
    for (std::size_t p = 0; p < parameters; ++p) {
      const double difference = double{own[p]} - centre[p];
      squares += difference * difference;
    }
    sum += std::sqrt(squares);
  }
  return sum / static_cast<double>(groups_.size());
}

}  // namespace muster
