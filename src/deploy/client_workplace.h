// The workplace of a process that stands for clients: their samples are here, and what they remember is on this
// process's own disk.
#pragma once

#include <filesystem>
#include <memory>

#include "deploy/member_certificate.h"
#include "recipe/recipe.h"
#include "train/sum_members.h"
#include "wire/workplace.h"

namespace muster {

// How clients take part in what hides models from the host.
struct ClientSecrecy {
  std::string run;
  std::string name = {};  // of a client with data of its own
  SignerOf signer;        // not set: they take no part
  std::shared_ptr<const MemberVerifier> verifier;
  SayNote say = {};         // what leaves openly is said
  MemberSecrets sums = {};  // without members nobody takes part in secure sums
};

// `data`: of all clients of the run, of which those that this process does not stand for may have no samples here.
// `threads`: how many clients train at a time. `states`: folder for what clients remember. Fails if the recipe's
// network does not fit the data.
[[nodiscard]] Result<std::shared_ptr<Workplace>> make_client_workplace(const Recipe& recipe,
                                                                       std::shared_ptr<const FederatedData> data,
                                                                       std::uint32_t threads,
                                                                       const std::filesystem::path& states,
                                                                       ClientSecrecy secrecy = {});

}  // namespace muster
