// Clients of a deployment as members of secure sums: keys of the system's randomness, signatures with the key of their
// certificate, and a history of sums on this process's own disk. They hold the server to the recipe: whatever terms say
// otherwise is refused.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "deploy/member_certificate.h"
#include "secure/secure_options.h"
#include "train/sum_members.h"
#include "wire/wire_note.h"

namespace muster {

struct DeployedMembersOptions {
  std::string run;
  SecureOptions secure;
  std::string name;  // of a client with data of its own; "": clients are known by their numbers
  SignerOf signer;
  std::shared_ptr<const MemberVerifier> verifier;
  std::filesystem::path states;  // a folder for each client in it; empty: what they took part in is not remembered
  SayNote say;
};

// Calls for different clients may come together.
[[nodiscard]] std::shared_ptr<SumMembers> make_deployed_members(DeployedMembersOptions options);

}  // namespace muster
