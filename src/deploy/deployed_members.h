// Clients of a deployment as members of secure sums: keys of the system's randomness, signatures with the key of their
// certificate, and a history of sums on this process's own disk. They hold the server to the recipe: whatever terms say
// otherwise is refused.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "deploy/member_certificate.h"
#include "secure/secure_options.h"
#include "secure/sum_history.h"
#include "train/sum_members.h"
#include "wire/wire_note.h"

namespace muster {

// What the clients of a process took part in, where there is no folder to remember it in: for as long as the process
// lives, whatever its clouds say of their runs' recipes. Thread-safe.
class RememberedSums {
 public:
  // Of a client: its name, or its number.
  [[nodiscard]] std::shared_ptr<SumHistory> of(const std::string& run, const std::string& client);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<SumHistory>> histories_;
};

struct DeployedMembersOptions {
  std::string run;
  SecureOptions secure;
  std::uint32_t rounds = 0;        // of the run
  std::uint32_t group_rounds = 1;  // sums of a group in a round
  std::string name;                // of a client with data of its own; "": clients are known by their numbers
  SignerOf signer;
  std::shared_ptr<const MemberVerifier> verifier;
  std::filesystem::path states;  // a folder for each client in it; empty: see `remembered`
  std::shared_ptr<RememberedSums> remembered;
  SayNote say;
};

// Calls for different clients may come together.
[[nodiscard]] std::shared_ptr<SumMembers> make_deployed_members(DeployedMembersOptions options);

}  // namespace muster
