#include "recipe/catalogue.h"

#include "recipe/recipe.h"

namespace muster {

Result<std::vector<CatalogueStage>> catalogue() {
  std::vector<CatalogueStage> stages;

  CatalogueStage recipes{.name = "recipes"};
  for (const BuiltInRecipe& built_in : built_in_recipes()) {
    MUSTER_ASSIGN(const Recipe recipe, parse_recipe(built_in.toml, built_in.name));
    recipes.entries.push_back({recipe.name, recipe.summary, {}});
  }
  stages.push_back(std::move(recipes));

  stages.push_back({"data", data_sources()});
  stages.push_back({"partitions", partitions()});
  CatalogueStage models{.name = "models"};
  for (const ModelEntry& entry : model_catalogue()) models.entries.push_back({entry.name, entry.summary, entry.keys});
  stages.push_back(std::move(models));

  CatalogueStage profiles{.name = "profile"};
  for (const ProfileEntry& entry : profile_kinds()) {
    profiles.entries.push_back(
        {entry.name, fmt::format("{}; bytes: {}; reveals {}", entry.summary, entry.bytes, entry.reveals), entry.keys});
  }
  stages.push_back(std::move(profiles));
  CatalogueStage grouping{.name = "grouping"};
  for (const GrouperEntry& entry : groupers()) grouping.entries.push_back({entry.name, entry.summary, entry.keys});
  stages.push_back(std::move(grouping));
  stages.push_back({"plan", samplers()});
  stages.push_back({"growth", growths()});
  stages.push_back({"regroup", regroup_events()});
  stages.push_back({"training",
                    {{"parallel", "members train from the same model and are averaged", {"group-rounds"}},
                     {"sequential", "the model walks from member to member", {"passes", "shuffle"}}}});
  stages.push_back({"objective",
                    {{"plain", "the client's own loss", {}},
                     {"prox", "holds the client near the model it received (FedProx)", {"mu"}},
                     {"control-variate", "corrects the client's drift by control variates (SCAFFOLD)", {"control"}},
                     {"dynamic", "dynamic regularisation (FedDyn)", {"alpha"}}}});
  stages.push_back(
      {"aggregation",
       {{"samples-weighted", "mean of the models, weighted by training samples (FedAvg)", {}},
        {"uniform", "plain mean of the models", {}},
        {"unbiased",
         "sum of the groups' changes by samples over the probability of being drawn (Group-FEL, Eq. 4)",
         {}},
        {"stabilised", "mean of the models with the same weights, made to sum to 1 (Group-FEL, Eq. 39)", {}},
        {"adagrad", "the mean update drives Adagrad on the server", {"server-learning-rate", "beta1", "tau"}},
        {"adam", "the mean update drives Adam on the server", {"server-learning-rate", "beta1", "beta2", "tau"}},
        {"yogi", "the mean update drives Yogi on the server", {"server-learning-rate", "beta1", "beta2", "tau"}},
        {"control-variate",
         "mean of the models and of the changes of control variates (SCAFFOLD)",
         {"server-learning-rate"}},
        {"dynamic", "mean of the models, corrected by accumulated updates (FedDyn)", {}},
        {"slots",
         "groups take turns at a few models, which are averaged every `window` rounds (FedSeqInter)",
         {"window"}},
        {"none", "no merging: every group keeps its own model", {"mixing"}}}});
  stages.push_back({"cost", cost_models()});
  stages.push_back({"metrics",
                    {{"accuracy", "share of test samples classified correctly", {}},
                     {"loss", "mean cross-entropy on test samples", {}},
                     {"cov_mean", "coefficient of variation of label counts in a group, mean over groups", {}},
                     {"cpd_median", "class probability distance between groups, median over pairs", {}},
                     {"balance_ratio", "rarest over most frequent class in a group, mean over groups", {}},
                     {"covered_classes", "share of classes a group has, mean over groups", {}},
                     {"qcid_mean", "squared distance of class shares from uniform, mean over groups", {}},
                     {"emd_mean", "distance of a group's class shares from those of all groups, mean over groups", {}},
                     {"adjusted_rand", "agreement of groups with known clusters, 0 by chance, 1 if equal", {}},
                     {"mutual_information", "the same, in shared information, 0 to 1", {}}}});

  CatalogueStage keys{.name = "keys"};
  for (const RecipeKey& key : recipe_keys()) {
    const std::string name = key.section.empty() ? key.key : key.section + "." + key.key;
    keys.entries.push_back({name, key.summary + "; " + key.accepted, {}});
  }
  stages.push_back(std::move(keys));
  return stages;
}

}  // namespace muster
