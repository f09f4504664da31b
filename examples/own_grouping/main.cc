// own_grouping [FOLDER]: adds a grouping method, an aggregation and an observer to Muster, runs a small federation that
// uses them, and checks what came out. The run's folder is made in FOLDER (default: runs).
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include "aggregate/aggregator.h"
#include "engine/round_observer.h"
#include "engine/simulation.h"
#include "grouping/grouping_method.h"
#include "recipe/recipe.h"

namespace {

// The grouping method. Clients sorted by size, then the largest with the smallest, the second largest with the second
// smallest, and so on: every pair has about as many samples. An odd one out is a group of its own.
muster::Result<muster::Draft> large_with_small(const muster::GroupingOptions&, const muster::GroupingInput& input,
                                               const muster::GroupingCall&) {
  std::vector<std::uint32_t> order(input.samples.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t client) { return input.samples[client]; });
  muster::Draft draft;
  for (std::size_t low = 0, high = order.size(); low < high; ++low) {
    --high;
    draft.groups.push_back({order[low]});
    if (high > low) draft.groups.back().push_back(order[high]);
  }
  return draft;
}

// The aggregation. The mean of the groups' models and of the model they started from: groups move it only half of the
// way, which steadies training when groups disagree.
class HalfWay final : public muster::Aggregator {
 public:
  explicit HalfWay(std::size_t size) : size_(size) {}

  void begin(std::span<const float>) override { mean_.reset(size_); }
  void add(const muster::GroupUpdate& update) override {
    if (update.members.empty()) return;  // all of its clients dropped out: there is no model
    mean_.add(update.model, static_cast<double>(update.samples));
  }
  void finish(std::span<float> model) override {
    if (mean_.weight() == 0) return;  // nobody answered: the model stays as it was
    for (std::size_t i = 0; i < model.size(); ++i) {
      model[i] = static_cast<float>((static_cast<double>(model[i]) + mean_.mean(i)) / 2);
    }
  }

 private:
  std::size_t size_;
  muster::WeightedMean mean_;
};

// The observer. Counts what groups send, and remembers who took part.
class WhoTookPart final : public muster::RoundObserver {
 public:
  void prepare(muster::RoundTasks& round) override {
    fmt::print("round {}, {} groups:", round.round, round.tasks.size());
  }
  void group(const muster::GroupUpdate& update) override {
    ++updates_;
    for (const muster::MemberReport& member : update.members) {
      clients_.insert(member.client.value);
      fmt::print(" {}", member.client.value);
    }
    fmt::print(";");
  }
  void end(const muster::Models&, muster::RoundRecord& record) override {
    fmt::print(" {} clients\n", record.participants);
  }

  [[nodiscard]] std::uint32_t updates() const { return updates_; }
  [[nodiscard]] std::size_t clients() const { return clients_.size(); }

 private:
  std::uint32_t updates_ = 0;
  std::set<std::uint32_t> clients_;
};

constexpr const char* kRecipe = R"(
name = "own-grouping"
rounds = 6
[data]
source = "blobs"
clients = 12
partition = "dirichlet-classes"
alpha = 1.0
[model]
name = "softmax"
[local]
learning-rate = 0.05
[grouping]
method = "large-with-small"
[plan]
sample-groups = 3
[aggregation]
global = "half-way"
)";

muster::Status run(const char* folder) {
  // Before a recipe that names them is read.
  MUSTER_TRY(muster::add_grouping_method(
      {.entry = {.name = "large-with-small", .summary = "the largest client with the smallest, and so on"},
       .group = large_with_small}));
  MUSTER_TRY(muster::add_aggregation({.name = "half-way", .summary = "half of the way to the mean of the models"},
                                     [](const muster::AggregationOptions&,
                                        const muster::AggregatorSizes& sizes) -> std::unique_ptr<muster::Aggregator> {
                                       return std::make_unique<HalfWay>(sizes.size);
                                     }));

  MUSTER_ASSIGN(const muster::Recipe recipe, muster::parse_recipe(kRecipe, "own_grouping"));
  WhoTookPart observer;
  muster::SimulationOptions options;
  options.out = folder;
  options.quiet = true;
  options.observers = {&observer};
  MUSTER_ASSIGN(const muster::RunSummary summary, muster::simulate(recipe, options));

  fmt::print("{} groups of {} to {} clients; accuracy {:.3f}; {} clients took part\n", summary.groups,
             summary.group_size_min, summary.group_size_max, summary.accuracy_last.value_or(0), observer.clients());
  if (summary.groups != 6 || summary.group_size_max != 2) {
    return muster::failure("want 6 groups of 2 clients, got {} of up to {}", summary.groups, summary.group_size_max);
  }
  if (observer.updates() != 18)
    return muster::failure("want 3 updates in each of 6 rounds, got {}", observer.updates());
  if (summary.accuracy_last.value_or(0) < 0.5) return muster::failure("the model has not learned");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const muster::Status outcome = run(argc > 1 ? argv[1] : "runs");
  if (outcome) return 0;
  fmt::print(stderr, "own_grouping: {}\n", outcome.error().message);
  return 1;
}
