// Every declared key, by what its declaration says: refused where it has no effect, written and read back where it has.
#include "recipe/keys.h"

#include <fstream>
#include <set>
#include <sstream>

#include "base/random.h"
#include "recipe/catalogue.h"
#include "recipe/choices.h"

namespace muster {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Some values that the key accepts, as settings write them.
std::vector<std::string> values_of(const Key& key) {
  std::vector<std::string> candidates{"1",   "2",    "64",    "3",   "0.25",      "0.5",
                                      "1.0", "true", "false", "[2]", "[8, 8, 1]", "words"};
  for (std::string rest = key.info.accepted; !rest.empty();) {
    const std::size_t bar = rest.find(" | ");
    candidates.push_back(rest.substr(0, bar));
    rest = bar == std::string::npos ? "" : rest.substr(bar + 3);
  }
  std::vector<std::string> accepted;
  for (const std::string& candidate : candidates) {
    Recipe recipe;
    if (apply_setting(recipe, full_name(key.info) + "=" + candidate).ok()) accepted.push_back(candidate);
  }
  return accepted;
}

// Recipes that differ in which keys have an effect: of the built-in ones, and the default one with each value of each
// key, one of every kind.
const std::vector<Recipe>& bases() {
  static const std::vector<Recipe> all = [] {
    std::vector<Recipe> made;
    std::set<std::vector<bool>> kinds;
    const auto add = [&](const Recipe& recipe) {
      std::vector<bool> effects;
      for (const Key& key : recipe_key_table()) effects.push_back(!failing_condition(key, recipe));
      if (kinds.insert(effects).second) made.push_back(recipe);
    };
    add(Recipe{});
    for (const BuiltInRecipe& built_in : built_in_recipes()) {
      add(load_recipe(std::string(built_in.name)).value());
    }
    Recipe again;  // keys of groups that are formed more than once
    again.grouping.method = "qcid";
    again.plan.regroup.every = 2;
    add(again);
    Recipe shares;  // of features that are joined
    shares.local.objective.name = "fusion";
    shares.local.objective.fusion = "multi";
    shares.model.name = "mlp";
    add(shares);
    Recipe mixed;  // of groups' models that are drawn to each other
    mixed.grouping.method = "random";
    mixed.aggregation.global = "none";
    mixed.aggregation.mixing = 0.1;
    add(mixed);
    for (const Key& key : recipe_key_table()) {
      for (const std::string& value : values_of(key)) {
        Recipe recipe;
        if (!apply_setting(recipe, full_name(key.info) + "=" + value).ok()) continue;
        recipe.given.clear();  // as if assigned
        add(recipe);
      }
    }
    return made;
  }();
  return all;
}

// By section: a process per key would spend its time on starting.
class EveryKeyOf : public testing::TestWithParam<std::string> {
 protected:
  // Calls `check` with every key of the section, its name and some of its values.
  template <typename Check>
  void for_keys(Check check) const {
    for (const Key& key : recipe_key_table()) {
      if (key.info.section != GetParam()) continue;
      SCOPED_TRACE(full_name(key.info));
      check(key, full_name(key.info), values_of(key));
    }
  }
};

std::vector<std::string> all_sections() {
  std::vector<std::string> sections;
  for (const RecipeKey& key : recipe_keys()) {
    if (sections.empty() || sections.back() != key.section) sections.push_back(key.section);
  }
  return sections;
}
INSTANTIATE_TEST_SUITE_P(, EveryKeyOf, testing::ValuesIn(all_sections()), [](const auto& param_info) {
  return param_info.param.empty() ? std::string("top_level") : param_info.param;
});

TEST_P(EveryKeyOf, SaysWhatItIs) {
  for_keys([](const Key& key, const std::string&, const std::vector<std::string>& values) {
    EXPECT_FALSE(key.info.summary.empty());
    EXPECT_FALSE(key.info.accepted.empty());
    EXPECT_FALSE(key.info.otherwise.empty()) << "no default";
    EXPECT_FALSE(values.empty());
    EXPECT_EQ(key.info.summary.find('('), std::string::npos) << "belongs into a condition: " << key.info.summary;
    for (const Condition& condition : key.conditions) {
      EXPECT_FALSE(condition.wants.empty());
      EXPECT_TRUE(condition.choice.empty() || !condition.words.empty()) << "no choice has it";
      for (const std::string& word : condition.words) {
        Recipe recipe;
        EXPECT_TRUE(apply_setting(recipe, condition.choice + "=" + word).ok()) << condition.choice << " = " << word;
      }
    }
  });
}

TEST_P(EveryKeyOf, HasAnEffectSomewhere) {
  for_keys([](const Key& key, const std::string&, const std::vector<std::string>&) {
    EXPECT_TRUE(std::ranges::any_of(bases(), [&](const Recipe& base) { return !failing_condition(key, base); }));
  });
}

TEST_P(EveryKeyOf, IsRefusedByASettingWhereItHasNoEffect) {
  for_keys([](const Key& key, const std::string& name, const std::vector<std::string>& values) {
    std::size_t refused = 0;
    std::size_t cases = 0;
    for (const Recipe& base : bases()) {
      for (const std::string& value : values) {
        Recipe recipe = base;
        ASSERT_TRUE(apply_setting(recipe, name + "=" + value).ok());
        const Condition* const failing = failing_condition(key, recipe);
        if (!failing) continue;
        ++cases;
        const Status status = check_recipe(recipe);
        ASSERT_FALSE(status.ok()) << value << " in\n" << format_recipe(recipe);
        EXPECT_EQ(status.error().code, ErrorCode::kUsage);
        if (!status.error().message.starts_with(fmt::format("--set: {}: ", name))) continue;  // another key is first
        ++refused;
        EXPECT_THAT(status.error().message, HasSubstr("has no effect"));
        EXPECT_THAT(status.error().message, HasSubstr(failing->wants));
      }
    }
    EXPECT_EQ(refused > 0, cases > 0);
    EXPECT_EQ(cases > 0, !key.conditions.empty());
  });
}

TEST_P(EveryKeyOf, IsRefusedInAFileWhereItHasNoEffect) {
  for_keys([](const Key& key, const std::string& name, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      Recipe recipe;
      ASSERT_TRUE(apply_setting(recipe, name + "=" + value).ok());
      const bool applies = !failing_condition(key, recipe);
      const std::string section = key.info.section.empty() ? "" : fmt::format("[{}]\n", key.info.section);
      const std::string toml = fmt::format("{}{} = {}\n", section, key.info.key, recipe.given.front().value);
      const auto parsed = parse_recipe(toml, "my.toml");
      ASSERT_TRUE(parsed.ok()) << parsed.error().message;
      const Status status = check_recipe(*parsed);
      if (applies) {
        EXPECT_TRUE(status.ok() || status.error().message.find("has no effect") == std::string::npos) << toml;
      } else {
        ASSERT_FALSE(status.ok()) << toml;
        EXPECT_THAT(status.error().message, StartsWith(fmt::format("my.toml:{}: {}: ", section.empty() ? 1 : 2, name)));
      }
    }
  });
}

