// The list of kinds, their options, and kinds that are added to it.
#include "profile/profile.h"

#include <limits>

#include "profile/fake_subject.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProfileKinds, OnlyTakeTheirOwnKeys) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<ProfileOptions, std::string>> refused{
      {{.kind = "histogram"}, "profile.kind: unknown kind 'histogram'"},
      {{.kind = "none", .steps = 3}, "profile.steps: not a key of none, which has no keys"},
      {{.kind = "label-histogram", .variance = 0.9},
       "profile.variance: not a key of label-histogram, which has epsilon"},
      {{.kind = "label-histogram", .epsilon = 0}, "profile.epsilon: 0, want a number > 0"},
      {{.kind = "label-histogram", .epsilon = nan}, "profile.epsilon: nan, want a number > 0"},
      {{.kind = "update-direction", .steps = 0}, "profile.steps: 0, want >= 1"},
      {{.kind = "update-direction", .steps = 5, .epochs = 1}, "does not go with profile.epochs"},
      {{.kind = "classifier-weights", .epochs = -1}, "profile.epochs: -1, want a number > 0"},
      {{.kind = "classifier-weights", .layers = "first"}, "profile.layers: unknown value 'first'"},
      {{.kind = "classifier-weights", .variance = 1.5}, "profile.variance: 1.5, want a number > 0 and <= 1"},
      {{.kind = "confidence-vector", .form = "share"}, "did you mean 'shares'?"},
  };
  for (const auto& [options, message] : refused) {
    const Status status = check_profile(options);
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_THAT(status.error().message, HasSubstr(message));
    EXPECT_EQ(status.error().code, ErrorCode::kUsage);
    const auto made = make_profile_kind(options);
    ASSERT_FALSE(made.ok()) << message;
    EXPECT_EQ(made.error().message, status.error().message);
  }
}

// A kind of a library user's own: how many samples a client has, or whatever the test wants it to tell.
class OwnKind final : public ProfileKind {
 public:
  OwnKind(ProfileEntry entry, std::vector<float> instead) : entry_(std::move(entry)), instead_(std::move(instead)) {}
  const ProfileEntry& entry() const override { return entry_; }
  Result<std::size_t> width(const Network&, std::uint32_t) const override { return std::size_t{1}; }

 private:
  Result<ProfileReply> do_tell(const ProfileTask&, ProfileSubject& subject) const override {
    if (!instead_.empty()) return ProfileReply{ClientProfile{.vector = instead_}};
    return ProfileReply{ClientProfile{.vector = {static_cast<float>(subject.samples())}}};
  }

  ProfileEntry entry_;
  std::vector<float> instead_;
};

const ProfileEntry kSampleCount{.name = "sample-count",
                                .summary = "how many training samples the client has",
                                .keys = {"steps"},
                                .bytes = "4 up",
                                .reveals = "how many samples the client has",
                                .gives = ProfileGives::kVectors};

TEST(AddProfileKind, MakesItKnownLikeAnyOther) {
  EXPECT_FALSE(check_profile({.kind = "sample-count"}).ok());
  const auto make = [](const ProfileOptions& options) -> Result<std::unique_ptr<ProfileKind>> {
    if (options.steps == 13) return usage_error("profile.steps: 13, want a lucky number");
    return std::unique_ptr<ProfileKind>(std::make_unique<OwnKind>(kSampleCount, std::vector<float>()));
  };
  const std::size_t known = profile_kinds().size();
  ASSERT_TRUE(add_profile_kind(kSampleCount, make).ok());
  ASSERT_EQ(profile_kinds().size(), known + 1);
  EXPECT_EQ(profile_kinds().back().name, "sample-count");
  EXPECT_EQ(profile_kind({.kind = "sample-count"}).summary, kSampleCount.summary);
  EXPECT_THAT(check_profile({.kind = "sample-count", .variance = 0.5}).error().message,
              HasSubstr("profile.variance: not a key of sample-count, which has steps"));
  EXPECT_THAT(check_profile({.kind = "sample-counts"}).error().message, HasSubstr("did you mean 'sample-count'?"));
  EXPECT_EQ(make_profile_kind({.kind = "sample-count", .steps = 13}).error().message,
            "profile.steps: 13, want a lucky number");

  const auto kind = kind_of({.kind = "sample-count", .steps = 2});
  const ProfileWorld world;
  FakeSubject subject(world.network);
  EXPECT_THAT(told_by(*kind, {.client = ClientId{7}}, subject).vector, ElementsAre(6));
  EXPECT_EQ(kind->bytes(*world.network, 1, world.exemplars()), (ProfileBytes{.up = 4, .down = 0}));
  // The defaults of a kind that says no more.
  EXPECT_EQ(kind->start_part(), 0u);
  EXPECT_EQ(kind->epsilon(), std::nullopt);
  EXPECT_EQ(kind->kept_variance(), std::nullopt);
  EXPECT_FALSE(kind->directs_start());

  EXPECT_EQ(add_profile_kind(kSampleCount, make).error().message,
            "profile kind: \"sample-count\" is taken, want another name");
  EXPECT_EQ(profile_kinds().size(), known + 1);
}

TEST(AddProfileKind, RefusesAKnownNameAndNone) {
  const auto make = [](const ProfileOptions&) -> Result<std::unique_ptr<ProfileKind>> { return failure("unused"); };
  for (const ProfileEntry& entry : profile_kinds()) {
    const Status status = add_profile_kind({.name = entry.name}, make);
    ASSERT_FALSE(status.ok()) << entry.name;
    EXPECT_THAT(status.error().message, HasSubstr("is taken"));
  }
  EXPECT_EQ(add_profile_kind({}, make).error().message, "profile kind: no name, want one");
}

TEST(Tell, DoesNotTellWhatAKindGotWrong) {
  const ProfileWorld world;
  FakeSubject subject(world.network);
  const auto reason = [&](std::vector<float> vector) {
    const OwnKind kind(kSampleCount, std::move(vector));
    return dropped_by(kind, {.client = ClientId{7}}, subject);
  };
  EXPECT_EQ(reason({1}), std::nullopt);
  EXPECT_EQ(reason({1, 2}), DropReason::kMalformed);
  EXPECT_EQ(reason({std::numeric_limits<float>::infinity()}), DropReason::kNonFinite);
  // A count too few, from a client whose data have other classes.
  subject.counts = {3};
  EXPECT_EQ(dropped_by(*kind_of({.kind = "label-histogram"}), {.client = ClientId{7}}, subject),
            DropReason::kMalformed);
}

}  // namespace
}  // namespace muster
