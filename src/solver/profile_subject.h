// A client that is asked for its profile, over the LocalSolver that trains and evaluates for it.
#pragma once

#include <memory>

#include "profile/profile.h"
#include "solver/local_solver.h"

namespace muster {

// Where the noise on told counts comes from.
using CountNoise = std::function<NoiseDraws(std::span<const std::uint32_t> counts, double epsilon)>;

// Borrows `solver`, which must not be used for anything else meanwhile. `noise` is the client's own secret; in a
// simulation, of the run's seed.
[[nodiscard]] std::unique_ptr<ProfileSubject> make_profile_subject(LocalSolver& solver, ClientId client,
                                                                   CountNoise noise);

}  // namespace muster
