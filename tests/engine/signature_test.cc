// The net under every change: the signature of each composition and of each built-in recipe on generated data, stored
// per instruction set in signatures.txt. A commit that changes one says so and why; to store what is computed now, run
//   MUSTER_WRITE_SIGNATURES=FILE build/release/tests/engine/engine_test --gtest_filter='*IsAsStored*'
// and put FILE, sorted, in place of signatures.txt.
#include <cstdlib>
#include <fstream>
#include <map>

#include "compositions.h"
#include "model/kernels/isa.h"
#include "small_run.h"

namespace muster {
namespace {

// "NAME ISA" -> signature.
const std::map<std::string, std::string>& stored_signatures() {
  static const std::map<std::string, std::string> stored = [] {
    std::map<std::string, std::string> read;
    std::ifstream in(std::filesystem::path(MUSTER_SOURCE_DIR) / "tests/engine/signatures.txt");
    for (std::string name, isa, signature; in >> name >> isa >> signature;) read[name + " " + isa] = signature;
    return read;
  }();
  return stored;
}

// A built-in recipe with everything that makes it itself, on few generated images.
Recipe on_few_images(const BuiltInRecipe& built_in) {
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
std::ostream& operator<<(std::ostream& out, const Stored& stored) {
  return out << stored.name;
}

std::vector<Stored> all_stored() {
  std::vector<Stored> all;
  for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
    for (const Composition& composition : kCompositions) {
      all.push_back({composition.name, [&composition] { return small(composition.settings); }, isa});
    }
    for (const BuiltInRecipe& built_in : built_in_recipes()) {
      all.push_back({fmt::format("recipe-{}", built_in.name), [&built_in] { return on_few_images(built_in); }, isa});
    }
  }
  return all;
}

class Signature : public SimulationTest, public testing::WithParamInterface<Stored> {};

INSTANTIATE_TEST_SUITE_P(, Signature, testing::ValuesIn(all_stored()), [](const auto& param_info) {
  return test_name(fmt::format("{}-{}", param_info.param.name, name(param_info.param.isa)));
});

TEST_P(Signature, IsAsStored) {
  const Stored& wanted = GetParam();
  const auto available = available_isas();
  if (std::ranges::find(available, wanted.isa) == available.end()) {
    GTEST_SKIP() << "this processor has no " << name(wanted.isa);
  }
  const Isa before = current_isa();
  use_isa(wanted.isa);
  const std::string signature = run(wanted.recipe(), 2).signature;
  use_isa(before);
  const std::string key = fmt::format("{} {}", wanted.name, name(wanted.isa));
  if (const char* const file = std::getenv("MUSTER_WRITE_SIGNATURES")) {
    std::ofstream(file, std::ios::app) << key << ' ' << signature << '\n';
    return;
  }
  const auto found = stored_signatures().find(key);
  ASSERT_NE(found, stored_signatures().end()) << "nothing is stored; computed: " << key << ' ' << signature;
  EXPECT_EQ(signature, found->second) << key;
}

}  // namespace
}  // namespace muster
