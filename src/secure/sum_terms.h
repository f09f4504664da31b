// SumTerms: what the members of one secure sum and the server agree on before it begins. Every key and every signature
// of the sum is bound to the digest of its terms, so nothing of one sum is worth anything in another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "secure/fixed_point.h"
#include "secure/secret_bytes.h"
#include "secure/secure_options.h"

namespace muster {

using SumMessage = std::vector<std::byte>;

inline constexpr std::uint32_t kMostSumMembers = 65535;
inline constexpr std::uint32_t kMostSumWords = std::uint32_t{1} << 30;

struct SumTerms {
  std::string run;            // names it among all runs
  std::uint64_t attempt = 0;  // rises where the same sum has to be begun again: its cloud or an edge was lost
  std::uint32_t round = 0;
  std::uint32_t part = 0;  // which of the sums of this group in this round
  GroupId group;
  PublicBytes model = {};          // digest of all that members start from (train/change_words.h)
  std::vector<ClientId> members;   // ascending
  std::vector<std::string> names;  // of the members, as in their certificates; none: they are known by their numbers
  std::uint32_t neighbours = 0;    // of a member, who hold shares of its secrets; 0: all others do
  std::uint32_t threshold = 0;     // so many holders open a secret; more than half of them
  std::uint32_t words = 0;         // of a member's vector
  FixedPoint format;
  bool hides_samples = false;  // members count their samples in their vectors, and tell nobody else

  // Who hold shares of a member's secrets, itself among them.
  [[nodiscard]] std::uint32_t holders() const;
  bool operator==(const SumTerms&) const = default;
};

// The smallest threshold that is at least this share of the holders, and more than half of them.
[[nodiscard]] std::uint32_t threshold_for(double share, std::uint32_t holders);

// Whether they protect anybody: two members or more, a threshold above half, no sum that overflows.
[[nodiscard]] Status check_terms(const SumTerms& terms);

// What the recipe says of a sum of these members: neighbours, threshold, format and what is hidden are set.
// Fails if there is no format.
[[nodiscard]] Status settle_terms(const SecureOptions& options, SumTerms& terms);

[[nodiscard]] SumMessage pack(const SumTerms& terms);
// Checked, too.
[[nodiscard]] Result<SumTerms> unpack_terms(SumMessage message);
[[nodiscard]] PublicBytes digest_of(const SumTerms& terms);
// The same for every attempt at one sum.
[[nodiscard]] PublicBytes digest_of_all_attempts(SumTerms terms);
// By which neighbours are laid out: what a simulation and a deployment of it have in common.
[[nodiscard]] PublicBytes order_of(SumTerms terms);

}  // namespace muster