// A field that is assigned past the keys is no better than a setting.
TEST_P(EveryKeyOf, IsRefusedAsAnAssignedFieldWhereItHasNoEffect) {
  for_keys([](const Key& key, const std::string& name, const std::vector<std::string>& values) {
    const Recipe fresh;
    for (const std::string& value : values) {
      Recipe recipe;
      ASSERT_TRUE(apply_setting(recipe, name + "=" + value).ok());
      recipe.given.clear();
      if (!failing_condition(key, recipe) || recipe == fresh) continue;
      const Status status = check_recipe(recipe);
      ASSERT_FALSE(status.ok()) << value;
      EXPECT_THAT(status.error().message, StartsWith(name + ": "));
    }
  });
}

TEST_P(EveryKeyOf, IsWrittenAndReadBackWhereItHasAnEffect) {
  for_keys([](const Key&, const std::string& name, const std::vector<std::string>& values) {
    for (const Recipe& base : bases()) {
      for (const std::string& value : values) {
        Recipe recipe = base;
        ASSERT_TRUE(apply_setting(recipe, name + "=" + value).ok());
        if (!check_recipe(recipe).ok()) continue;
        const auto again = parse_recipe(format_recipe(recipe), "again");
        ASSERT_TRUE(again.ok()) << again.error().message;
        EXPECT_TRUE(*again == recipe) << name << " = " << value << " in\n" << format_recipe(recipe);
        const Status status = check_recipe(*again);
        EXPECT_TRUE(status.ok()) << status.error().message;
      }
    }
  });
}

