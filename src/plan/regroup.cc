#include "plan/regroup.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/names.h"
#include "plan/regroup_event.h"

namespace muster {
namespace {

const EventEntry* find_event(const std::string& name) {
  const std::vector<EventEntry>& events = event_entries();
  const auto found = std::ranges::find(events, name, &EventEntry::name);
  return found == events.end() ? nullptr : &*found;
}

}  // namespace

std::vector<CatalogueEntry> regroup_events() {
  std::vector<CatalogueEntry> entries;
  for (const EventEntry& event : event_entries()) entries.push_back({event.name, event.summary, event.keys});
  return entries;
}

Status check_regroup(const RegroupOptions& options) {
  if (options.every && *options.every < 1) return usage_error("plan.regroup-every: {}, want >= 1", *options.every);
  if (options.round && *options.round < 1) return usage_error("plan.regroup-round: {}, want >= 1", *options.round);
  if (options.calibrate && *options.calibrate < 1) {
    return usage_error("plan.calibrate-round: {}, want >= 1", *options.calibrate);
  }
  if (options.on.empty()) {
    if (options.round) return usage_error("plan.regroup-round: {}, but plan.regroup-on names no event", *options.round);
    return {};
  }
  const EventEntry* const event = find_event(options.on);
  if (!event) {
    std::vector<std::string> names;
    for (const EventEntry& known : event_entries()) names.push_back(known.name);
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
  const EventEntry* const event = find_event(options.on);
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
