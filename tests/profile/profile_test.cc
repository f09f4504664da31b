#include "profile/profile.h"

#include <limits>

namespace muster {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const Network> mlp() {
  auto network = make_network({.name = "mlp", .hidden = {5, 4}}, {1, 1, 3}, 2);
  EXPECT_TRUE(network.ok());
  return *network;
}

TEST(ProfileKinds, AllAreDescribedAndAccepted) {
  for (const ProfileEntry& entry : profile_kinds()) {
    EXPECT_TRUE(check_profile({.kind = entry.name}).ok()) << entry.name;
    EXPECT_FALSE(entry.summary.empty() || entry.bytes.empty() || entry.reveals.empty()) << entry.name;
    EXPECT_EQ(profile_kind({.kind = entry.name}).name, entry.name);
  }
}

TEST(ProfileKinds, OnlyTakeTheirOwnKeys) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<ProfileOptions, std::string>> refused{
      {{.kind = "histogram"}, "profile.kind: unknown kind 'histogram'"},
      {{.kind = "none", .steps = 3}, "profile.steps: not a key of none, which has none"},
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
  }
}

TEST(ProfileBytes, AreWhatTravels) {
  const auto network = mlp();  // 20 + 24 + 10 parameters
  const auto bytes = [&](const ProfileOptions& options, std::uint32_t models = 1, const SampleView& exemplars = {}) {
    const ProfileBytes result = profile_bytes(options, *network, models, exemplars);
    return std::pair(result.down, result.up);
  };
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(bytes({.kind = "none"}), Pair(0, 0));
  EXPECT_EQ(bytes({.kind = "label-histogram"}), Pair(0, 2 * 4));
  EXPECT_EQ(bytes({.kind = "update-direction"}), Pair(54 * 4, 54 * 4));
  EXPECT_EQ(bytes({.kind = "classifier-weights"}), Pair(54 * 4, 8 * 4));
  EXPECT_EQ(bytes({.kind = "classifier-weights", .layers = "all", .bias = true}), Pair(54 * 4, 54 * 4));
  // Reduction happens at the server: it saves nothing on the way.
  EXPECT_EQ(bytes({.kind = "classifier-weights", .variance = 0.9}), Pair(54 * 4, 8 * 4));
  EXPECT_EQ(bytes({.kind = "losses"}, 3), Pair(3 * 54 * 4, 3 * 4));

  Samples samples{.storage = Samples::Storage::kBytes, .shape = {1, 1, 3}, .classes = 2, .labels = {0, 1}};
  samples.bytes.resize(6);
  const std::vector<std::uint32_t> rows{0, 1};
  EXPECT_EQ(bytes({.kind = "confidence-vector"}, 1, {&samples, rows}), Pair(54 * 4 + 2 * (3 + 4), 2 * 4));
  samples.storage = Samples::Storage::kFloats;
  EXPECT_EQ(bytes({.kind = "confidence-vector"}, 1, {&samples, rows}), Pair(54 * 4 + 2 * (12 + 4), 2 * 4));
}

TEST(ProfileWidth, IsTheLengthOfTheVector) {
  const auto network = mlp();
  EXPECT_EQ(*profile_width({.kind = "label-histogram"}, *network, 1), 0u);
  EXPECT_EQ(*profile_width({.kind = "update-direction"}, *network, 1), network->parameters());
  EXPECT_EQ(*profile_width({.kind = "classifier-weights", .layers = "last-two"}, *network, 1), 28u);
  EXPECT_EQ(*profile_width({.kind = "confidence-vector"}, *network, 1), 2u);
  EXPECT_EQ(*profile_width({.kind = "losses"}, *network, 7), 7u);
}

TEST(ProfileReveals, StatesTheNoise) {
  EXPECT_EQ(profile_reveals({.kind = "label-histogram"}), "how many samples of each class the client has");
  EXPECT_EQ(profile_reveals({.kind = "label-histogram", .epsilon = 0.5}),
            "how many samples of each class the client has; 0.5-differentially private against adding or removing one "
            "sample");
}

}  // namespace
}  // namespace muster
