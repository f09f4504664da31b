#include <algorithm>
#include <cmath>
#include <set>

#include "aggregate/aggregator.h"
#include "base/catalogue_entry.h"
#include "solver/objective.h"

namespace muster {
namespace {

AggregatorSizes one_value() {
  return {.parameters = 1, .size = 1, .clients = 1, .alpha = 0.1};
}

// Keeps the largest value that any group sent: a rule that no built-in choice has.
class Largest final : public Aggregator {
 public:
  void begin(std::span<const float>) override { sent_.clear(); }
  void add(const GroupUpdate& update) override {
    if (!update.members.empty()) sent_.push_back(update.model[0]);
  }
  void finish(std::span<float> model) override {
    if (!sent_.empty()) model[0] = *std::ranges::max_element(sent_);
  }

 private:
  std::vector<float> sent_;
};

std::unique_ptr<Aggregator> make_largest(const AggregationOptions&, const AggregatorSizes&) {
  return std::make_unique<Largest>();
}

TEST(Aggregations, ListEveryChoiceOnceWithItsProperties) {
  std::set<std::string> names;
  for (const AggregationEntry& entry : aggregations()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    ASSERT_NE(find_aggregation(entry.name), nullptr);
    EXPECT_EQ(find_aggregation(entry.name)->summary, entry.summary);
    EXPECT_EQ(corrects_draw(entry.name), entry.name == "unbiased" || entry.name == "stabilised") << entry.name;
    EXPECT_EQ(make_aggregator({.global = entry.name}, one_value()).ok(), entry.models == ModelKeeping::kShared)
        << entry.name;
  }
  EXPECT_EQ(find_aggregation("slots")->models, ModelKeeping::kSlots);
  EXPECT_EQ(find_aggregation("none")->models, ModelKeeping::kPerGroup);
  EXPECT_EQ(find_aggregation("adam")->keys,
            (std::vector<std::string>{"server-learning-rate", "beta1", "beta2", "tau"}));
  EXPECT_EQ(find_aggregation("mode"), nullptr);
  EXPECT_FALSE(corrects_draw("mode"));
}

TEST(Aggregations, SuggestTheNearestName) {
  const auto aggregator = make_aggregator({.global = "unifrom"}, one_value());
  ASSERT_FALSE(aggregator.ok());
  EXPECT_EQ(aggregator.error().code, ErrorCode::kUsage);
  EXPECT_THAT(aggregator.error().message, testing::HasSubstr("did you mean 'uniform'"));
  EXPECT_THAT(aggregator.error().message, testing::HasSubstr("slots, none"));
}

TEST(Aggregations, DoNotMergeWhereGroupsKeepTheirModels) {
  for (const char* name : {"slots", "none"}) {
    const auto aggregator = make_aggregator({.global = name}, one_value());
    ASSERT_FALSE(aggregator.ok());
    EXPECT_THAT(aggregator.error().message, testing::HasSubstr("more than one model"));
  }
}

TEST(Aggregations, PairWithTheObjectiveTheyServe) {
  for (const AggregationEntry& entry : aggregations()) {
    for (const CatalogueEntry& objective : objectives()) {
      const bool served = objective.name == "control-variate" || objective.name == "dynamic";
      const bool server = entry.name == "control-variate" || entry.name == "dynamic";
      const bool also = entry.name == "slots" && objective.name == "dynamic";  // FedSeqInter with FedDyn
      const bool expected = served || server ? also || entry.name == objective.name : true;
      const Status pairing = check_pairing(entry.name, objective.name);
      EXPECT_EQ(pairing.ok(), expected) << entry.name << " with " << objective.name;
      if (!pairing.ok()) {
        EXPECT_EQ(pairing.error().code, ErrorCode::kUsage);
      }
    }
  }
  EXPECT_EQ(check_pairing("dynamic", "plain").error().message,
            "local.objective: \"plain\" does not go with aggregation.global = \"dynamic\", whose server relies on what "
            "its clients send; want local.objective = \"dynamic\"");
  EXPECT_EQ(
      check_pairing("slots", "control-variate").error().message,
      "aggregation.global: \"slots\" does not go with local.objective = \"control-variate\", which needs a server "
      "that keeps its part; want aggregation.global = \"control-variate\"");
}

TEST(AddAggregation, MakesARuleThatMusterDoesNotHave) {
  const std::size_t before = aggregations().size();
  ASSERT_TRUE(add_aggregation({.name = "largest",
                               .summary = "the largest value",
                               .draw = DrawCorrection::kStabilised,
                               .pairs_with = "prox"},
                              make_largest)
                  .ok());
  ASSERT_EQ(aggregations().size(), before + 1);
  EXPECT_EQ(aggregations().back().name, "largest");
  EXPECT_TRUE(corrects_draw("largest"));
  EXPECT_EQ(draw_corrections("largest", std::vector<double>{std::log(0.5), std::log(0.25)}, 8),
            draw_corrections("stabilised", std::vector<double>{std::log(0.5), std::log(0.25)}, 8));

  auto made = make_aggregator({.global = "largest"}, one_value());
  ASSERT_TRUE(made.ok());
  std::vector<float> model{0};
  (*made)->begin(model);
  for (const float value : {3.0f, 7.0f, 5.0f}) {
    GroupUpdate update;
    update.model = {value};
    update.members.resize(1);
    (*made)->add(update);
  }
  (*made)->finish(model);
  EXPECT_EQ(model[0], 7);

  // It wants prox, but prox does not want it.
  EXPECT_TRUE(check_pairing("largest", "prox").ok());
  EXPECT_FALSE(check_pairing("largest", "plain").ok());
  EXPECT_TRUE(check_pairing("uniform", "prox").ok());

  const Status twice = add_aggregation({.name = "largest", .summary = "again"}, make_largest);
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().message, "aggregation 'largest': there is one of that name already");
}

TEST(AddAggregation, RefusesWhatCannotWork) {
  const std::size_t before = aggregations().size();
  const AggregationEntry good{.name = "smallest", .summary = "the smallest value"};
  EXPECT_FALSE(add_aggregation(good, nullptr).ok());
  for (const char* name : {"", "Smallest", "-smallest", "two words", "uniform"}) {
    AggregationEntry entry = good;
    entry.name = name;
    EXPECT_FALSE(add_aggregation(entry, make_largest).ok()) << name;
  }
  AggregationEntry slots = good;
  slots.models = ModelKeeping::kSlots;
  EXPECT_FALSE(add_aggregation(slots, make_largest).ok());
  AggregationEntry unknown_key = good;
  unknown_key.keys = {"temperature"};
  EXPECT_FALSE(add_aggregation(unknown_key, make_largest).ok());
  EXPECT_EQ(aggregations().size(), before);
}

TEST(AddAggregation, AFactoryThatMakesNothingIsAnError) {
  ASSERT_TRUE(add_aggregation({.name = "nothing", .summary = "none at all"}, [](const AggregationOptions&,
                                                                                const AggregatorSizes&) {
                return std::unique_ptr<Aggregator>();
              }).ok());
  EXPECT_FALSE(make_aggregator({.global = "nothing"}, one_value()).ok());
}

}  // namespace
}  // namespace muster
