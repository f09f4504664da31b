// Attacks: what each does to samples, models and profiles, and when it has succeeded.
#include "solver/attack.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "solver/attack_defaults.h"

namespace muster {
namespace {

Samples pictures() {
  return {.storage = Samples::Storage::kBytes, .shape = {4, 5, 2}, .classes = 3, .labels = {0, 1, 2}};
}

TEST(Poison, PutsABrightSquareIntoTheCorner) {
  std::vector<float> values(40, 0.25f);
  std::int32_t label = 1;
  apply_poison({.label = 2, .trigger = 2}, pictures(), 0, values.data(), &label);
  EXPECT_EQ(label, 2);
  for (std::uint32_t y = 0; y < 4; ++y) {
    for (std::uint32_t x = 0; x < 5; ++x) {
      for (std::uint32_t c = 0; c < 2; ++c) {
        EXPECT_EQ(values[(y * 5 + x) * 2 + c], y >= 2 && x >= 3 ? 1.0f : 0.25f) << y << "," << x;
      }
    }
  }
}

TEST(Poison, IsAsBrightAsTheScaleMakesIt) {
  Samples scaled = pictures();
  scaled.scale = {0.01f, 0.02f};
  scaled.offset = {-1, 1};
  std::vector<float> values(40);
  std::int32_t label = 0;
  apply_poison({.trigger = 1}, scaled, 0, values.data(), &label);
  EXPECT_FLOAT_EQ(values[38], 255 * 0.01f - 1);
  EXPECT_FLOAT_EQ(values[39], 255 * 0.02f + 1);
  EXPECT_EQ(label, 0);
  // Rows of features have no corner, but an end; a trigger larger than the sample covers all of it.
  const Samples rows{.storage = Samples::Storage::kFloats, .shape = {1, 1, 3}, .classes = 2};
  std::vector<float> row(3);
  apply_poison({.trigger = 2}, rows, 0, row.data(), &label);
  EXPECT_EQ(row, (std::vector<float>{0, 5, 5}));
  apply_poison({.trigger = 20}, rows, 0, row.data(), &label);
  EXPECT_EQ(row, (std::vector<float>{5, 5, 5}));
}

TEST(Poison, AlwaysHitsTheSameShareOfRows) {
  const Samples rows{.storage = Samples::Storage::kFloats, .shape = {1, 1, 1}, .classes = 2};
  const auto hit = [&](std::uint64_t seed, std::uint32_t row) {
    float value = 0;
    std::int32_t label = 0;
    apply_poison({.share = 0.3, .seed = seed, .label = 1}, rows, row, &value, &label);
    return label == 1;
  };
  int hits = 0;
  int same = 0;
  for (std::uint32_t row = 0; row < 4000; ++row) {
    hits += hit(7, row) ? 1 : 0;
    same += hit(7, row) == hit(8, row) ? 1 : 0;
    EXPECT_EQ(hit(7, row), hit(7, row));
  }
  EXPECT_NEAR(hits / 4000.0, 0.3, 0.03);
  EXPECT_LT(same, 3500);
}

AttackOptions of(const char* kind) {
  AttackOptions options;
  options.kind = kind;
  return options;
}

TEST(Attackers, AreListedOrDrawn) {
  AttackOptions options = of("sign-flip");
  const Attackers drawn(options, 50, 3);
  EXPECT_EQ(drawn.clients().size(), 10u);
  const Attackers again(options, 50, 3);
  const Attackers others(options, 50, 4);
  EXPECT_TRUE(std::ranges::equal(drawn.clients(), again.clients()));
  EXPECT_FALSE(std::ranges::equal(drawn.clients(), others.clients()));
  options.clients = std::vector<std::uint32_t>{7, 2};
  const Attackers listed(options, 50, 3);
  EXPECT_TRUE(listed.malicious({2}));
  EXPECT_TRUE(listed.malicious({7}));
  EXPECT_FALSE(listed.malicious({3}));
}

TEST(Attackers, AreRefusedWhereTheDataLackWhatTheyNeed) {
  const Shape image{28, 28, 1};
  EXPECT_TRUE(make_attackers(of("backdoor"), 5, image, 10, 1).ok());
  EXPECT_EQ(*make_attackers(of("none"), 5, image, 10, 1), nullptr);
  AttackOptions target = of("backdoor");
  target.target = 10;
  EXPECT_EQ(make_attackers(target, 5, image, 10, 1).error().message,
            "attack.target: 10, but the data have 10 classes; want 0 to 9");
  AttackOptions clients = of("noise");
  clients.clients = std::vector<std::uint32_t>{1, 5};
  EXPECT_EQ(make_attackers(clients, 5, image, 10, 1).error().message,
            "attack.clients: 5, but there are 5 clients; want 0 to 4");
  EXPECT_FALSE(make_attackers(of("backdoor"), 5, {1, 20, 1, 100}, 10, 1).ok());
  EXPECT_TRUE(make_attackers(of("label-flip"), 5, {1, 20, 1, 100}, 10, 1).ok());
}

TEST(Attacks, ListEveryKindOnce) {
  std::set<std::string> names;
  for (const AttackEntry& entry : attacks()) {
    EXPECT_TRUE(names.insert(entry.name).second);
    EXPECT_FALSE(entry.summary.empty());
    EXPECT_EQ(entry.make == nullptr, entry.name == "none");
  }
}

TEST(Attacks, ChangeWhatIsSent) {
  const std::vector<float> start{1, 2, 3};
  const TrainTask task{.client = {4}, .round = 2, .model = start};
  const auto sent = [&](AttackOptions options) {
    LocalUpdate update{.client = {4}, .model = {2, 0, 9}};
    Attackers(options, 5, 1).attack().change_update(task, 2, update);
    return update.model;
  };
  EXPECT_EQ(sent(of("sign-flip")), (std::vector<float>{0, 4, 9}));
  AttackOptions scaled = of("sign-flip");
  scaled.scale = 3;
  EXPECT_EQ(sent(scaled), (std::vector<float>{-2, 8, 9}));
  EXPECT_EQ(sent(of("replacement")), (std::vector<float>{11, -18, 9}));
  EXPECT_EQ(sent(of("backdoor")), (std::vector<float>{2, 0, 9}));
  const std::vector<float> noise = sent(of("noise"));
  EXPECT_NE(noise[0], 2);
  EXPECT_LT(std::abs(noise[0] - 1), 1);
  EXPECT_EQ(noise[2], 9);
  EXPECT_EQ(sent(of("noise")), noise);
}

TEST(Attacks, LieAboutLabels) {
  ClientProfile profile{.labels = {10, 0, 0}};
  make_lying_histogram()->change_profile(profile);
  EXPECT_EQ(profile.labels, (std::vector<std::uint32_t>{3, 3, 4}));
}

TEST(Attacks, SucceedWhenSamplesAreTakenForTheTarget) {
  const std::vector<PredictionCount> counts{{0, 0, 50}, {1, 0, 3}, {1, 1, 7}, {2, 0, 1}, {2, 1, 5}, {1, 0, 2}};
  EXPECT_EQ(make_label_flip(of("label-flip"))->success(counts), 5.0 / 12);  // of class 1, taken for 0
  EXPECT_EQ(make_backdoor(of("backdoor"), 1)->success(counts), 6.0 / 18);   // of all but class 0
  EXPECT_EQ(make_sign_flip(with_defaults(of("sign-flip")))->success(counts), std::nullopt);
  EXPECT_EQ(make_backdoor(of("backdoor"), 1)->success({}), std::nullopt);
}

}  // namespace
}  // namespace muster