// What a catalogue says of its choices and what the keys say of themselves are one.
TEST(Keys, AreThoseThatTheCatalogueLists) {
  const auto stages = catalogue();
  ASSERT_TRUE(stages.ok());
  const std::map<std::string, std::string> sections{{"data", "data"},
                                                    {"partitions", "data"},
                                                    {"models", "model"},
                                                    {"profile", "profile"},
                                                    {"grouping", "grouping"},
                                                    {"plan", "plan"},
                                                    {"regroup", "plan"},
                                                    {"training", "training"},
                                                    {"objective", "local"},
                                                    {"optimizer", "local"},
                                                    {"schedule", "local"},
                                                    {"aggregation", "aggregation"},
                                                    {"in-group", "aggregation"},
                                                    {"attack", "attack"},
                                                    {"evaluation", "evaluation"},
                                                    {"newcomers", "newcomers"},
                                                    {"cost", "cost"}};
  std::set<std::string> listed;
  for (const CatalogueStage& stage : *stages) {
    for (const CatalogueEntry& entry : stage.entries) {
      for (const std::string& name : entry.keys) {
        const std::string full = name.find('.') == std::string::npos ? sections.at(stage.name) + "." + name : name;
        EXPECT_NE(find_key(full), nullptr) << stage.name << " " << entry.name << ": " << full;
        listed.insert(full);
      }
    }
  }
  for (const char* name : {"local.mu", "grouping.size", "aggregation.beta1", "training.passes", "aggregation.in-group",
                           "evaluation.clients", "local.momentum", "cost.task", "data.alpha", "profile.epsilon"}) {
    EXPECT_TRUE(listed.contains(name)) << name;
  }
}

std::string refusal_of(const std::vector<std::string>& settings) {
  Recipe recipe;
  for (const std::string& setting : settings) EXPECT_TRUE(apply_setting(recipe, setting).ok()) << setting;
  const Status status = check_recipe(recipe);
  return status.ok() ? "accepted" : status.error().message;
}

// What was selected before counts only where groups are formed again.
TEST(Keys, SealedRelayBelongsToChainsThatNobodyLooksInto) {
  const auto with = [](const std::vector<std::string>& more) {
    std::vector<std::string> all{"profile.kind=label-histogram", "grouping.method=mediator", "training.mode=sequential",
                                 "training.relay=sealed"};
    all.insert(all.end(), more.begin(), more.end());
    return refusal_of(all);
  };
  EXPECT_EQ(with({}), "accepted");
  EXPECT_THAT(refusal_of({"training.mode=sequential", "training.relay=sealed"}),
              HasSubstr("training.relay: \"sealed\""));
  EXPECT_THAT(refusal_of({"training.relay=sealed"}), HasSubstr("training.relay: \"sealed\""));
  EXPECT_THAT(with({"evaluation.discrepancy=true"}),
              HasSubstr("evaluation.discrepancy: true does not go with training.relay = \"sealed\""));
  EXPECT_THAT(with({"local.objective=control-variate", "aggregation.global=control-variate"}),
              HasSubstr("local.objective: \"control-variate\" does not go with training.relay = \"sealed\""));
  EXPECT_EQ(with({"local.objective=dynamic", "aggregation.global=dynamic"}), "accepted");
}

