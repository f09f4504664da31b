// RegroupOptions: when groups are formed anew. From the round, or from what the rounds so far have shown -> yes or no.
// The groups before the first round are formed in any case.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/catalogue_entry.h"
#include "base/result.h"

namespace muster {

// `plan.regroup-every`, `plan.regroup-on` and `plan.regroup-round` of a recipe. With neither of the first two: never.
struct RegroupOptions {
  std::optional<std::uint32_t> every;  // rounds that a grouping lasts, >= 1
  std::string on;                      // see regroup_events(); "" = on no event
  // The event's round, >= 1. round: after which groups are formed; others: after which they are formed at the earliest.
  std::optional<std::uint32_t> round;
  // bipartition: epsilons are multiples of the mean length of an update in this round, >= 1; not set: plain lengths.
  std::optional<std::uint32_t> calibrate;
  bool operator==(const RegroupOptions&) const = default;
};

// Every event, in the order of the documentation.
[[nodiscard]] std::vector<CatalogueEntry> regroup_events();

// Fails if the event is unknown, a number is out of range, or both `every` and `on` are set.
[[nodiscard]] Status check_regroup(const RegroupOptions& options);

// Whether `every` asks for new groups before round `round` >= 2. Never if it is not set.
[[nodiscard]] bool regroup_before(const RegroupOptions& options, std::uint32_t round);

// The first round after which the event can happen: `round`, or the event's default. Precondition: `on` is an event.
[[nodiscard]] std::uint32_t earliest_event(const RegroupOptions& options);

// Population variance over clients of each client's sum of losses over the rounds (AutoCFL). Entries that are not
// finite do not count; without any the variance is 0.
[[nodiscard]] double cumulative_loss_variance(std::span<const double> cumulative_losses);

// loss-variance: whether groups are formed after the last of the rounds, whose variances are given in order from round
// 1. Yes if the variance has risen twice in a row, but not before round `earliest`; at the latest two rounds after it.
[[nodiscard]] bool variance_says_group(std::span<const double> variances, std::uint32_t earliest);

}  // namespace muster
