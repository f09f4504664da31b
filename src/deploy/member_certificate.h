// Who the members of a secure sum are in a deployment: whoever has the key of a certificate that the deployment's
// authority signed for that client. Over plain text there are no certificates, and members are simulated as in a
// simulation: a try on one machine protects nobody.
#pragma once

#include <functional>
#include <memory>

#include "deploy/identity_check.h"
#include "secure/member_identity.h"

namespace muster {

// `seed`: the recipe's, for members that are simulated.
[[nodiscard]] std::shared_ptr<const MemberVerifier> make_member_verifier(const Security& security, std::uint64_t seed);

// Signs for a client of this process.
using SignerOf = std::function<std::shared_ptr<const MemberSigner>(ClientId)>;
[[nodiscard]] Result<SignerOf> make_member_signer(const Security& security, std::uint64_t seed);

}  // namespace muster
