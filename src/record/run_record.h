// What a run leaves behind, as values: a record per round, a tally per client, a summary at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/merge_report.h"
#include "base/ids.h"
#include "clients/dropped.h"
#include "cost/cost.h"
#include "grouping/quality.h"
#include "record/run_figures.h"
#include "record/run_totals.h"

namespace muster {

// Somebody whose model a merge left out: a member of a group, a client that is alone, or a whole group.
struct FilteredRecord {
  std::optional<ClientId> client;
  std::optional<GroupId> group;
  FilterReason reason = FilterReason::kNone;
  std::uint32_t visits = 1;  // of the round, in which it was left out
};

// What rules that see all models did in a round.
struct MergeRecord {
  std::vector<FilteredRecord> filtered;
  std::uint32_t clipped = 0;                      // models whose change was shortened
  std::vector<std::optional<GroupId>> fell_back;  // groups too small for the rule; not set: there were too few groups
};

struct RoundRecord {
  std::uint32_t round = 0;
  std::optional<double> accuracy;  // of the evaluation that counts: global if there is one, else the clients'
  std::optional<double> loss;
  std::optional<double> client_accuracy;  // over the clients' own test samples, if they were evaluated too
  std::optional<double> covered;          // share of the clients' test samples behind the accuracy, if it is theirs
  std::optional<AccuracySpread> client_spread;  // of the clients that were evaluated, if any
  PredictionFigures metrics;                    // as far as the recipe asks for them, of what `accuracy` is of
  // Of the same models on validation samples, where there are any, and the share of the clients' that was covered.
  std::optional<double> validation_accuracy;
  std::optional<double> validation_loss;
  std::optional<double> validation_covered;
  std::optional<double> train_loss;  // samples-weighted mean over the participants; none if all dropped
  // Population variance over clients of their losses after training, summed over the rounds, where clients report them.
  std::optional<double> loss_variance;
  std::optional<EpochFigures> epochs;  // while they are adapted
  std::uint32_t participants = 0;
  std::vector<Dropped> dropped;
  std::optional<MergeRecord> merge;      // where a rule may leave models out
  bool attacked = false;                 // there is an attack, of which
  std::optional<double> attack_success;  // share of the samples an attack is after that are taken for its target
  std::optional<double> epsilon;         // spent since the run began, where it is private
  std::optional<SumFigures> secure;      // of the groups' secure sums, where members are merged by them
  std::uint32_t groups = 0;
  std::uint32_t idle = 0;
  std::uint32_t models = 1;
  std::optional<double> discrepancy;   // mean distance of the models sent from the merged one, where it was asked for
  std::vector<double> group_accuracy;  // of each group's model on its members' tests, NaN = none; empty = one model
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  LinkBytes links;
  double compute_s = 0;     // simulated
  double comm_s = 0;        // simulated
  double cost_total_s = 0;  // both, since the run began
  // Not written: what progress and events show of the groups and of the run so far.
  std::uint32_t groups_formed = 0;   // of which `groups` took part
  std::uint32_t group_size_max = 0;  // members of the largest
  std::uint64_t bytes_total = 0;     // both ways, since the run began
  double profile_flops = 0;          // of the client that had most to compute for its profile; not written
  double wall_s = 0;
};

struct ClientTally {
  std::uint32_t trained = 0;
  std::uint32_t dropped = 0;
  std::uint32_t filtered = 0;  // rounds in which it, or its group, was left out of a merge
};

enum class StopReason { kRounds, kTarget, kBudget, kPatience, kDiverged, kInterrupted };
[[nodiscard]] std::string_view name(StopReason reason);

struct RunSummary : RunTotals {
  std::string run;
  std::string recipe;
  std::uint64_t seed = 0;
  std::uint32_t rounds = 0;
  StopReason stopped = StopReason::kRounds;
  std::string signature;
  std::optional<double> target_accuracy;
  std::uint32_t clients = 0;
  std::uint32_t models = 1;
  std::uint32_t groups = 0;
  std::uint32_t idle = 0;
  double group_size_min = 0;
  double group_size_mean = 0;
  double group_size_max = 0;
  std::uint32_t groups_since = 0;  // the round that the groups were formed in
  GroupQuality quality;
  GroupQuality client_quality;     // as if every client were a group
  std::optional<Agreement> truth;  // with planted clusters, where there are some
  std::uint64_t peak_rss_bytes = 0;
  std::filesystem::path dir;
  std::string data;  // what the data were, in words
  std::size_t parameters = 0;
  std::string initial_model;     // hash of the weights that it began with, 16 hex digits
  std::uint32_t kept_round = 0;  // whose models the folder holds, and whose accuracy is the last
  bool validated = false;        // there were validation samples, of which
  std::optional<double> validation_best;
  std::uint32_t validation_best_round = 0;  // 0 = there is none
  // What an attack came to, where there was one.
  struct AttackFigures {
    std::string kind;
    std::vector<ClientId> clients;  // that were malicious
    std::optional<double> success;  // at the last evaluation
  };
  std::optional<AttackFigures> attack;
  std::optional<double> epsilon;  // spent, where the run was private, at
  double delta = 0;
  bool privacy_spent = false;                // another round would have exceeded dp.epsilon
  SiteFigures sites;                         // of the models that are kept
  std::optional<PredictionFigures> metrics;  // the same; none if nothing was evaluated at the end
};

// One line of JSON each; field names are those of the public contract. Numbers that are not finite become null.
[[nodiscard]] std::string to_json(const RoundRecord& record);
[[nodiscard]] std::string to_json(const RunSummary& summary);

}  // namespace muster
