// SentValues: how many numbers travel between a client and the server: all but what clients keep to themselves.
#pragma once

#include <cstdint>

#include "model/network.h"
#include "solver/local_options.h"

namespace muster {

struct SentValues {
  std::uint64_t model = 0;            // of the flat vector
  std::uint64_t payload = 0;          // besides it, from a client
  std::uint64_t kept_parameters = 0;  // trained ones that stay with the client: of no use in what it is sent besides

  [[nodiscard]] std::uint64_t upload() const { return model + payload; }
  // `broadcast`: numbers that the server has for clients besides the model, one per trained parameter, or none.
  [[nodiscard]] std::uint64_t download(std::uint64_t broadcast) const {
    return model + (broadcast > kept_parameters ? broadcast - kept_parameters : 0);
  }
};
// Fails where the network lacks the personal parts.
[[nodiscard]] Result<SentValues> sent_values(const LocalOptions& local, const Network& network, bool has_payload);

}  // namespace muster
