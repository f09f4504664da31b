// What a client does when it is asked for its profile: count, train a little, or evaluate. In: a task; out: what it
// tells, or the reason why it tells nothing.
#pragma once

#include <variant>

#include "profile/profile.h"
#include "solver/local_solver.h"

namespace muster {

struct ProfileTask {
  ClientId client;
  std::uint32_t round = 1;                  // before which the client is asked: decides rates and draws
  const ProfileOptions* options = nullptr;  // borrowed
  RowsView<float> models;  // flat vectors, a row each: the start of the kinds that train, or what losses are asked of
  SampleView exemplars;    // for confidence-vector
  double work = 1;         // share of the wanted training, for stragglers
};

using ProfileReply = std::variant<ClientProfile, Dropped>;

// Trains on the client's own loss alone and leaves no trace in its state. Losses that are not finite are told as they
// are; any other vector that is not finite drops the client. A client without samples has nothing to tell but a
// histogram of zeros. `seed` is the client's own secret for noise; in a simulation, the run's.
// Preconditions: check_profile() passes, and the task has the models that the kind needs.
[[nodiscard]] Result<ProfileReply> tell_profile(const ProfileTask& task, LocalSolver& solver, std::uint64_t seed);

}  // namespace muster
