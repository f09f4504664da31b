// Every composition and every built-in recipe on generated data, with the signature that it must have: see
// signature_test.cc.
#pragma once

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/isa.h"
#include "compositions.h"
#include "small_run.h"

namespace muster {

// "NAME ISA" -> signature.
inline const std::map<std::string, std::string>& stored_signatures() {
  static const std::map<std::string, std::string> stored = [] {
    std::map<std::string, std::string> read;
    std::ifstream in(std::filesystem::path(MUSTER_SOURCE_DIR) / "tests/engine/signatures.txt");
    for (std::string name, isa, signature; in >> name >> isa >> signature;) read[name + " " + isa] = signature;
    return read;
  }();
  return stored;
}

// A built-in recipe with everything that makes it itself, on few generated images.
inline Recipe on_few_images(const BuiltInRecipe& built_in) {
  Result<Recipe> parsed = load_recipe(std::string(built_in.name));
  EXPECT_TRUE(parsed.ok());
  Recipe recipe = std::move(parsed).value();
  recipe.rounds = 3;
  recipe.evaluation.every = 1;
  recipe.data.source = "blobs";
  recipe.data.clients = std::min(recipe.data.clients.value_or(30), 30u);
  if (recipe.data.partition != "classes-per-client" && recipe.data.partition != "label-groups") {
    recipe.data.samples_min = 40;
    recipe.data.samples_max = 60;
  }
  if (recipe.data.partition == "label-groups") recipe.data.samples_max = 60;
  recipe.local.epochs = std::min(recipe.local.epochs, 2.0);
  recipe.data.exemplars = std::min(recipe.data.exemplars, 3u);
  if (recipe.profile.epochs) recipe.profile.epochs = 1.0;
  if (recipe.grouping.min_samples) recipe.grouping.min_samples = 200;
  if (recipe.grouping.size) recipe.grouping.size = std::min(*recipe.grouping.size, 10u);
  if (std::holds_alternative<std::uint32_t>(recipe.profile_clients.value)) recipe.profile_clients = {12u};
  return recipe;
}

struct Stored {
  std::string name;
  std::function<Recipe()> recipe;
  Isa isa;
};
inline std::ostream& operator<<(std::ostream& out, const Stored& stored) {
  return out << stored.name;
}

// Of one instruction set.
inline std::vector<Stored> all_stored(Isa isa) {
  std::vector<Stored> all;
  for (const NamedSettings& composition : kCompositions) {
    all.push_back({composition.name, [&composition] { return small(composition.settings); }, isa});
  }
  for (const BuiltInRecipe& built_in : built_in_recipes()) {
    all.push_back({fmt::format("recipe-{}", built_in.name), [&built_in] { return on_few_images(built_in); }, isa});
  }
  return all;
}

}  // namespace muster
