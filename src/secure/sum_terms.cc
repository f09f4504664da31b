#include "secure/sum_terms.h"

#include <algorithm>
#include <cmath>

#include "base/parcel.h"
#include "secure/key_agreement.h"

namespace muster {

std::uint32_t SumTerms::holders() const {
  const auto all = static_cast<std::uint32_t>(members.size());
  return neighbours == 0 ? all : std::min(all, neighbours + 1);
}

std::uint32_t threshold_for(double share, std::uint32_t holders) {
  // A share such as 2/3 is never the exact one: 2/3 of 3 is 2.
  const auto asked = static_cast<std::uint32_t>(std::ceil(share * holders - 1e-9));
  return std::clamp(asked, holders / 2 + 1, std::max(holders, 1u));
}

Status check_terms(const SumTerms& terms) {
  if (terms.members.size() < 2 || terms.members.size() > kMostSumMembers) {
    return failure("a sum of {} members, want 2 to {}", terms.members.size(), kMostSumMembers);
  }
  for (std::size_t i = 1; i < terms.members.size(); ++i) {
    if (terms.members[i] <= terms.members[i - 1]) return failure("members that are not in ascending order");
  }
  if (terms.neighbours % 2 != 0) return failure("{} neighbours, want an even number", terms.neighbours);
  if (2 * terms.threshold <= terms.holders() || terms.threshold > terms.holders()) {
    return failure("a threshold of {} of {} holders, want more than half", terms.threshold, terms.holders());
  }
  if (terms.words < 2 || terms.words > kMostSumWords) return failure("vectors of {} words", terms.words);
  return check_fixed_point(terms.format, static_cast<std::uint32_t>(terms.members.size()));
}

SumMessage pack(const SumTerms& terms) {
  ParcelWriter out;
  out.put_text(terms.run);
  out.put(terms.round);
  out.put(terms.part);
  out.put(terms.group);
  out.put(terms.model);
  out.put_list(std::span<const ClientId>(terms.members));
  out.put(terms.neighbours);
  out.put(terms.threshold);
  out.put(terms.words);
  out.put(terms.format.bits);
  out.put(terms.format.fraction_bits);
  out.put(terms.format.most_weight);
  return std::move(out).finish().words;
}

Result<SumTerms> unpack_terms(SumMessage message) {
  ParcelReader in({std::move(message), {}});
  SumTerms terms;
  terms.run = in.take_text();
  terms.round = in.take<std::uint32_t>();
  terms.part = in.take<std::uint32_t>();
  terms.group = in.take<GroupId>();
  terms.model = in.take<PublicBytes>();
  terms.members = in.take_list<ClientId>();
  terms.neighbours = in.take<std::uint32_t>();
  terms.threshold = in.take<std::uint32_t>();
  terms.words = in.take<std::uint32_t>();
  terms.format.bits = in.take<std::uint32_t>();
  terms.format.fraction_bits = in.take<std::uint32_t>();
  terms.format.most_weight = in.take<std::uint64_t>();
  MUSTER_TRY(in.finish("the terms of a sum"));
  MUSTER_TRY(check_terms(terms));
  return terms;
}

PublicBytes digest_of(const SumTerms& terms) {
  return digest_of(pack(terms));
}

}  // namespace muster
