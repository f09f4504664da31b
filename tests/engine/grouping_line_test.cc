// The lines of groups.jsonl, field by field.
#include "engine/grouping_line.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/federated_data.h"

namespace muster {
namespace {

using Json = nlohmann::json;

Grouping pairs() {
  Grouping grouping;
  const ClientId clients[] = {{0}, {2}, {1}, {3}};
  grouping.add(std::span(clients).first(2));
  grouping.add(std::span(clients).subspan(2));
  grouping.add_idle({4});
  return grouping;
}

// Clients 0 and 1 have the first class only, 2 and 3 the second, 4 both. Even and odd clients are planted as clusters.
class Planted final : public FederatedData {
 public:
  std::uint32_t clients() const override { return 5; }
  Shape shape() const override { return {1, 1, 2}; }
  std::uint32_t classes() const override { return 2; }
  std::uint32_t train_count(ClientId client) const override {
    const std::vector<std::uint32_t> counts = label_counts(client);
    return counts[0] + counts[1];
  }
  std::uint32_t test_count(ClientId) const override { return 0; }
  SampleView train(ClientId, SampleBuffer&) const override { return {}; }
  SampleView test(ClientId, SampleBuffer&) const override { return {}; }
  SampleView global_test() const override { return {}; }
  SampleView exemplars() const override { return {}; }
  std::vector<std::uint32_t> label_counts(ClientId client) const override {
    const std::vector<std::vector<std::uint32_t>> counts{{30, 0}, {20, 0}, {0, 10}, {0, 20}, {5, 5}};
    return counts[client.value];
  }
  std::optional<std::uint32_t> planted_cluster(ClientId client) const override { return client.value % 2; }
  std::string summary() const override { return "planted"; }
};

TEST(GroupingLine, SaysWhatWasToldAndWhatItTook) {
  const auto noisy = std::move(make_profile_kind({.kind = "label-histogram", .epsilon = 0.5})).value();
  const Grouping grouping = pairs();
  const Json line = Json::parse(grouping_line({.round = 3,
                                               .method = "random",
                                               .why = "regroup-every",
                                               .grouping = grouping,
                                               .profile = noisy.get(),
                                               .bytes_up = 40,
                                               .bytes_down = 50,
                                               .notes = {"a note"}},
                                              nullptr));
  EXPECT_EQ(line, Json({{"round", 3},
                        {"method", "random"},
                        {"count", 2},
                        {"why", "regroup-every"},
                        {"profile",
                         {{"kind", "label-histogram"},
                          {"bytes_up", 40},
                          {"bytes_down", 50},
                          {"reveals", noisy->reveals()},
                          {"epsilon", 0.5}}},
                        {"notes", {"a note"}},
                        {"idle", {4}},
                        {"members", {{0, 2}, {1, 3}}}}));
}

TEST(GroupingLine, SaysNothingOfProfilesWhereNothingIsTold) {
  const auto none = std::move(make_profile_kind({.kind = "none"})).value();
  const Grouping grouping = pairs();
  const Json line = Json::parse(grouping_line({.grouping = grouping, .profile = none.get(), .notes = {}}, nullptr));
  for (const char* field : {"profile", "quality", "truth", "notes"}) EXPECT_FALSE(line.contains(field)) << field;
}

TEST(GroupingLine, TheOracleJudgesTheMembersOfEachGroup) {
  const Planted data;
  const Oracle oracle(data, 1);
  const Grouping grouping = pairs();
  const Json line = Json::parse(grouping_line({.grouping = grouping, .notes = {}}, &oracle));
  // Groups of (30, 10) and (20, 20): standard deviations 10 and 0 about a mean of 20.
  const GroupQuality quality = oracle.quality(grouping);
  EXPECT_NEAR(quality.cov_mean, 0.25, 1e-9);
  EXPECT_EQ(line["quality"]["cov_mean"], quality.cov_mean);
  EXPECT_EQ(line["quality"]["cpd_median"], quality.cpd_median);
  EXPECT_EQ(line["quality"]["balance_ratio"], quality.balance_ratio);
  EXPECT_EQ(line["quality"]["covered_classes"], quality.covered_classes);
  EXPECT_NE(quality.cov_mean, quality.cpd_median);
  EXPECT_EQ(line["truth"]["clients"], 5);  // also the idle one
  EXPECT_EQ(line["truth"]["correct"], 4);
  EXPECT_EQ(line["truth"]["adjusted_rand"], 1.0);
  EXPECT_EQ(line["truth"]["mutual_information"], 1.0);
}

// With k = 1 - 1/e the distance of (1, 0) and (0, 1) is 2 k, and that of either and (1/2, 1/2) is k / 2.
TEST(GroupingLine, TheOracleJudgesSingleClientsTogetherWithGroups) {
  const Planted data;
  const Oracle oracle(data, 1);
  const Grouping grouping = pairs();
  const Json line = Json::parse(grouping_line({.grouping = grouping, .notes = {}}, &oracle));
  // Of the ten pairs of five clients two are equal, four are with client 4 and four have a class each.
  const double kernel = 1 - std::exp(-1.0);
  EXPECT_NEAR(line["quality"]["client_cpd_median"].get<double>(), 0.5 * kernel, 1e-12);
  EXPECT_NEAR(line["quality"]["client_cpd_low"].get<double>(), 0.5 * kernel, 1e-12);
  EXPECT_NEAR(line["quality"]["client_cpd_high"].get<double>(), 2 * kernel, 1e-12);
  // (3/4, 1/4) and (1/2, 1/2).
  for (const char* field : {"cpd_low", "cpd_median", "cpd_high"}) {
    EXPECT_NEAR(line["quality"][field].get<double>(), 0.125 * kernel, 1e-12) << field;
  }
}

TEST(GroupingLine, HasTheMatrixOfDistancesAndWhatItTellsOfTheClusters) {
  const Planted data;
  const Oracle oracle(data, 1);
  const Grouping grouping = pairs();
  const std::vector<float> vectors{0, 1, 3, 1.0f / 3};
  ClientDistances distances = client_distances("l1", {{{2}, std::span(&vectors[1], 1)},
                                                      {{0}, std::span(&vectors[0], 1)},
                                                      {{3}, std::span(&vectors[2], 1)},
                                                      {{1}, std::span(&vectors[3], 1)}});
  const Json line = Json::parse(grouping_line({.grouping = grouping, .distances = &distances, .notes = {}}, &oracle));
  EXPECT_EQ(line["distances"]["metric"], "l1");
  EXPECT_EQ(line["distances"]["clients"], Json({0, 1, 2, 3}));
  EXPECT_EQ(line["distances"]["rows"],
            Json::parse("[[0.0,0.333333,1.0,3.0],[0.333333,0.0,0.666667,2.66667],[1.0,0.666667,0.0,2.0],"
                        "[3.0,2.66667,2.0,0.0]]"));
  // Clients 0 and 2 are of one cluster, 1 and 3 of the other.
  EXPECT_NEAR(line["truth"]["distance_within"].get<double>(), (1 + 8.0 / 3) / 2, 1e-5);
  EXPECT_NEAR(line["truth"]["distance_between"].get<double>(), (1.0 / 3 + 3 + 2.0 / 3 + 2) / 4, 1e-5);
  EXPECT_FALSE(Json::parse(grouping_line({.grouping = grouping, .distances = &distances, .notes = {}}, nullptr))
                   .contains("truth"));
}

TEST(GroupingLine, OfNewcomersSaysWhoWentWhere) {
  const Json line =
      Json::parse(newcomers_line(5, "nearest-head", {{{7}, {.group = 1, .dissimilarity = 0.5}}, {{3}, {.group = 0}}}));
  EXPECT_EQ(line["round"], 5);
  EXPECT_EQ(line["method"], "nearest-head");
  EXPECT_EQ(line["why"], "newcomers");
  ASSERT_EQ(line["placed"].size(), 2u);
  EXPECT_EQ(line["placed"][0], Json({{"client", 7}, {"group", 1}, {"dissimilarity", 0.5}}));
  EXPECT_EQ(line["placed"][1]["client"], 3);
  EXPECT_EQ(line["placed"][1]["group"], 0);
}

}  // namespace
}  // namespace muster
