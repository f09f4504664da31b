#include "clients/dropped.h"

namespace muster {
namespace {

// The words are part of the record's format.
TEST(DropReason, HasItsWordInTheRecord) {
  const std::pair<DropReason, std::string_view> words[] = {
      {DropReason::kFault, "dropped"},           {DropReason::kStraggler, "straggler"},
      {DropReason::kNoSamples, "no-samples"},    {DropReason::kNonFinite, "non-finite"},
      {DropReason::kUnreachable, "unreachable"}, {DropReason::kMalformed, "malformed"}};
  for (const auto& [reason, word] : words) EXPECT_EQ(name(reason), word);
}

}  // namespace
}  // namespace muster
