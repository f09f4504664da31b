// GroupPieces: the groups of a round, cut into what can be trained anywhere, and put together again. Where members
// train apart a piece is one member, so that few large groups keep everybody busy; else it is a whole group. Answers
// are taken in the order of the pieces, whatever order they finish in.
#pragma once

#include <span>
#include <vector>

#include "train/group_trainer.h"

namespace muster {

class GroupPieces {
 public:
  // `apart`: members of groups that can be divided are pieces of their own. All but `apart` is borrowed.
  GroupPieces(const RoundCall& call, std::span<const GroupTask> tasks, const GroupTrainer& trainer,
              const UpdateSink& sink, CombinedUpdate& combined, bool apart = true);

  [[nodiscard]] std::span<const GroupTask> pieces() const { return cut_ ? std::span(apart_) : tasks_; }
  // The update of the next piece, in order; hands on what is complete.
  void accept(GroupUpdate& update);

 private:
  [[nodiscard]] bool combines(const GroupTask& task) const;

  const RoundCall& call_;
  std::span<const GroupTask> tasks_;
  const GroupTrainer& trainer_;
  const UpdateSink& sink_;
  CombinedUpdate& combined_;
  bool cut_;
  std::vector<GroupTask> apart_;
  std::size_t group_ = 0;  // whose pieces are awaited
  std::size_t seen_ = 0;   // members of it
};

}  // namespace muster
