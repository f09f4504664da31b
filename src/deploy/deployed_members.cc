#include "deploy/deployed_members.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace muster {
namespace {

class DeployedMembers final : public SumMembers {
 public:
  explicit DeployedMembers(DeployedMembersOptions options) : options_(std::move(options)) {}

  Result<SumMessage> join(const TrainTask& task, const SumTerms& terms) override {
    Result<SumMessage> said = [&]() -> Result<SumMessage> {
      MUSTER_TRY(check(task, terms));
      MUSTER_ASSIGN(const std::shared_ptr<SumHistory> history, history_of(task.client));
      auto member = std::make_shared<Member>(task.client, options_.signer(task.client), *options_.verifier, history);
      MUSTER_ASSIGN(SumMessage keys, member->sum.join(terms, *history));
      const std::lock_guard lock(mutex_);
      members_[task.client.value] = std::move(member);
      return keys;
    }();
    if (!said) tell(task.client, said.error().message);
    return said;
  }

  SumClient* find(ClientId client, std::uint64_t attempt) override {
    const std::lock_guard lock(mutex_);
    const auto found = members_.find(client.value);
    if (found == members_.end() || found->second->sum.terms().attempt != attempt) return nullptr;
    return &found->second->sum;
  }

  void refuse(ClientId client, const std::string& why) override { tell(client, why); }

  void leave(ClientId client, const std::string& why) override {
    if (!why.empty()) tell(client, why);
    const std::lock_guard lock(mutex_);
    members_.erase(client.value);
  }

 private:
  struct Member {
    Member(ClientId client, std::shared_ptr<const MemberSigner> own, const MemberVerifier& verifier,
           std::shared_ptr<SumHistory> kept)
        : signer(std::move(own)), history(std::move(kept)), sum(client, *signer, verifier, SystemKeys()) {}
    std::shared_ptr<const MemberSigner> signer;
    std::shared_ptr<SumHistory> history;
    SumClient sum;
  };

  [[nodiscard]] Status check(const TrainTask& task, const SumTerms& terms) const {
    if (terms.run != options_.run || terms.round != task.round || terms.part != task.part) {
      return failure("it asks for round {} of run {}, with the terms of round {} of run {}", task.round, options_.run,
                     terms.round, terms.run);
    }
    if (terms.round > options_.rounds || terms.part >= options_.group_rounds) {
      return failure("it asks for sum {} of round {}, and the recipe has {} rounds with {} each", terms.part + 1,
                     terms.round, options_.rounds, options_.group_rounds);
    }
    SumTerms wanted = terms;
    MUSTER_TRY(settle_terms(options_.secure, wanted));
    if (wanted != terms) return failure("its terms are not those of the recipe");
    if (terms.names.empty() != options_.name.empty()) {
      return failure("its terms do not name members as this run does");
    }
    const auto place = std::ranges::find(terms.members, task.client) - terms.members.begin();
    if (!terms.names.empty() && static_cast<std::size_t>(place) < terms.names.size() &&
        terms.names[static_cast<std::size_t>(place)] != options_.name) {
      return failure("it calls this client {}", terms.names[static_cast<std::size_t>(place)]);
    }
    return {};
  }

  // Files are read anew for every sum: a client that waits costs no memory. One that has a name goes by it: its number
  // is what the cloud says.
  Result<std::shared_ptr<SumHistory>> history_of(ClientId client) const {
    const std::string number = std::to_string(client.value);
    if (options_.states.empty()) {
      return options_.remembered->of(options_.run, options_.name.empty() ? number : options_.name);
    }
    const std::filesystem::path folder = options_.name.empty() ? options_.states / number : options_.states;
    MUSTER_ASSIGN(SumHistory history, SumHistory::open(folder / "secure-sums"));
    return std::make_shared<SumHistory>(std::move(history));
  }

  void tell(ClientId client, const std::string& why) const {
    if (!options_.say) return;
    options_.say({.line = fmt::format("client {} refuses the secure sum: {}", client.value, why),
                  .client = fmt::format("client {}", client.value),
                  .clients = 1});
  }

  const DeployedMembersOptions options_;
  std::mutex mutex_;  // of members_
  std::map<std::uint32_t, std::shared_ptr<Member>> members_;
};

}  // namespace

std::shared_ptr<SumHistory> RememberedSums::of(const std::string& run, const std::string& client) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<SumHistory>& known = histories_[{run, client}];
  if (!known) known = std::make_shared<SumHistory>();
  return known;
}

std::shared_ptr<SumMembers> make_deployed_members(DeployedMembersOptions options) {
  return std::make_shared<DeployedMembers>(std::move(options));
}

}  // namespace muster
