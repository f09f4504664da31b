// SumServer: the side of a secure sum that everybody speaks to, and that learns the sum and nothing else. Without
// sockets: in each phase there are members to be asked, what to say to each, and their answers in any order; whoever
// has not answered when the phase is closed is gone. Below the threshold the sum is abandoned.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "secure/member_identity.h"
#include "secure/neighbours.h"
#include "secure/sum_messages.h"
#include "secure/sum_phase.h"
#include "secure/sum_terms.h"

namespace muster {

// Used by one thread.
class SumServer {
 public:
  // Precondition: check_terms(). The verifier is borrowed.
  SumServer(SumTerms terms, const MemberVerifier& verifier);

  [[nodiscard]] SumPhase phase() const { return phase_; }
  [[nodiscard]] const SumTerms& terms() const { return terms_; }
  // Who is asked in this phase, ascending.
  [[nodiscard]] std::vector<ClientId> asked() const;
  // What to say. Precondition: one of asked().
  [[nodiscard]] SumMessage ask(ClientId client);
  // What one of asked() answered, the first time. Fails if it is not usable; the member then counts as gone.
  [[nodiscard]] Status take(ClientId client, SumMessage answer);
  // Ends the phase with the answers there are. Fails if too few members are left: the sum is abandoned.
  [[nodiscard]] Status close();

  // Precondition: phase() is kDone. The sum of the vectors of summed(), modulo the format's words.
  [[nodiscard]] const Words& sum() const;
  [[nodiscard]] std::vector<ClientId> summed() const;
  // Of all that it said and was answered, as records count them.
  [[nodiscard]] std::uint64_t bytes_down() const { return bytes_down_; }
  [[nodiscard]] std::uint64_t bytes_up() const { return bytes_up_; }
  // In which phase a member was lost; nothing for those that answered to the end.
  [[nodiscard]] std::optional<SumPhase> lost_in(ClientId client) const;

 private:
  struct Member {
    MemberKeys keys;
    std::map<std::uint32_t, std::vector<std::byte>> shares;  // by place of whom they are for
    std::string signature;
    std::map<std::uint32_t, SecretShare> opened;  // by place of whose they are
    bool answered = false;                        // in this phase
    bool shared = false;                          // it has masks with others
    bool in_sum = false;
    std::optional<SumPhase> lost = {};
  };

  template <typename Said>
  [[nodiscard]] SumMessage say(const Said& said);
  [[nodiscard]] std::uint32_t place_of(ClientId client) const;
  // Whether it was there when this phase began: what members are told does not depend on who was asked first.
  [[nodiscard]] bool began(const Member& member) const { return !member.lost || *member.lost == phase_; }
  [[nodiscard]] Status publish(const MemberKeys& keys);
  [[nodiscard]] Status accept(std::uint32_t place, SumMessage answer);
  // How many holders of a member's shares are still there.
  [[nodiscard]] std::uint32_t holders_left(std::uint32_t place) const;
  void lose_those_alone();
  [[nodiscard]] Status check_openable() const;
  [[nodiscard]] Status unmask();
  [[nodiscard]] Result<SecretKey> secret_of(std::uint32_t place);

  SumTerms terms_;
  const MemberVerifier& verifier_;
  PublicBytes context_ = {};
  Neighbours graph_;
  std::vector<std::vector<std::uint32_t>> neighbours_;  // of each member
  SumPhase phase_ = SumPhase::kKeys;
  std::vector<Member> members_;
  std::set<PublicBytes> published_;  // keys of members
  Words sum_;
  std::uint64_t bytes_down_ = 0;
  std::uint64_t bytes_up_ = 0;
  std::vector<ShareJoiner> joiner_;  // of the points used last; at most one
};

}  // namespace muster
