// Everything that travels is read back as it was; cut short, lengthened or with one bit changed it is read as something
// within its bounds, or refused.
#include "secure/sum_messages.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "sum_run.h"

namespace muster {
namespace {

void read_as_everything(const SumMessage& message, const SumTerms& terms) {
  if (const auto read = unpack_terms(message)) {
    EXPECT_TRUE(check_terms(*read));
  }
  if (const auto read = unpack_key_list(message, terms)) {
    EXPECT_LE(read->size(), terms.members.size());
  }
  if (const auto read = unpack_share_list(message, terms)) {
    EXPECT_LE(read->size(), terms.members.size());
  }
  if (const auto read = unpack_openings(message, terms)) {
    EXPECT_LE(read->size(), terms.members.size());
  }
  if (const auto read = unpack_words(message, terms)) {
    EXPECT_EQ(count_of(*read), terms.words);
  }
  if (const auto read = unpack_survivors(message, terms)) {
    EXPECT_EQ(read->size(), terms.members.size());
  }
  if (const auto read = unpack_opening_ask(message, terms)) {
    EXPECT_LE(read->signatures.size(), terms.members.size());
  }
  (void)unpack_keys(message);
  (void)unpack_signature(message);
}

TEST(SumMessages, DamagedOnesStayWithinTheirBounds) {
  const SumTerms terms = terms_of(5, 6);
  Stream random({.seed = 1, .purpose = Purpose::kTest});
  std::vector<SumMessage> all;
  const auto keep = [&](SumPhase, ClientId, SumMessage message) {
    all.push_back(message);
    return std::optional(std::move(message));
  };
  SumRun run(terms);
  ASSERT_TRUE(run.run({{10, SumPhase::kInput}}, keep, keep));
  EXPECT_EQ(*unpack_terms(all[0]), terms);
  for (const SumMessage& message : all) {
    for (int i = 0; i < 20; ++i) {
      SumMessage damaged = message;
      switch (random.below(3)) {
        case 0:
          damaged.resize(random.below(static_cast<std::uint32_t>(damaged.size()) + 1));
          break;
        case 1:
          damaged.resize(damaged.size() + 1 + random.below(9));
          break;
        default:
          damaged[random.below(static_cast<std::uint32_t>(damaged.size()))] ^=
              static_cast<std::byte>(1 + random.below(255));
      }
      read_as_everything(damaged, terms);
    }
  }
}

}  // namespace
}  // namespace muster
