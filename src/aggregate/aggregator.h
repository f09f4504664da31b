// Aggregator: merges what groups send into the next model. Updates arrive one by one, in ascending order of groups, and
// are folded into double accumulators at once: memory does not grow with the number of participants.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate/merge_report.h"
#include "base/ids.h"
#include "base/result.h"
#include "plan/plan.h"
#include "secure/sum_phase.h"
#include "solver/local_task.h"

namespace muster {

// What one member did, for the record.
struct MemberReport {
  ClientId client;
  std::uint32_t samples = 0;
  std::uint64_t steps = 0;
  std::uint64_t samples_trained = 0;
  double loss = 0;                              // of its last visit
  std::optional<double> loss_after;             // likewise, where it was asked for
  std::uint32_t visits = 0;                     // how often it trained, and sent a model
  std::uint64_t own_model = 0;                  // hash of the model that stays with it, where one does
  FilterReason filtered = FilterReason::kNone;  // why its group left it out, the last time
  std::uint32_t times_filtered = 0;             // of its visits
  std::uint32_t times_clipped = 0;
};

// A member that stopped answering in a secure sum of its group.
struct LostMember {
  ClientId client;
  SumPhase phase = SumPhase::kKeys;
  bool operator==(const LostMember&) const = default;
};

// What the secure sums of groups came to, where members are merged by them.
struct SumFigures {
  std::uint32_t sums = 0;        // begun
  std::uint32_t abandoned = 0;   // of them: too few members were left to open it
  std::vector<LostMember> lost;  // each member once in a round
  std::uint64_t bytes_up = 0;    // of all messages of members, and of the server
  std::uint64_t bytes_down = 0;
  bool operator==(const SumFigures&) const = default;
};

// What a group sends. With no reports every member dropped: the update carries no model and counts for nothing.
struct GroupUpdate {
  GroupId group;
  std::vector<float> model;
  std::vector<float> payload;  // sum of the members' payloads; may be empty
  std::uint64_t samples = 0;   // of the members that took part
  double importance = 1;       // what one of its samples counts; see draw_corrections()
  bool fell_back = false;      // too few members, at least once, for the rule that merges them
  std::vector<MemberReport> members;
  std::vector<Dropped> dropped;
  SumFigures secure = {};
};

// The [aggregation] section of a recipe.
struct AggregationOptions {
  std::string in_group = "samples-weighted";  // a name from in_group_choices()
  std::string global = "samples-weighted";    // a name from aggregations()
  double server_learning_rate = 1;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double tau = 1e-3;
  std::string norm = "l1";              // inverse-distance: how far a model is from the mean: l1 | l2
  double mixing = 0;                    // none: how far groups' models move towards each other after a round
  bool mixing_normalize = true;         // none: mixed models are means again, and do not grow
  std::vector<std::string> shared;      // none: parts of the model that are one for all groups
  std::string start = "shared";         // none: where models of groups formed by an event begin: shared | members
  std::optional<std::uint32_t> window;  // slots: rounds between averages; not set: as many as there are groups
  // Of the rules that see all models at once (aggregate/merge_rule.h), in a group or across groups.
  double trim = 0.2;           // trimmed-mean: share of the models taken away at either end
  Amount attackers{0.2};       // krum, multi-krum: of the models, at most
  std::optional<double> clip;  // norm-clip: longest change; not set: the median of their lengths
  double noise = 1e-3;         // flame: deviation of the noise, as a share of the median length
};

// A mean of vectors with weights, in double, in the order of add().
class WeightedMean {
 public:
  void reset(std::size_t size);
  void add(std::span<const float> values, double weight);
  [[nodiscard]] double weight() const { return weight_; }
  [[nodiscard]] std::size_t size() const { return sum_.size(); }
  // Precondition: weight() > 0.
  [[nodiscard]] double mean(std::size_t i) const { return sum_[i] / weight_; }
  void store(std::span<float> out) const;

 private:
  std::vector<double> sum_;
  double weight_ = 0;
};

class Aggregator {
 public:
  virtual ~Aggregator() = default;

  // begin, add for every group in ascending order, finish. `model` is the flat vector the groups started from; it is
  // neither moved nor changed before finish. Sizes are preconditions: whoever takes updates from outside the process
  // (the Federation port) checks them before they come here.
  virtual void begin(std::span<const float> model) = 0;
  virtual void add(const GroupUpdate& update) = 0;
  // Writes the next model. With no usable update the model stays as it was.
  virtual void finish(std::span<float> model) = 0;

  // What the last finish() did with the updates that had members, in the order of add(); null for rules that take all.
  [[nodiscard]] virtual const MergeReport* report() const { return nullptr; }

  // What clients receive besides the model, one entry per trained parameter; empty = nothing yet (zero).
  [[nodiscard]] virtual std::span<const float> broadcast() const { return {}; }

