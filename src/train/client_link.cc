#include "train/client_link.h"

namespace muster {

Status ClientLink::train_each(std::span<const TrainTask> tasks, LocalUpdate reuse, const TakeReply& take) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    MUSTER_ASSIGN(TrainReply reply, train(tasks[i], std::move(reuse)));
    reuse = take(i, std::move(reply));
  }
  return {};
}

Status ClientLink::sum_each(SumPhase, std::span<SumAsk>, const TakeSumReply&) {
  return failure("there are no secure sums over this link");
}

}  // namespace muster
