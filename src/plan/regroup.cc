#include "plan/regroup.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/names.h"

namespace muster {
namespace {

struct Event {
  const char* name;
  const char* summary;
  std::optional<std::uint32_t> earliest;  // not set: the recipe must say
};

// 3: earlier models of unequally large clients differ by how long they trained, not by their data. 20: Sattler's CFL
// lets the first rounds pass in which updates are long anyway.
constexpr Event kEvents[] = {
    {"round", "once, after round regroup-round", std::nullopt},
    {"loss-variance", "once, when the variance of the clients' summed losses has risen twice in a row (AutoCFL)", 3},
    {"bipartition", "whenever a group's mean update is short and a member's long (CFL)", 20},
};

const Event* find_event(const std::string& name) {
  const auto* const found =
      std::find_if(std::begin(kEvents), std::end(kEvents), [&](const Event& event) { return event.name == name; });
  return found == std::end(kEvents) ? nullptr : found;
}

}  // namespace

std::vector<CatalogueEntry> regroup_events() {
  std::vector<CatalogueEntry> entries;
  for (const Event& event : kEvents) entries.push_back({event.name, event.summary, {"regroup-round"}});
  return entries;
}

Status check_regroup(const RegroupOptions& options) {
  if (options.every && *options.every < 1) return usage_error("plan.regroup-every: {}, want >= 1", *options.every);
  if (options.round && *options.round < 1) return usage_error("plan.regroup-round: {}, want >= 1", *options.round);
  if (options.on.empty()) {
    if (options.round) return usage_error("plan.regroup-round: {}, but plan.regroup-on names no event", *options.round);
    return {};
  }
  const Event* const event = find_event(options.on);
  if (!event) {
    std::vector<std::string> names;
    for (const Event& known : kEvents) names.emplace_back(known.name);
    return Error{ErrorCode::kUsage, "plan.regroup-on: " + unknown_name("event", options.on, names)};
  }
  if (options.every) {
    return usage_error("plan.regroup-on: \"{}\" does not go with plan.regroup-every = {}; want one of the two",
                       options.on, *options.every);
  }
  if (!options.round && !event->earliest) {
    return usage_error("plan.regroup-on: \"{}\" needs plan.regroup-round, want >= 1", options.on);
  }
  return {};
}

bool regroup_before(const RegroupOptions& options, std::uint32_t round) {
  return options.every && round >= 2 && (round - 1) % *options.every == 0;
}

std::uint32_t earliest_event(const RegroupOptions& options) {
  const Event* const event = find_event(options.on);
  MUSTER_CHECK(event && (options.round || event->earliest), "event '{}'", options.on);
  return options.round ? *options.round : *event->earliest;
}

double cumulative_loss_variance(std::span<const double> cumulative_losses) {
  double sum = 0;
  double count = 0;
  for (const double loss : cumulative_losses) {
    if (!std::isfinite(loss)) continue;
    sum += loss;
    ++count;
  }
  if (count == 0) return 0;
  const double mean = sum / count;
  double squares = 0;
  for (const double loss : cumulative_losses) {
    if (std::isfinite(loss)) squares += (loss - mean) * (loss - mean);
  }
  return squares / count;
}

bool variance_says_group(std::span<const double> variances, std::uint32_t earliest) {
  const std::size_t round = variances.size();
  if (round < earliest) return false;
  if (round >= std::size_t{earliest} + 2) return true;
  return round >= 3 && variances[round - 1] > variances[round - 2] && variances[round - 2] > variances[round - 3];
}

}  // namespace muster
