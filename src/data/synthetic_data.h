// Synthetic(alpha, beta) and Synthetic-IID (Li et al. 2018, FedProx) as virtual clients: a client's size, model and
// samples come from its own random stream whenever they are asked for, so a client that is not asked costs nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "data/federated_data.h"

namespace muster {

// Client k: n_k = floor(lognormal(4, 2)) + 50 samples, or U{samples-min..samples-max}; u_k ~ N(0, alpha) and
// B_k ~ N(0, beta), alpha and beta being standard deviations as in the authors' code; v_k ~ N(B_k, 1)^60,
// x ~ N(v_k, diag(j^-1.2)), W_k ~ N(u_k, 1)^(60 x 10), b_k ~ N(u_k, 1)^10, y = argmax(x W_k + b_k).
// IID: one W and b for all, v = 0. Keys: clients (100), alpha (1), beta (1), samples-min, samples-max, test-fraction
// (0.1), validation-fraction (0), edges, exemplars.
//
// Two things are bounded so that a worker's buffer is: n_k is at most kSyntheticMostSamples (one client in 600 would be
// larger), and the server's test set joins the tests of the first kSyntheticTestClients clients only.
inline constexpr std::uint32_t kSyntheticMostSamples = 20000;
inline constexpr std::uint32_t kSyntheticTestClients = 100;

[[nodiscard]] Result<std::unique_ptr<FederatedData>> make_synthetic_data(const DataOptions& options, std::uint64_t seed,
                                                                         bool iid);

}  // namespace muster
