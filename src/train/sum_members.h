// SumMembers: who takes part in secure sums for the clients of this process: the sum that each has under way, and with
// which identity and keys. Different clients' calls may come together where the members say so.
#pragma once

#include <memory>
#include <string>

#include "secure/secret_stream.h"
#include "secure/sum_client.h"
#include "solver/local_task.h"

namespace muster {

class SumMembers {
 public:
  virtual ~SumMembers() = default;

  // Joins a sum for the client, in place of the one under way. An error: the client refuses, and says why.
  [[nodiscard]] virtual Result<SumMessage> join(const TrainTask& task, const SumTerms& terms) = 0;
  // The sum under way; null: there is none of this attempt.
  [[nodiscard]] virtual SumClient* find(ClientId client, std::uint64_t attempt) = 0;
  // The client refuses something else that it is asked for, and says why. What is under way goes on.
  virtual void refuse(ClientId client, const std::string& why) = 0;
  // It is over for the client; `why`: it refused to go on, "": it has answered to the end.
  virtual void leave(ClientId client, const std::string& why) = 0;
};

// What the clients of a process take part in secure sums with, and nobody else knows.
struct MemberSecrets {
  std::shared_ptr<SumMembers> members = {};    // thread-safe; null: they are simulated
  std::shared_ptr<const NoiseKey> noise = {};  // that they add in private runs; null: it comes from the seed
};

// With keys and signatures that come from the seed: for simulations. For one thread.
[[nodiscard]] std::unique_ptr<SumMembers> make_simulated_members(std::uint64_t seed);

}  // namespace muster