  // Server state for checkpoints.
  [[nodiscard]] virtual std::map<std::string, std::vector<double>> save() const { return {}; }
  virtual Status restore(const std::map<std::string, std::vector<double>>&) { return {}; }
};

// Parameters that follow slowly: `keep` of what they were stays in a round.
struct SmoothedRange {
  std::size_t offset = 0;
  std::size_t size = 0;  // 0: none
  double keep = 0;
};

struct AggregatorSizes {
  std::size_t parameters = 0;  // trained; what follows in the flat vector (running statistics) is always averaged
  std::size_t size = 0;
  std::uint32_t clients = 0;  // of the whole federation
  double alpha = 0;           // of the dynamic objective
  SmoothedRange smoothed = {};
  std::uint64_t seed = 1;  // of the run, for rules that add noise
};

// Whose models a run keeps.
enum class ModelKeeping {
  kShared,    // one for everybody, which an Aggregator merges
  kPerGroup,  // one per group; nothing merges them
  kSlots,     // a few, at which groups take turns between averages
};

// How a rule makes up for groups being drawn with unequal probabilities; see draw_corrections().
enum class DrawCorrection { kNone, kUnbiased, kStabilised };

// One choice of aggregation.global.
struct AggregationEntry {
  std::string name;
  std::string summary;
  std::vector<std::string> keys;  // of [aggregation], that mean something for this choice only
  ModelKeeping models = ModelKeeping::kShared;
  DrawCorrection draw = DrawCorrection::kNone;
  std::string pairs_with;  // the only local.objective it works with; empty: any that needs no server of its own
  std::vector<std::string> also_serves = {};  // and these, which do need a server
};

// Makes an aggregator for one run; called once, with options that were checked.
using AggregatorFactory =
    std::function<std::unique_ptr<Aggregator>(const AggregationOptions& options, const AggregatorSizes& sizes)>;

// The catalogue: the built-in choices in a fixed order, then those added. Thread-safe, as is all that follows.
[[nodiscard]] std::vector<AggregationEntry> aggregations();
// Null for an unknown name. Entries stay where they are as long as the process lives.
[[nodiscard]] const AggregationEntry* find_aggregation(const std::string& name);

// Adds a choice for every recipe read from now on. The model must be a shared one; every key must be one that a
// built-in choice has. Refuses a name that is taken.
Status add_aggregation(AggregationEntry entry, AggregatorFactory factory);

// Precondition of a run, checked when its recipe is read: some objectives need the server that knows them (SCAFFOLD,
// FedDyn), and those servers need their objective.
[[nodiscard]] Status check_pairing(const std::string& global, const std::string& objective);

// Whether its clients send more than models: the objective that it is made for does.
[[nodiscard]] bool takes_payload(const std::string& global);

// Fails for unknown names, and for choices that keep more than one model: nothing merges those.
[[nodiscard]] Result<std::unique_ptr<Aggregator>> make_aggregator(const AggregationOptions& options,
                                                                  const AggregatorSizes& sizes);

// True for rules that must know how likely each group was to be drawn.
[[nodiscard]] bool corrects_draw(const std::string& global);

// The importance of each drawn group, from the logarithm of its probability p of being drawn, with `samples` in all
// groups together (n). Precondition: corrects_draw(global).
//   unbiased:   1 / (n p S) of S drawn groups (Group-FEL, Eq. 4)
//   stabilised: the same up to a common factor, chosen so that the least likely group has 1. The weights are divided by
//               their sum afterwards (Eq. 39), so the factor does not matter, and no p is too small to be inverted.
[[nodiscard]] std::vector<double> draw_corrections(const std::string& global, std::span<const double> log_probabilities,
                                                   std::uint64_t samples);

// One factory per file.
std::unique_ptr<Aggregator> make_mean(bool by_samples, const AggregatorSizes& sizes);
std::unique_ptr<Aggregator> make_unbiased_sum(const AggregatorSizes& sizes);
enum class ServerRule { kAdagrad, kAdam, kYogi };
std::unique_ptr<Aggregator> make_server_optimizer(ServerRule rule, const AggregationOptions& options,
                                                  const AggregatorSizes& sizes);
std::unique_ptr<Aggregator> make_control_variate_server(double server_learning_rate, const AggregatorSizes& sizes);
std::unique_ptr<Aggregator> make_dynamic_server(const AggregatorSizes& sizes);
std::unique_ptr<Aggregator> make_smoothed(std::unique_ptr<Aggregator> inside, const SmoothedRange& range);
enum class ModelNorm { kL1, kL2 };
std::unique_ptr<Aggregator> make_inverse_distance(ModelNorm norm, const AggregatorSizes& sizes);
class MergeRule;
struct PrivacyOptions;
std::unique_ptr<Aggregator> make_private_sum(std::unique_ptr<Aggregator> inside, const PrivacyOptions& options,
                                             const AggregatorSizes& sizes);
std::unique_ptr<Aggregator> make_rule_aggregator(std::unique_ptr<MergeRule> rule, const AggregatorSizes& sizes);

}  // namespace muster
