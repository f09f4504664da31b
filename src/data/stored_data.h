// Samples in memory, divided among clients: RawData and options -> FederatedData.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "data/federated_data.h"
#include "data/raw_data.h"

namespace muster {

// Divides `raw` by options.partition ("" = natural where the source has clients, else iid), then sets aside:
// - each client's own test: the test rows of the same client where the source names them; the source's test set divided
//   by the same law where the law plants clusters; otherwise, or when test-fraction is set, a random test-fraction of
//   the client's rows (default: 0.1 if the source has no test set, else 0);
// - each client's validation: a random validation-fraction of what is left of its rows (default: 0);
// - the server's test set: the source's, or all clients' tests together if it has none;
// - exemplars per class, taken out of the server's and the clients' tests.
// `source` is the name for people. Errors name the key, its value and what is accepted.
[[nodiscard]] Result<std::unique_ptr<FederatedData>> divide_among_clients(RawData raw, const DataOptions& options,
                                                                          std::uint64_t seed, std::string source);

// How many of a client's rows a share of them is: rounded, but never its last row.
[[nodiscard]] std::uint32_t cut_count(std::uint32_t rows, double fraction);

// All of `raw` is one client's, the others have nothing here. What is set aside is what the client has in
// divide_among_clients() of all clients' rows. `marked_tests`: whether some client's file marks its tests; no client's
// are cut then unless test-fraction says so.
struct OnlyClient {
  ClientId client;
  std::uint32_t clients = 1;
  bool marked_tests = false;
};
[[nodiscard]] Result<std::unique_ptr<FederatedData>> divide_for_client(RawData raw, const DataOptions& options,
                                                                       const OnlyClient& only, std::uint64_t seed,
                                                                       std::string source);

}  // namespace muster
