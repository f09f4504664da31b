// Four rounds of every way to keep models, by hand.
#include <set>

#include "group_updates.h"

namespace muster {
namespace {

using testing::ElementsAre;

void send(Models& models, std::size_t index, std::uint32_t group, float value, std::uint64_t samples) {
  GroupUpdate update = update_of(group, {value}, samples);
  models.add(update, index);
}
void send_nothing(Models& models, std::size_t index, std::uint32_t group) {
  GroupUpdate update{.group = {group}, .model = {1000}};
  update.dropped.push_back({{group}, DropReason::kFault});
  models.add(update, index);
}

TEST(ModelsByRound, Shared) {
  const auto models =
      make_shared_model(*make_aggregator({}, {.parameters = 1, .size = 1, .clients = 2, .alpha = 0}), {2});
  models->regrouped(groups_of_one(2), {});
  EXPECT_FALSE(models->per_group());
  models->begin(1, 2);
  EXPECT_THAT(models->start({1}, 1), ElementsAre(2));
  send(*models, 0, 0, 4, 1);
  send(*models, 1, 1, 8, 3);
  models->finish();
  EXPECT_THAT(models->shared(), ElementsAre(7));
  models->begin(2, 1);
  send(*models, 0, 1, 5, 3);
  models->finish();
  EXPECT_THAT(models->of({0}), ElementsAre(5));
  models->begin(3, 2);
  send_nothing(*models, 0, 0);
  send_nothing(*models, 1, 1);
  models->finish();
  EXPECT_THAT(models->shared(), ElementsAre(5));  // as it was
  models->regrouped(groups_of_one(1), {});
  models->begin(4, 1);
  EXPECT_THAT(models->start({0}, 0), ElementsAre(5));
  send(*models, 0, 0, 6, 9);
  models->finish();
  EXPECT_THAT(models->shared(), ElementsAre(6));
  EXPECT_EQ(models->count(), 1u);
}

TEST(ModelsByRound, PerGroup) {
  const auto models = make_group_models(0, {2});
  models->regrouped(groups_of_one(3), {});
  EXPECT_EQ(models->count(), 3u);
  models->begin(1, 2);  // groups 0 and 2
  send(*models, 0, 0, 5, 1);
  send(*models, 1, 2, 8, 9);
  models->finish();
  EXPECT_THAT(models->of({1}), ElementsAre(2));
  EXPECT_THAT(models->shared(), ElementsAre(5));  // of all, each alike
  models->begin(2, 1);
  EXPECT_THAT(models->start({2}, 0), ElementsAre(8));
  send(*models, 0, 2, 11, 1);
  models->finish();
  EXPECT_THAT(models->shared(), ElementsAre(6));
  models->begin(3, 1);
  send_nothing(*models, 0, 0);
  models->finish();
  EXPECT_THAT(models->of({0}), ElementsAre(5));
  models->regrouped(groups_of_one(2), {});  // new groups begin at the mean
  models->begin(4, 2);
  EXPECT_THAT(models->start({0}, 0), ElementsAre(6));
  EXPECT_THAT(models->start({1}, 1), ElementsAre(6));
}

TEST(ModelsByRound, Slots) {
  const auto models = make_slot_models({.window = 2, .seed = 1}, {0});
  models->regrouped(groups_of_one(9), {});
  EXPECT_FALSE(models->per_group());
  models->begin(1, 2);
  send(*models, 0, 3, 1, 1);
  send(*models, 1, 7, 2, 3);
  models->finish();
  EXPECT_THAT(models->shared(), ElementsAre(1.75));
  EXPECT_THAT(models->of({7}), ElementsAre(1.75));
  EXPECT_EQ(models->count(), 2u);
  models->begin(2, 2);  // averaged, and the samples are counted anew
  EXPECT_THAT(models->start({0}, 0), ElementsAre(1.75));
  EXPECT_THAT(models->start({1}, 1), ElementsAre(1.75));
  send(*models, 0, 0, 3, 1);
  send(*models, 1, 1, 4, 3);
  models->finish();
  EXPECT_THAT(models->shared(), ElementsAre(3.75));
  models->begin(3, 2);  // each slot goes on
  const float first = models->start({2}, 0)[0];
  const float second = models->start({5}, 1)[0];
  EXPECT_EQ(std::set({first, second}), std::set({3.0f, 4.0f}));
  send(*models, 0, 2, 10, 4);
  send_nothing(*models, 1, 5);
  models->finish();
  EXPECT_FLOAT_EQ(models->shared()[0], first == 3 ? (10 * 5 + 4 * 3) / 8.0f : (10 * 7 + 3 * 1) / 8.0f);
  const float mean = models->shared()[0];
  models->begin(4, 3);  // one more slot than before starts where all do
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(models->start({i}, i)[0], mean);
  EXPECT_EQ(models->count(), 3u);
  models->finish();
  EXPECT_FLOAT_EQ(models->shared()[0], mean);  // nobody trained
}

TEST(ModelsByRound, SlotsAreAveragedOncePerRoundOfAllGroupsUnlessTheRecipeSays) {
  const auto models = make_slot_models({}, {0});
  models->regrouped(groups_of_one(3), {});
  std::vector<std::uint32_t> averaged;
  for (std::uint32_t round = 1; round <= 7; ++round) {
    models->begin(round, 2);
    if (models->start({0}, 0)[0] == models->start({1}, 1)[0]) averaged.push_back(round);
    send(*models, 0, 0, static_cast<float>(10 * round), 1);
    send(*models, 1, 1, static_cast<float>(10 * round + 1), 1);
    models->finish();
  }
  EXPECT_THAT(averaged, ElementsAre(1, 3, 6));
  // Groups formed anew change it.
  models->regrouped(groups_of_one(4), {});
  models->begin(8, 2);
  EXPECT_EQ(models->start({0}, 0)[0], models->start({1}, 1)[0]);
}

TEST(ModelsByRound, SlotsAreDealtByRoundAndSeed) {
  const auto dealt = [](std::uint64_t seed) {
    const auto models = make_slot_models({.window = 100, .seed = seed}, {0});
    models->regrouped(groups_of_one(9), {});
    std::vector<float> starts;
    for (std::uint32_t round = 1; round <= 4; ++round) {
      models->begin(round, 6);
      for (std::uint32_t i = 0; i < 6; ++i) {
        const float start = models->start({i}, i)[0];
        starts.push_back(start);
        send(*models, i, i, round == 1 ? static_cast<float>(i + 1) : start, 1);
      }
      models->finish();
    }
    return starts;
  };
  const std::vector<float> starts = dealt(1);
  EXPECT_EQ(dealt(1), starts);
  EXPECT_NE(dealt(2), starts);
  const std::vector<float> second(starts.begin() + 6, starts.begin() + 12);
  const std::vector<float> third(starts.begin() + 12, starts.begin() + 18);
  EXPECT_NE(second, third);
}

TEST(ModelsByRound, ASlotThatDidNotTrainCorrectsNothing) {
  const auto models = make_slot_models({.window = 100, .alpha = 0.5, .clients = 2, .parameters = 1}, {1});
  models->regrouped(groups_of_one(2), {});
  models->begin(1, 2);
  send(*models, 0, 0, 3, 1);
  send(*models, 1, 1, 5, 1);
  models->finish();
  EXPECT_THAT(models->shared(), ElementsAre(7));  // h = -0.5 / 2 * (2 + 4) = -1.5, shared = 4 + 3
  models->begin(2, 2);
  const float other = models->start({1}, 1)[0];
  send(*models, 0, 0, 9, 1);
  send_nothing(*models, 1, 1);
  models->finish();
  // h = -1.5 - 0.25 * (9 - 7) = -2; the slot that trained has two samples now.
  EXPECT_FLOAT_EQ(models->shared()[0], (9 * 2 + other) / 3 + 4);
}

TEST(ModelsByRound, PerClient) {
  const auto models = make_client_models({2});
  models->regrouped(groups_of_one(2), {});
  for (std::uint32_t round = 1; round <= 4; ++round) {
    models->begin(round, 2);
    EXPECT_THAT(models->start({1}, 1), ElementsAre(2));  // for those that have none yet
    send(*models, 0, 0, 5, 1);
    models->finish();
    EXPECT_THAT(models->shared(), ElementsAre(2));
  }
  EXPECT_EQ(models->count(), 2u);
}

TEST(ModelsByRound, TheRecipeSaysHowTheyAreKept) {
  const AggregatorSizes sizes{.parameters = 1, .size = 1, .clients = 2, .alpha = 0.5};
  const auto made = [&](const char* global, const char* method, const char* objective = "plain") {
    Recipe recipe;
    recipe.aggregation.global = global;
    recipe.aggregation.mixing = 0.5;
    recipe.aggregation.window = 2;
    recipe.grouping.method = method;
    recipe.local.objective.name = objective;
    recipe.local.objective.alpha = 0.5;
    auto models = make_models(recipe, sizes, {1});
    EXPECT_TRUE(models.ok());
    (*models)->regrouped(groups_of_one(2), {});
    (*models)->begin(1, 2);
    send(**models, 0, 0, 3, 1);
    send(**models, 1, 1, 5, 1);
    (*models)->finish();
    return std::move(models).value();
  };
  EXPECT_TRUE(made("none", "singletons")->in_clients());
  const auto groups = made("none", "random");
  EXPECT_TRUE(groups->per_group() && !groups->in_clients());
  // Mixed with 0.5: (3 + 0.5 / 5 * 5) / (1 + 0.5 / 5).
  EXPECT_NEAR(groups->of({0})[0], 3.5 / 1.1, 1e-6);
  const auto slots = made("slots", "random");
  EXPECT_THAT(slots->shared(), ElementsAre(4));
  slots->begin(2, 2);
  EXPECT_THAT(slots->start({0}, 0), ElementsAre(4));  // the window of the recipe
  // Dynamic regularisation corrects the mean: h = -0.5 / 2 * (2 + 4), shared = 4 - h / 0.5.
  EXPECT_THAT(made("slots", "random", "dynamic")->shared(), ElementsAre(7));
  EXPECT_FALSE(made("uniform", "random")->per_group());
}

TEST(ModelsByRound, SlotsAreDealtByTheSeedOfTheRecipe) {
  const auto dealt = [](std::uint64_t seed) {
    Recipe recipe;
    recipe.seed = seed;
    recipe.aggregation.global = "slots";
    recipe.aggregation.window = 100;
    recipe.grouping.method = "random";
    auto models = make_models(recipe, {.parameters = 1, .size = 1, .clients = 8, .alpha = 0}, {0});
    EXPECT_TRUE(models.ok());
    (*models)->regrouped(groups_of_one(8), {});
    (*models)->begin(1, 8);
    for (std::uint32_t i = 0; i < 8; ++i) send(**models, i, i, static_cast<float>(i), 1);
    (*models)->finish();
    (*models)->begin(2, 8);
    std::vector<float> starts;
    for (std::uint32_t i = 0; i < 8; ++i) starts.push_back((*models)->start({i}, i)[0]);
    return starts;
  };
  EXPECT_NE(dealt(1), dealt(2));
}

}  // namespace
}  // namespace muster
