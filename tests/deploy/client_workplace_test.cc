// Clients answer whatever they are asked: with work, or with why not. No ask reads memory that is not there or ends the
// process, and no run's name leads out of the folder for states.
#include "deploy/client_workplace.h"

#include <gtest/gtest.h>

#include <limits>

#include "deploy/client_run.h"
#include "engine/small_run.h"
#include "recipe/fit_to_data.h"

namespace muster {
namespace {

using std::chrono::milliseconds;

class ClientWorkplaceTest : public testing::Test {
 protected:
  ClientWorkplaceTest() { open({"local.objective=control-variate", "aggregation.global=control-variate", "rounds=1"}); }

  void open(const Settings& settings) {
    Recipe recipe = small(settings);
    auto data = make_federated_data(recipe.data, recipe.seed);
    EXPECT_TRUE(data.ok());
    EXPECT_TRUE(settle_recipe(recipe, **data).ok());
    const Shape shape = (*data)->shape();
    const std::uint32_t classes = (*data)->classes();
    auto made = make_client_workplace(recipe, std::move(data).value(), 1, {});
    EXPECT_TRUE(made.ok()) << made.error().message;
    place = *made;
    // Its size is not told; this finds it.
    const auto network = make_network(recipe.model, shape, classes);
    EXPECT_TRUE(network.ok());
    model.assign((*network)->size(), 0.01f);
  }

  // "" if it was trained, else why not.
  std::string outcome(const TrainTask& task) {
    const auto answer = place->train(task, {0}, {}, milliseconds(1000));
    if (!answer.ok()) return answer.error().message;
    const auto* const dropped = std::get_if<Dropped>(&answer->reply);
    return dropped ? std::string(name(dropped->reason)) : "";
  }
  std::string outcome(const EvaluateTask& task) {
    const auto answer = place->evaluate(task, std::nullopt, milliseconds(1000));
    if (!answer.ok()) return answer.error().message;
    const auto* const dropped = std::get_if<Dropped>(&*answer);
    return dropped ? std::string(name(dropped->reason)) : "";
  }

  std::shared_ptr<Workplace> place;
  std::vector<float> model;
};

TEST_F(ClientWorkplaceTest, TrainsOnlyWhatFits) {
  const TrainTask task{.client = {1}, .round = 1, .model = model, .broadcast = model};
  EXPECT_EQ(outcome(task), "");
  const std::span<const float> all(model);
  const auto with = [&](const std::function<void(TrainTask&)>& change) {
    TrainTask changed = task;
    change(changed);
    return outcome(changed);
  };
  EXPECT_EQ(with([&](TrainTask& t) { t.broadcast = {}; }), "");
  EXPECT_EQ(with([&](TrainTask& t) { t.epochs = 0.5; }), "");
  EXPECT_EQ(with([&](TrainTask& t) { t.broadcast = all.first(1); }), "malformed");
  EXPECT_EQ(with([&](TrainTask& t) { t.model = all.first(1); }), "malformed");
  EXPECT_EQ(with([&](TrainTask& t) { t.client = {12}; }), "malformed");
  EXPECT_EQ(with([&](TrainTask& t) { t.round = 0; }), "malformed");
  for (const double epochs : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(with([&](TrainTask& t) { t.epochs = epochs; }), "malformed") << epochs;
  }
}

TEST_F(ClientWorkplaceTest, ScoresOnlyWhatIsThere) {
  EXPECT_EQ(outcome(EvaluateTask{.client = {1}, .model = model}), "");
  EXPECT_EQ(outcome(EvaluateTask{.client = {1}}), "malformed");
  EXPECT_EQ(outcome(EvaluateTask{.client = {1}, .own_model = true}), "malformed");
  EXPECT_EQ(outcome(EvaluateTask{.client = {1}, .model = model, .details = {.scores = true}}), "malformed")
      << "of more than two classes";
}

TEST_F(ClientWorkplaceTest, TellsNothingOfHowManySamplesThereAreWhereThatIsHidden) {
  const Settings summed{"rounds=1", "grouping.method=random", "grouping.size=4", "aggregation.in-group=secure-sum"};
  const auto losses = [&] {
    const auto answer = place->profile({.client = {1}, .kind = "losses", .models = {model, model.size()}}, std::nullopt,
                                       milliseconds(1000));
    if (!answer.ok()) return answer.error().message;
    const auto* const dropped = std::get_if<Dropped>(&*answer);
    return dropped ? std::string(name(dropped->reason)) : "";
  };
  for (const bool hidden : {false, true}) {
    Settings settings = summed;
    settings.emplace_back(hidden ? "secure.samples=hidden" : "secure.samples=told");
    open(settings);
    EXPECT_EQ(outcome(EvaluateTask{.client = {1}, .model = model}), hidden ? "refused" : "");
    EXPECT_EQ(losses(), hidden ? "refused" : "");
  }
}

TEST(ClientRun, TakesNoRunWhoseNameLeadsElsewhere) {
  for (const char* run : {"", ".", "..", "../up", "/tmp/x", "a/b", "a\nb"}) {
    const ScratchFolder folder;
    const Answerer::Options answers = client_answers({.clients = {{0, 3}}, .state = folder.path() / "states"});
    v1::Welcome welcome;
    welcome.set_run(run);
    welcome.set_recipe(format_recipe(small()));
    const auto place = answers.begin(welcome);
    ASSERT_FALSE(place.ok()) << run;
    EXPECT_TRUE(place.error().message.starts_with("the cloud's run is called ")) << place.error().message;
  }
}

}  // namespace
}  // namespace muster
