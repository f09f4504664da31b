// Compositions drawn from the catalogue: any choice of each stage with any other, as far as the recipe's checks accept
// it. What must hold for every composition is tested over these.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "plan/newcomer_rule.h"
#include "small_run.h"

namespace muster {

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
      Recipe recipe;
      bool fits = true;
      for (const std::string& setting : settings_) fits = fits && apply_setting(recipe, setting).ok();
      if (fits && check_recipe(recipe).ok()) return settings_;
    }
  }

 private:
  bool chance(double share) { return stream_.uniform() < share; }
  template <typename T>
  const T& any(const std::vector<T>& list) {
    return list[stream_.below(static_cast<std::uint32_t>(list.size()))];
  }
  std::string number(std::uint32_t low, std::uint32_t high) {
    return std::to_string(low + stream_.below(high - low + 1));
  }
  void set(const std::string& key, const std::string& value) { settings_.push_back(key + "=" + value); }
  template <typename Entries>
  std::string any_name(const Entries& entries) {
    return entries[stream_.below(static_cast<std::uint32_t>(entries.size()))].name;
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
    if (chance(0.2)) set("data.exemplars", "2");
  }

  void draw_training() {
    const std::string objective = any_name(objectives());
    set("local.objective", objective);
    if (chance(0.2)) set("local.steps", number(1, 3));
    if (chance(0.15)) set("local.momentum", "0.5");
    if (chance(0.1)) set("local.keep-optimizer", "true");
    if (chance(0.15)) set("local.learning-rate-decay", "0.9");
    if (chance(0.1)) set("local.adapt-epochs", "0.5");
    if (chance(0.05)) set("local.learning-rate", "1e30");
    set("aggregation.global", any_name(aggregations()));
    if (chance(0.2)) set("aggregation.window", number(1, 4));
    if (chance(0.2)) set("aggregation.mixing", "0.1");
    if (chance(0.2)) set("aggregation.start", "members");
    if (chance(0.3)) {
      set("training.mode", "sequential");
      if (chance(0.4)) set("training.passes", "2");
    } else if (chance(0.3)) {
      set("training.group-rounds", "2");
    }
  }

  void draw_groups() {
    if (chance(0.25)) return;  // every client alone
    set("grouping.method", any_name(groupers()));
    set("profile.kind", any_name(profile_kinds()));
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
    if (chance(0.3)) {
      set("plan.regroup-on", any_name(regroup_events()));
      set("plan.regroup-round", number(1, 3));
    }
    if (chance(0.4)) set("newcomers.assign", any_name(newcomer_rules()));
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
    if (chance(0.3)) set("evaluation.every", number(2, 4));
    if (chance(0.2)) set("evaluation.on", any(std::vector<std::string>{"clients", "both", "global"}));
    if (chance(0.2)) set("evaluation.clients", "0.5");
    if (chance(0.2)) set("evaluation.discrepancy", "true");
    if (chance(0.15)) set("target-accuracy", "0.4");
    if (chance(0.15)) set("budget", "0.001");
    set("checkpoint-every", number(1, 4));
    set("seed", number(1, 1000));
  }

  Stream stream_;
  Settings settings_;
};

}  // namespace muster