// A server that needs sums and nothing else gets along with secure ones.
TEST(Keys, SecureSumsGoWithEveryServerThatNeedsSumsOnly) {
  const auto with = [](const char* objective, const char* global) {
    return refusal_of({"grouping.method=random", "grouping.size=4", "aggregation.in-group=secure-sum",
                       fmt::format("local.objective={}", objective), fmt::format("aggregation.global={}", global)});
  };
  for (const char* global : {"samples-weighted", "uniform", "adagrad", "adam", "yogi"}) {
    for (const char* objective : {"plain", "prox"}) EXPECT_EQ(with(objective, global), "accepted") << global;
  }
  for (const char* both : {"control-variate", "dynamic"}) EXPECT_EQ(with(both, both), "accepted") << both;
}

TEST(Keys, LambdaNeedsGroupsThatAreFormedAgain) {
  const std::vector<std::string> once{"profile.kind=label-histogram", "grouping.method=qcid", "grouping.lambda=2"};
  EXPECT_THAT(refusal_of(once), HasSubstr("grouping.lambda: 2.0 has no effect without groups that are formed again"));
  for (const char* again : {"plan.regroup-every=2", "newcomers.round=3"}) {
    std::vector<std::string> settings = once;
    settings.emplace_back(again);
    EXPECT_EQ(refusal_of(settings), "accepted") << again;
  }
}

TEST(Keys, MomentumOfASingleStepMustBeKept) {
  EXPECT_THAT(refusal_of({"local.steps=1", "local.momentum=0.5"}),
              HasSubstr("local.momentum: 0.5 has no effect without local.keep-optimizer where local.steps = 1"));
  EXPECT_EQ(refusal_of({"local.steps=2", "local.momentum=0.5"}), "accepted");
  EXPECT_EQ(refusal_of({"local.steps=1", "local.momentum=0.5", "local.keep-optimizer=true"}), "accepted");
  EXPECT_EQ(refusal_of({"local.steps=1", "local.momentum=0.5", "profile.kind=update-direction", "profile.steps=3",
                        "grouping.method=decomposed-cosine", "grouping.groups=2", "aggregation.global=none"}),
            "accepted");
}

TEST(Keys, TheDocumentIsWhatTheProgramPrints) {
  std::ifstream file(std::string(MUSTER_SOURCE_DIR) + "/docs/keys.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), keys_markdown()) << "muster list keys --markdown > docs/keys.md";
}

TEST(Keys, RandomCompositionsAreWrittenAndReadBackTheSame) {
  Stream stream({.seed = 9, .purpose = Purpose::kSampling});
  const std::vector<Key>& keys = recipe_key_table();
  std::vector<std::vector<std::string>> values;
  for (const Key& key : keys) values.push_back(values_of(key));
  std::uint32_t accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto built_ins = static_cast<std::uint32_t>(built_in_recipes().size());
    const std::uint32_t base = stream.below(built_ins + 1);
    Recipe recipe = base < built_ins ? load_recipe(std::string(built_in_recipes()[base].name)).value() : Recipe{};
    for (std::uint32_t n = stream.below(8); n > 0; --n) {
      const std::uint32_t k = stream.below(static_cast<std::uint32_t>(keys.size()));
      const std::string& value = values[k][stream.below(static_cast<std::uint32_t>(values[k].size()))];
      ASSERT_TRUE(apply_setting(recipe, full_name(keys[k].info) + "=" + value).ok());
    }
    EXPECT_FALSE(describe_recipe(recipe).empty());
    if (!check_recipe(recipe).ok()) continue;
    ++accepted;
    const auto again = parse_recipe(format_recipe(recipe), "again");
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(*again == recipe) << format_recipe(recipe);
    EXPECT_TRUE(check_recipe(*again).ok()) << check_recipe(*again).error().message;
    EXPECT_EQ(format_recipe(*again), format_recipe(recipe));
    const auto all = parse_recipe(format_recipe(recipe, true), "all");
    ASSERT_TRUE(all.ok()) << all.error().message;
    EXPECT_TRUE(*all == recipe);
  }
  EXPECT_GT(accepted, 300u);
}

}  // namespace
}  // namespace muster
