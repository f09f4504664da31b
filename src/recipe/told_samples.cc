#include "recipe/told_samples.h"

#include <fmt/format.h>

#include "data/federated_data.h"
#include "recipe/choices.h"

namespace muster {
namespace {

std::string quoted(const std::string& word) {
  return fmt::format("\"{}\"", word);
}

// What clients tell before groups are formed, and when they join one.
std::optional<TellsSamples> by_profiles(const Recipe& r) {
  const ProfileGives told = told_by(r);
  if (told == ProfileGives::kLabels && !r.profile.epsilon) {
    return TellsSamples{"profile.kind", quoted(r.profile.kind), "the counts of a client's labels add up to it",
                        "profile.epsilon, or a grouping.method that needs no profile"};
  }
  if (told == ProfileGives::kLabels && r.dp.on()) {
    return TellsSamples{"profile.epsilon", fmt::format("{}", *r.profile.epsilon),
                        "what it costs a client beside dp.clip is counted by its samples",
                        "a grouping.method that needs no profile"};
  }
  if (told == ProfileGives::kLosses) {
    return TellsSamples{"profile.kind", quoted(r.profile.kind), "losses are told with how many samples they are of",
                        "a grouping.method that needs no profile"};
  }
  if (newcomer_entry(r).asks == NewcomerAsks::kLosses) {
    return TellsSamples{"newcomers.assign", quoted(newcomer_entry(r).name),
                        "losses are told with how many samples they are of", "random"};
  }
  return std::nullopt;
}

// What the server decides by it.
std::optional<TellsSamples> by_decisions(const Recipe& r) {
  if (groups_by_samples(r)) {
    return TellsSamples{"grouping.method", quoted(r.grouping.method), "groups are filled by their members' samples",
                        "another, e.g. \"random\" with grouping.size"};
  }
  const AggregationEntry* const global = find_aggregation(r.aggregation.global);
  if (global && global->draw == DrawCorrection::kUnbiased) {
    return TellsSamples{"aggregation.global", quoted(r.aggregation.global),
                        "it weighs groups by their share of everybody's samples",
                        "stabilised | samples-weighted | uniform"};
  }
  return std::nullopt;
}

// Samples that are kept from training are a known share of all.
std::optional<TellsSamples> by_tests(const Recipe& r) {
  const EvaluationEntry* const target = find_entry(evaluation_targets(), r.evaluation.on);
  if (target && target->clients) {
    return TellsSamples{"evaluation.on", quoted(r.evaluation.on), "clients tell how many test samples they score",
                        "\"global\""};
  }
  if (scores_clients_apart(r)) {
    return TellsSamples{"evaluation.on", quoted(r.evaluation.on),
                        "only clients can score what they do not share, and tell how many test samples they have",
                        "models that are wholly shared"};
  }
  if (r.data.validation_fraction > 0) {
    return TellsSamples{"data.validation-fraction", fmt::format("{}", r.data.validation_fraction),
                        "clients tell how many samples they validate on", "0"};
  }
  return std::nullopt;
}

// What clients with files of their own tell when they join.
std::optional<TellsSamples> by_files(const Recipe& r) {
  if (!held_by_clients(r.data)) return std::nullopt;
  const bool standardised = r.data.text.empty() && r.data.normalize.value_or(r.data.source == "csv");
  if (standardised) {
    return TellsSamples{"data.normalize", "true", "clients tell sums over their rows, and how many there are", "false"};
  }
  if (r.data.text.empty() && r.data.missing == "mean") {
    return TellsSamples{"data.missing", quoted(r.data.missing), "clients tell sums over their rows, and counts",
                        "\"drop\" | \"error\""};
  }
  return std::nullopt;
}

}  // namespace

std::optional<TellsSamples> tells_samples(const Recipe& recipe) {
  for (const auto& part : {by_profiles, by_decisions, by_tests, by_files}) {
    if (std::optional<TellsSamples> found = part(recipe)) return found;
  }
  return std::nullopt;
}

}  // namespace muster
