// A client that is asked for its profile, over the LocalSolver that trains and evaluates for it.
#pragma once

#include <memory>

#include "profile/profile.h"
#include "solver/local_solver.h"

namespace muster {

// Borrows `solver`, which must not be used for anything else meanwhile. `noise_seed` is the client's own secret; in a
// simulation, the run's seed.
[[nodiscard]] std::unique_ptr<ProfileSubject> make_profile_subject(LocalSolver& solver, ClientId client,
                                                                   std::uint64_t noise_seed);

}  // namespace muster
