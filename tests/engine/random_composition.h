// Compositions drawn from the catalogue: any choice of each stage with any other, as far as the recipe's checks accept
// it. What must hold for every composition is tested over these.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "plan/newcomer_rule.h"
#include "recipe/keys.h"
#include "small_run.h"
#include "solver/learning_rate.h"

namespace muster {

// Values that the key may accept, as settings write them, of a size that a test has the time for. None for keys that
// need files, name things only, or say how long the run is.
inline std::vector<std::string> small_values(const RecipeKey& key) {
  const std::string name = full_name(key);
  for (const char* other : {"name", "summary", "rounds", "checkpoint-every", "data.path", "model.path", "cost.file", "data.source",
                            "data.label", "data.client", "data.split", "data.embedding", "data.clients", "data.shape",
                            "data.features", "data.drop", "data.categorical", "data.text", "data.vocabulary"}) {
    if (name == other) return {};
  }
  if (name == "model.name") return {"softmax", "mlp"};
  if (name == "data.label-groups") return {"0-4,5-9", "0+1,2-9"};
  if (name == "data.partition") return {"iid", "dirichlet", "shards", "label-skew"};
  if (name == "plan.groups") return {"2", "3", "{growth=\"log\",alpha=2.0,beta=2}"};
  if (name == "local.learning-rate") return {"0.05", "0.2"};
  if (name == "local.state-limit-mb") return {"0", "1"};
  if (name == "data.samples-min" || name == "data.samples-max") return {"20", "35", "50"};
  if (name == "evaluation.metrics") return {"[\"macro-f1\", \"confusion\"]", "per-class", "macro-f1"};
  if (name == "data.validation-fraction") return {"0.1", "0.25"};
  if (name == "local.personal" || name == "local.freeze") return {"head", "all", "[\"classifier\"]"};
  if (name == "aggregation.shared") return {"head", "all"};
  if (name == "secure.bits") return {"32", "64"};
  if (name == "attack.clients") return {"0.25", "1", "[0, 2]"};
  if (name == "attack.target" || name == "attack.source") return {"0", "1"};
  const std::string& accepted = key.accepted;
  if (accepted.starts_with("a list of at most ")) return {"[4]", "[5, 3]"};
  if (accepted == "true or false") return {"true", "false"};
  if (accepted.find(" | ") == std::string::npos)
    return {"0", "1", "2", "3", "0.05", "0.25", "0.5", "0.9", "1.0", "2.5"};
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= accepted.size();) {
    const std::size_t end = std::min(accepted.find(" | ", at), accepted.size());
    words.push_back(accepted.substr(at, end - at));
    at = end + 3;
  }
  return words;
}

// What check_recipe() says to the settings.
inline Status check_settings(const Settings& settings) {
  Recipe recipe;
  for (const std::string& setting : settings) MUSTER_TRY(apply_setting(recipe, setting));
  return check_recipe(recipe);
}

class RandomComposition {
 public:
  explicit RandomComposition(std::uint32_t number) : stream_({.seed = number, .purpose = Purpose::kTest}) {}

  // Settings of a small federation that check_recipe() accepts.
  Settings draw() {
    while (true) {
      settings_ = {"model.name=softmax", "local.batch-size=16", "local.learning-rate=0.1", "rounds=5"};
      draw_data();
      draw_training();
      draw_groups();
      draw_rest();
      draw_parts();
      if (mend()) return settings_;
    }
  }

  // The same with some more keys, any that the recipe may have and that have a meaning in it.
  Settings draw_with_any_keys(std::uint32_t more) {
    static const std::vector<RecipeKey> keys = recipe_keys();
    Settings settings = draw();
    for (std::uint32_t tries = 0; tries < 40 * more && more > 0; ++tries) {
      const RecipeKey& key = any(keys);
      const std::vector<std::string> values = small_values(key);
      if (values.empty()) continue;
      Settings longer = settings;
      std::erase_if(longer, [&](const std::string& setting) { return setting.starts_with(full_name(key) + "="); });
      longer.push_back(full_name(key) + "=" + any(values));
      if (!check_settings(longer).ok()) continue;
      settings = std::move(longer);
      --more;
    }
    return settings;
  }

