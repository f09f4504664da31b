#include "train/group_pieces.h"

#include <algorithm>

namespace muster {

GroupPieces::GroupPieces(const RoundCall& call, std::span<const GroupTask> tasks, const GroupTrainer& trainer,
                         const UpdateSink& sink, CombinedUpdate& combined, bool apart)
    : call_(call), tasks_(tasks), trainer_(trainer), sink_(sink), combined_(combined) {
  const auto several = [](const GroupTask& task) { return task.members.size() > 1; };
  cut_ = apart && trainer.divisible() && std::ranges::any_of(tasks, several);
  if (!cut_) return;
  for (const GroupTask& task : tasks) {
    for (std::size_t i = 0; i < task.members.size(); ++i) {
      apart_.push_back(task);
      apart_.back().members = task.members.subspan(i, 1);
      if (!task.epochs.empty()) apart_.back().epochs = task.epochs.subspan(i, 1);
    }
  }
}

bool GroupPieces::combines(const GroupTask& task) const {
  return cut_ || (task.members.size() == 1 && trainer_.merges_one() && trainer_.divisible() && !call_.own_models);
}

void GroupPieces::accept(GroupUpdate& update) {
  const GroupTask& task = tasks_[group_];
  const std::span<const float> start = call_.models[task.model];
  if (sink_.member) sink_.member(update, start);
  if (!combines(task)) {
    sink_.group(update);
    ++group_;
    return;
  }
  if (seen_ == 0) combined_.begin(trainer_, call_, task);
  combined_.add(update);
  if (++seen_ < task.members.size()) return;
  sink_.group(combined_.finish());
  ++group_;
  seen_ = 0;
}

}  // namespace muster
