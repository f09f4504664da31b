#include "engine/discrepancy.h"

#include <cmath>

namespace muster {

void Discrepancy::prepare(RoundTasks&) {
  groups_.clear();
  models_.values.clear();
}

void Discrepancy::member(const GroupUpdate& update, std::span<const float>) {
  if (update.members.empty()) return;
  groups_.push_back(update.group);
  models_.width = update.model.size();
  models_.values.insert(models_.values.end(), update.model.begin(), update.model.end());
}

void Discrepancy::end(const Models& models, RoundRecord& record) {
  if (groups_.empty()) return;
  double sum = 0;
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    const std::span<const float> own = models_.row(i);
    const std::span<const float> centre = models.of(groups_[i]);
    double squares = 0;
    for (std::size_t p = 0; p < parameters_; ++p) {
      const double difference = double{own[p]} - centre[p];
      squares += difference * difference;
    }
    sum += std::sqrt(squares);
  }
  record.discrepancy = sum / static_cast<double>(groups_.size());
}

}  // namespace muster
