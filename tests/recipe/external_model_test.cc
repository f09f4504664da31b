// model.name = "external": what needs layers is refused when the recipe is read, with the reason; the rest is accepted.
#include <fstream>

#include "recipe/recipe.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using testing::HasSubstr;

// What check_recipe() says of the method with these settings besides.
std::string said_of(const std::string& method, const std::vector<std::string>& settings) {
  auto recipe = load_recipe(method);
  EXPECT_TRUE(recipe.ok()) << recipe.error().message;
  for (const std::string& setting : {std::string("model.name=external"), std::string("model.path=first.safetensors")}) {
    EXPECT_TRUE(apply_setting(*recipe, setting).ok()) << setting;
  }
  for (const std::string& setting : settings) {
    const Status applied = apply_setting(*recipe, setting);
    EXPECT_TRUE(applied.ok()) << setting << ": " << applied.error().message;
  }
  const Status status = check_recipe(*recipe);
  return status.ok() ? "accepted" : status.error().message;
}

TEST(ExternalModel, WhatWorksOnFlatVectorsIsAccepted) {
  for (const char* method :
       {"fedavg", "fedprox", "scaffold", "feddyn", "fedgsp", "fedgroup", "fedseq-random", "group-fel"}) {
    EXPECT_EQ(said_of(method, {}), "accepted") << method;
  }
  EXPECT_EQ(said_of("fedavg", {"aggregation.global=adam", "evaluation.on=clients"}), "accepted");
  EXPECT_EQ(said_of("fedgroup", {"aggregation.shared=[\"encoder\"]"}), "accepted");
}

TEST(ExternalModel, WhatNeedsLayersIsRefusedWithTheReason) {
  EXPECT_EQ(
      said_of("fedavg", {"local.personal=[\"head\"]"}),
      "local.personal: \"head\" does not go with model.name = \"external\": which layers it has, only its clients "
      "know; let them do it by themselves");
  EXPECT_THAT(said_of("fedavg", {"local.freeze=[\"body\"]"}), HasSubstr("local.freeze: \"body\" does not go with"));
  EXPECT_THAT(said_of("fedgroup", {"aggregation.shared=[\"body\"]"}), HasSubstr("want names of tensors"));
  EXPECT_THAT(said_of("fedavg", {"local.objective=fusion"}), HasSubstr("local.objective: \"fusion\" joins layers"));
  EXPECT_THAT(said_of("fedseq-clf-kmeans", {}), HasSubstr("profile.kind: \"classifier-weights\" does not go with"));
  EXPECT_THAT(said_of("fedseq", {}), HasSubstr("profile.kind: \"confidence-vector\" does not go with"));
  EXPECT_THAT(said_of("fedavg", {"evaluation.on=global"}), HasSubstr("only its clients can run it; want \"clients\""));
  EXPECT_THAT(said_of("ifca", {}), HasSubstr("it begins with a model drawn for every group"));
  EXPECT_THAT(said_of("fedavg", {"budget=100"}), HasSubstr("budget: 100"));
  EXPECT_THAT(said_of("fedgsp", {"cost.model=chain"}), HasSubstr("cost.sample-mflop: not set"));
  EXPECT_EQ(said_of("fedgsp", {"cost.model=chain", "cost.sample-mflop=3", "budget=100"}), "accepted");
}

TEST(ExternalModel, HasAPathAndNoInitialisation) {
  EXPECT_THAT(said_of("fedavg", {"model.path=\"\""}), HasSubstr("model.path: missing"));
  EXPECT_THAT(said_of("fedavg", {"model.init=glorot"}), HasSubstr("model.init: \"glorot\" has no effect"));
  EXPECT_THAT(said_of("fedavg", {"model.name=mlp", "model.path=a"}), HasSubstr("model.path: \"a\" has no effect"));
}

TEST(ExternalModel, ThePathIsLookedUpBesideTheRecipe) {
  const ScratchFolder folder;
  std::ofstream(folder / "first.safetensors") << "x";
  std::ofstream(folder / "own.toml") << "[model]\nname = \"external\"\npath = \"first.safetensors\"\n";
  const auto recipe = load_recipe((folder / "own.toml").string());
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  EXPECT_EQ(recipe->model.path, (folder / "first.safetensors").string());
  EXPECT_THAT(format_recipe(*recipe), HasSubstr("path = \"" + (folder / "first.safetensors").string() + "\""));
}

}  // namespace
}  // namespace muster
