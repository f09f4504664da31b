// Minority copies: slightly changed copies of training images of rare classes, for the clients that have them. In:
// samples and who trains on which; out: both, grown. Knows nothing of tests.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "data/partition.h"
#include "data/samples.h"

namespace muster {

// A class with fewer than the mean number of training samples over all classes gets (mean / count)^strength times as
// many, to the nearest sample of each client: what the server works out from the clients' label counts (Astraea, Duan
// et al. 2019). At 1 all rare classes reach the mean. A copy is shifted, turned, sheared and zoomed at random, by a
// stream of (seed, client), and belongs to the client of its original. Precondition: strength >= 0. Fails if the
// samples are not images.
[[nodiscard]] Status add_minority_copies(double strength, std::uint64_t seed, Samples& samples, Division& division);

}  // namespace muster
