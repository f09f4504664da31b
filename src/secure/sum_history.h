// SumHistory: which sums a client has taken part in, and which survivors it has signed for. Two sums of one vector,
// over members that differ in one, give that one away. So a client takes part in each (run, round, part) once. Where a
// cloud or an edge was lost and the sum is begun again, it does so with the same terms but a higher attempt, and never
// signs another set of survivors than before: whatever is opened twice is the same sum.
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "secure/sum_messages.h"

namespace muster {

// Used by one thread at a time.
class SumHistory {
 public:
  // In memory only.
  SumHistory() = default;
  // In a file, made when it is first needed: what enter() and sign() have accepted is on disk before they return. Fails
  // if the file is damaged; what was cut short at its end was never answered, and is passed over.
  [[nodiscard]] static Result<SumHistory> open(std::filesystem::path file);

  [[nodiscard]] Status enter(const SumTerms& terms);
  // Precondition: enter().
  [[nodiscard]] Status sign(const SumTerms& terms, const SurvivorSet& survivors);

 private:
  struct Entered {
    std::uint64_t attempt = 0;
    PublicBytes terms = {};  // digest_of_all_attempts()
    std::optional<PublicBytes> survivors;
  };

  [[nodiscard]] Status write(const PublicBytes& sum, const Entered& entered);
  [[nodiscard]] bool read_line(std::string_view line);

  std::filesystem::path file_;              // "": in memory
  std::map<PublicBytes, Entered> entered_;  // by the digest of run, round and part
};

}  // namespace muster