 private:
  // Takes back the keys that have no meaning beside the others, and adds those that are missing, as the refusals say.
  bool mend() {
    for (int tries = 0; tries < 20; ++tries) {
      const Status status = check_settings(settings_);
      if (status) return true;
      std::string message = status.error().message;
      constexpr std::string_view kPrefix = "--set: ";
      if (message.starts_with(kPrefix)) message.erase(0, kPrefix.size());
      std::string name = message.substr(0, message.find(':'));
      if (message.find("does not go with local.objective") != std::string::npos) name = "local.objective";
      const auto names_it = [&](const std::string& setting) { return setting.starts_with(name + "="); };
      if (std::ranges::any_of(settings_, names_it)) {
        std::erase_if(settings_, names_it);
      } else if (find_key(name) && message.find("not set") != std::string::npos) {
        set(name, "2");
      } else {
        return false;
      }
    }
    return false;
  }
  bool chance(double share) { return stream_.uniform() < share; }
  template <typename T>
  const T& any(const std::vector<T>& list) {
    return list[stream_.below(static_cast<std::uint32_t>(list.size()))];
  }
  std::string number(std::uint32_t low, std::uint32_t high) {
    return std::to_string(low + stream_.below(high - low + 1));
  }
  void set(const std::string& key, const std::string& value) {
    std::erase_if(settings_, [&](const std::string& setting) { return setting.starts_with(key + "="); });
    settings_.push_back(key + "=" + value);
  }
  template <typename Entries>
  std::string any_name(const Entries& entries) {
    return entries[stream_.below(static_cast<std::uint32_t>(entries.size()))].name;
  }

  static bool serves(ProfileGives gives, GroupingNeed need) {
    const bool vectors = gives == ProfileGives::kVectors || gives == ProfileGives::kProbabilities;
    if (need == GroupingNeed::kLabels) return gives == ProfileGives::kLabels;
    if (need == GroupingNeed::kVectors) return vectors;
    return need == GroupingNeed::kLabelsOrVectors && (vectors || gives == ProfileGives::kLabels);
  }

  void draw_data() {
    set("data.clients", number(6, 12));
    if (chance(0.5)) {
      set("data.source", "synthetic");
      set("data.samples-min", "30");
      set("data.samples-max", "60");
      set("data.test-fraction", "0.2");
    } else {
      set("data.source", "blobs");
      set("data.partition", "dirichlet");
      set("data.alpha", "0.3");
      set("data.samples-min", "30");
      set("data.samples-max", "60");
      if (chance(0.7)) set("data.test-fraction", "0.2");
    }
    if (chance(0.2)) set("data.edges", "2");
  }

  void draw_training() {
    const std::string objective = any_name(objectives());
    set("local.objective", objective);
    if (objective == "fusion") {  // which finds no features in the one layer of the others
      set("model.name", "mlp");
      set("model.hidden", "[5]");
    }
    if (chance(0.2)) set("local.steps", number(1, 3));
    if (chance(0.15)) set("local.momentum", "0.5");
    if (chance(0.1)) set("local.keep-optimizer", "true");
    if (chance(0.15)) {
      set("local.learning-rate-decay", "0.9");
    } else if (chance(0.15)) {
      set("local.schedule", any_name(schedules()));
      if (chance(0.5)) set("local.schedule-rounds", number(1, 3));
    }
    if (chance(0.1)) set("local.adapt-epochs", "0.5");
    if (chance(0.05)) set("local.learning-rate", "1e30");
    set("aggregation.global", any_name(aggregations()));
    if (chance(0.3)) set("aggregation.in-group", any_name(in_group_choices()));
    if (chance(0.1)) set("aggregation.attackers", chance(0.5) ? "1" : "0.3");
    if (chance(0.1)) set("aggregation.clip", "0.05");
    if (chance(0.2)) set("aggregation.window", number(1, 4));
    if (chance(0.2)) set("aggregation.mixing", "0.1");
    if (chance(0.2)) set("aggregation.start", "members");
    if (chance(0.3)) {
      set("training.mode", "sequential");
      if (chance(0.4)) set("training.passes", "2");
      if (chance(0.5)) set("training.relay", "sealed");
    } else if (chance(0.3)) {
      set("training.group-rounds", "2");
    }
  }

