// Members of secure sums whose keys and signatures come from a seed, so that runs repeat.
#include <map>

#include "train/sum_members.h"

namespace muster {
namespace {

class SimulatedMembers final : public SumMembers {
 public:
  explicit SimulatedMembers(std::uint64_t seed) : seed_(seed), verifier_(seed) {}

  Result<SumMessage> join(const TrainTask& task, const SumTerms& terms) override {
    const SeededKeys keys({.seed = seed_,
                           .round = task.round,
                           .part = task.part,
                           .group = terms.group.value,
                           .client = task.client.value});
    auto& member = members_[task.client.value];
    member = std::make_unique<Member>(task.client, seed_, verifier_, keys);
    return member->sum.join(terms, member->history);
  }

  SumClient* find(ClientId client, std::uint64_t) override {
    const auto found = members_.find(client.value);
    return found == members_.end() ? nullptr : &found->second->sum;
  }

  void refuse(ClientId, const std::string&) override {}
  void leave(ClientId client, const std::string&) override { members_.erase(client.value); }

 private:
  struct Member {
    Member(ClientId client, std::uint64_t seed, const SimulatedVerifier& verifier, SeededKeys keys)
        : signer(seed, client), sum(client, signer, verifier, std::move(keys)) {}
    SimulatedSigner signer;
    SumHistory history;  // a simulation asks for every sum once
    SumClient sum;
  };

  std::uint64_t seed_;
  SimulatedVerifier verifier_;
  std::map<std::uint32_t, std::unique_ptr<Member>> members_;  // by client
};

}  // namespace

std::unique_ptr<SumMembers> make_simulated_members(std::uint64_t seed) {
  return std::make_unique<SimulatedMembers>(seed);
}

}  // namespace muster
