#include "secure/sum_terms.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/parcel.h"
#include "secure/key_agreement.h"

namespace muster {
namespace {

constexpr std::uint32_t kUsualMostSamples = 65536;
constexpr std::size_t kLongestName = 256;

}  // namespace

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
  if (!terms.names.empty()) {
    const std::set<std::string_view> distinct(terms.names.begin(), terms.names.end());
    if (terms.names.size() != terms.members.size() || distinct.size() != terms.names.size()) {
      return failure("{} names for {} members, want another one for each", distinct.size(), terms.members.size());
    }
  }
  if (terms.neighbours % 2 != 0) return failure("{} neighbours, want an even number", terms.neighbours);
  if (2 * terms.threshold <= terms.holders() || terms.threshold > terms.holders()) {
    return failure("a threshold of {} of {} holders, want more than half", terms.threshold, terms.holders());
  }
  if (terms.words < 2 || terms.words > kMostSumWords) return failure("vectors of {} words", terms.words);
  return check_fixed_point(terms.format, static_cast<std::uint32_t>(terms.members.size()));
}

Status settle_terms(const SecureOptions& options, SumTerms& terms) {
  terms.neighbours = options.neighbours;
  terms.threshold = threshold_for(options.threshold, terms.holders());
  terms.hides_samples = options.hides_samples();
  MUSTER_ASSIGN(terms.format, choose_fixed_point(options.bits, static_cast<std::uint32_t>(terms.members.size()),
                                                 options.most_samples.value_or(kUsualMostSamples)));
  return {};
}

SumMessage pack(const SumTerms& terms) {
  ParcelWriter out;
  out.put_text(terms.run);
  out.put(terms.attempt);
  out.put(terms.round);
  out.put(terms.part);
  out.put(terms.group);
  out.put(terms.model);
  out.put_list(std::span<const ClientId>(terms.members));
  out.put(std::uint64_t{terms.names.size()});
  for (const std::string& name : terms.names) out.put_text(name);
  out.put(terms.neighbours);
  out.put(terms.threshold);
  out.put(terms.words);
  out.put(terms.format.bits);
  out.put(terms.format.fraction_bits);
  out.put(terms.format.most_weight);
  out.put(static_cast<std::uint8_t>(terms.hides_samples));
  return std::move(out).finish().words;
}

Result<SumTerms> unpack_terms(SumMessage message) {
  ParcelReader in({std::move(message), {}});
  SumTerms terms;
  terms.run = in.take_text();
  terms.attempt = in.take<std::uint64_t>();
  terms.round = in.take<std::uint32_t>();
  terms.part = in.take<std::uint32_t>();
  terms.group = in.take<GroupId>();
  terms.model = in.take<PublicBytes>();
  terms.members = in.take_list<ClientId>();
  terms.names.resize(in.take_count(sizeof(std::uint64_t)));
  for (std::string& name : terms.names) {
    name = in.take_text();
    if (name.size() > kLongestName) in.fail();
  }
  terms.neighbours = in.take<std::uint32_t>();
  terms.threshold = in.take<std::uint32_t>();
  terms.words = in.take<std::uint32_t>();
  terms.format.bits = in.take<std::uint32_t>();
  terms.format.fraction_bits = in.take<std::uint32_t>();
  terms.format.most_weight = in.take<std::uint64_t>();
  const auto hides = in.take<std::uint8_t>();
  if (hides > 1) in.fail();
  terms.hides_samples = hides == 1;
  MUSTER_TRY(in.finish("the terms of a sum"));
  MUSTER_TRY(check_terms(terms));
  return terms;
}

PublicBytes digest_of(const SumTerms& terms) {
  return digest_of(pack(terms));
}

PublicBytes digest_of_all_attempts(SumTerms terms) {
  terms.attempt = 0;
  return digest_of(terms);
}

PublicBytes order_of(SumTerms terms) {
  terms.run.clear();
  terms.names.clear();
  return digest_of_all_attempts(std::move(terms));
}

}  // namespace muster