  void draw_groups() {
    if (chance(0.25)) return;  // every client alone
    const GrouperEntry method = any(groupers());
    set("grouping.method", method.name);
    std::vector<std::string> kinds;
    for (const ProfileEntry& kind : profile_kinds()) {
      if (serves(kind.gives, method.need)) kinds.push_back(kind.name);
    }
    const bool seeds = !method.joined_by.empty() && (method.by_losses || chance(0.5));
    const std::string kind = seeds && method.by_losses ? "losses" : seeds || kinds.empty() ? "none" : any(kinds);
    set("profile.kind", kind);
    if (kind == "confidence-vector") set("data.exemplars", "2");
    for (const std::string& key : method.keys) {
      const Key* const found = find_key("grouping." + key);
      if (found && chance(0.2)) set("grouping." + key, any(small_values(found->info)));
    }
    if (chance(0.4)) set("profile.steps", "2");
    if (chance(0.3)) set("profile.epochs", "1.0");
    if (chance(0.2)) set("profile.clients", number(3, 6));
    if (chance(0.4)) set("grouping.groups", number(2, 3));
    if (chance(0.2)) set("plan.groups", chance(0.5) ? "3" : "{growth=\"linear\",alpha=1.0,beta=2}");
    if (chance(0.4)) set("grouping.size", number(2, 4));
    if (chance(0.4)) set("grouping.min-size", "2");
    if (chance(0.3)) set("grouping.min-samples", "80");
    if (chance(0.2)) set("grouping.max-clients", "4");
    if (chance(0.3)) set("plan.regroup-every", number(1, 3));
    if (method.need == GroupingNeed::kVectors && chance(0.5)) {
      const bool splits = method.name == "bipartition";
      set("plan.regroup-on", splits ? method.name : any_name(regroup_events()));
      set("plan.regroup-round", number(1, 3));
      set("aggregation.global", "none");
      set("local.objective", "plain");
    }
    if (chance(0.4)) set("newcomers.assign", any_name(newcomer_rules()));
    if (chance(0.2)) set("newcomers.rejoin", "true");
    if (!seeds) return;
    set("aggregation.global", "none");
    set("local.objective", "plain");
    set("grouping.groups", number(1, 3));
  }

  void draw_rest() {
    if (chance(0.3)) {
      set("newcomers.round", number(2, 4));
      set("newcomers.clients", number(1, 4));
    }
    if (chance(0.4)) {
      set("plan.sample-groups", chance(0.5) ? "2" : "0.5");
    } else if (chance(0.7)) {
      set("plan.sample-clients", chance(0.5) ? number(2, 5) : "0.5");
    }
    if (chance(0.3)) set("plan.sampling", any_name(samplers()));
    if (chance(0.3)) set("faults.drop", chance(0.2) ? "0.9" : "0.3");
    if (chance(0.2)) set("faults.nan", "0.2");
    if (chance(0.2)) set("faults.straggle", "0.3");
    if (chance(0.25)) {
      set("attack.kind", any_name(attacks()));
      if (chance(0.3)) set("attack.clients", chance(0.5) ? "[0, 3]" : "2");
    }
    if (chance(0.3)) set("evaluation.every", number(2, 4));
    if (chance(0.2)) set("evaluation.on", any(std::vector<std::string>{"clients", "both", "global"}));
    if (chance(0.2)) set("evaluation.clients", "0.5");
    if (chance(0.2)) set("evaluation.discrepancy", "true");
    if (chance(0.15)) set("target-accuracy", "0.4");
    if (chance(0.15)) set("budget", "0.001");
    set("checkpoint-every", number(1, 4));
    set("seed", number(1, 1000));
    if (chance(0.2)) set("evaluation.metrics", chance(0.5) ? "[\"confusion\", \"macro-f1\"]" : "per-class");
    if (chance(0.6)) return;
    set("data.validation-fraction", "0.25");
    if (chance(0.6)) set("evaluation.keep", "best");
    if (chance(0.5)) set("stop.patience", number(1, 2));
    if (chance(0.3)) set("stop.min-delta", "0.02");
  }

  // Parts of a model mean something where it has several layers.
  void draw_parts() {
    const double drawn = stream_.uniform();
    if (drawn > 0.35) return;
    set("model.name", "mlp");
    set("model.hidden", "[5]");
    if (drawn < 0.15) set("local.personal", any(std::vector<std::string>{"head", "body", "dense1"}));
    if (drawn < 0.05) set("local.personal-epochs", "1.0");
    if (drawn > 0.12 && drawn < 0.2) set("local.own-model", chance(0.3) ? "0.0" : "0.5");
    if (drawn > 0.18 && drawn < 0.25) set("evaluation.fine-tune", "0.5");
    if (drawn > 0.23) set("aggregation.shared", "body");
    if (drawn > 0.28) set("local.freeze", "body");
    if (drawn > 0.31) set("local.freeze-from", "3");
  }

  Stream stream_;
  Settings settings_;
};

}  // namespace muster
