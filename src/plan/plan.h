// RoundPlan: who takes part in a round, and what goes wrong on purpose. Decided before any training, from the run's
// seed, the round and the grouping alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/catalogue_entry.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/result.h"
#include "grouping/grouping.h"
#include "plan/regroup.h"
#include "plan/schedule.h"

namespace muster {

// How many: an integer is a count, a fraction a share.
struct Amount {
  std::variant<std::uint32_t, double> value = 1.0;

  // A count of at most `population`: shares are rounded half up, and are never less than 1 of a non-empty population.
  [[nodiscard]] std::uint32_t of(std::uint32_t population) const;
  bool operator==(const Amount&) const = default;
};

// The [plan] section of a recipe.
struct PlanOptions {
  std::optional<GroupSchedule> groups;  // how many groups are formed; not set: the grouping method's own keys decide
  RegroupOptions regroup;
  // Set: whole groups are drawn. Not set: clients are drawn, and each trains with the drawn clients of its group.
  std::optional<Amount> sample_groups;
  Amount sample_clients{1.0};
  std::string sampling = "uniform";  // see samplers()
};

// Every way to draw participants, in the order of the documentation.
[[nodiscard]] std::vector<CatalogueEntry> samplers();
// True for samplers that need the groups' coefficients of variation.
[[nodiscard]] bool samples_by_cov(const std::string& sampling);

// Refuses unknown names and settings that contradict each other, with the reason.
[[nodiscard]] Status check_plan(const PlanOptions& options);

// The [faults] section: shares of the sampled clients, drawn independently for every client and round.
struct FaultOptions {
  double drop = 0;         // vanish before training
  double straggle = 0;     // run out of time
  double nan = 0;          // send a broken update
  std::string stragglers;  // drop | partial; "" = partial for the proximal objective, else drop
};

struct RoundPlan {
  std::uint32_t round = 0;
  std::vector<GroupId> groups;  // ascending
  // Where only some members of a group take part: entry i is who of groups[i] does, ascending and never empty.
  // No entries: all members of all `groups`.
  Grouping parts;
  // Where whole groups are drawn: the logarithm of the probability that groups[i] is the first one. Else empty.
  std::vector<double> log_probabilities;
  // Where more are asked than are needed: how many of the members of groups[i] are enough, and how many of the groups.
  // 0, or no entries: all.
  std::vector<std::uint32_t> enough;
  std::uint32_t enough_groups = 0;

  // Who of groups[index] takes part. Lives as long as both `this` and `grouping`, from which the plan was made.
  [[nodiscard]] std::span<const ClientId> members(std::size_t index, const Grouping& grouping) const {
    if (parts.count() > 0) return parts.members(GroupId{static_cast<std::uint32_t>(index)});
    return grouping.members(groups[index]);
  }
};

// Draws without replacement. `cov`: each group's coefficient of variation, where samples_by_cov(). Idle clients are
// never drawn. Preconditions: check_plan() passes, and cov has an entry per group if it is needed.
[[nodiscard]] RoundPlan plan_round(const PlanOptions& options, const Grouping& grouping, std::uint64_t seed,
                                   std::uint32_t round, std::span<const double> cov = {});

// The plan with ceil(`factor` x drawn) participants instead of those drawn, as far as there are so many, and with how
// many of them are enough: the number drawn. Who is asked besides is drawn within each group that takes part; of
// clients that are all alone, from all others. Precondition: the plan draws clients, not whole groups.
[[nodiscard]] RoundPlan over_select(const RoundPlan& plan, const Grouping& grouping, double factor, std::uint64_t seed);

// The plan in which exactly these clients (ascending, each once) take part, each in its group; those in none do not.
[[nodiscard]] RoundPlan plan_for_clients(std::span<const ClientId> clients, const Grouping& grouping,
                                         std::uint32_t round);

// The logarithm of w(1 / CoV) for each group, by the sampler's w (Group-FEL, Eq. 38). 1 / CoV is at most 1000, also
// for CoV = 0; it is 0 for an infinite CoV and for NaN. Precondition: samples_by_cov(sampling).
[[nodiscard]] std::vector<double> log_sampling_weights(const std::string& sampling, std::span<const double> cov);

// Weights as the logarithms of probabilities: the law of the first draw, all equal where every weight is 0. They stay
// finite where a probability is too small for a number; -infinity only for a weight of 0.
[[nodiscard]] std::vector<double> log_sampling_probabilities(std::span<const double> log_weights);

// `count` distinct indices, ascending, with the law of drawing one after the other, each time with probability
// proportional to the weights that are left (Gumbel top-k). A count beyond the number of weights means all.
[[nodiscard]] std::vector<std::uint32_t> sample_by_weight(std::span<const double> log_weights, std::uint32_t count,
                                                          Stream& stream);

// What goes wrong on purpose for one client in one round.
struct Fault {
  bool drop = false;
  bool nan = false;
  // Set for stragglers: the uniform draw in [0, 1) that decides how much of its work is done.
  std::optional<double> straggle;
};
[[nodiscard]] Fault draw_fault(const FaultOptions& options, std::uint64_t seed, std::uint32_t round, ClientId client);

}  // namespace muster
