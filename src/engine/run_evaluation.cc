#include "engine/run_evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "engine/accuracy_spread.h"
#include "engine/prediction_figures.h"

namespace muster {
namespace {

// More clients than this are not asked at the end where rounds do not ask them.
constexpr std::uint32_t kMostSites = 100'000;

enum class On { kAuto, kGlobal, kClients, kBoth };

On on_of(const std::string& word) {
  if (word == "global") return On::kGlobal;
  if (word == "clients") return On::kClients;
  return word == "both" ? On::kBoth : On::kAuto;
}

bool has(const std::vector<std::string>& metrics, const char* name) {
  return std::ranges::find(metrics, name) != metrics.end();
}

// What a client answered, null if it did not, or has no samples.
const Evaluation* answer(const EvaluateReply& reply) {
  const auto* const own = std::get_if<Evaluation>(&reply);
  return own && own->samples > 0 ? own : nullptr;
}

double accuracy_of(const Evaluation& own) {
  return static_cast<double>(own.correct) / static_cast<double>(own.samples);
}

Score sum_of_clients(const EvaluationResult& result) {
  Score all;
  for (const EvaluateReply& reply : result.clients) {
    const Evaluation* const own = answer(reply);
    if (!own) continue;
    all.add(*own);
    if (own->predictions) all.predictions.append(*own->predictions);
  }
  return all;
}

double covered(const Score& answered, std::uint64_t asked) {
  return static_cast<double>(answered.samples) / static_cast<double>(asked);
}

}  // namespace

RunEvaluation::RunEvaluation(const Federation& federation, const EvaluationOptions& options)
    : roster_(federation.roster()), metrics_(options.metrics) {
  details_.predictions = has(metrics_, "confusion") || has(metrics_, "per-class") || has(metrics_, "macro-f1");
  details_.scores = has(metrics_, "auc");
}

Result<std::unique_ptr<RunEvaluation>> RunEvaluation::make(const EvaluationOptions& options,
                                                           const Federation& federation, bool separate,
                                                           std::uint64_t seed) {
  const On on = on_of(options.on);
  const Roster& roster = federation.roster();
  const bool has_global = federation.global_test_samples() > 0;
  const bool wants_global = on == On::kGlobal || on == On::kBoth || (on == On::kAuto && has_global && !separate);
  const bool wants_clients = on == On::kClients || on == On::kBoth || (on == On::kAuto && !wants_global);
  if (wants_global && !has_global) {
    return usage_error("evaluation.on: \"{}\", but the data have no global test set; want \"clients\"", options.on);
  }
  if (wants_global && separate) {
    return usage_error("evaluation.on: \"{}\", but no model speaks for all clients; want \"clients\"", options.on);
  }
  std::unique_ptr<RunEvaluation> made(new RunEvaluation(federation, options));
  made->tests_.global = wants_global;
  made->tests_.global_samples = wants_global ? federation.global_test_samples() : 0;
  // Validation is done by whom the tests are done by; where the server has no samples of its own, by the clients.
  Asked& validation = made->validation_;
  validation.held_out = HeldOut::kValidation;
  validation.global = wants_global && federation.global_validation_samples() > 0;
  validation.global_samples = validation.global ? federation.global_validation_samples() : 0;
  const bool clients_validate = !validation.global && roster.validates();
  if (wants_clients || clients_validate) {
    Stream stream({.seed = seed, .purpose = Purpose::kSampling, .part = 1});
    for (const std::uint32_t k : stream.sample(roster.clients(), options.clients.of(roster.clients()))) {
      if (wants_clients) made->tests_.clients.push_back({k});
      if (clients_validate) validation.clients.push_back({k});
    }
    if (made->samples_of(made->tests_) == 0) made->tests_.clients.clear();
    if (made->samples_of(validation) == 0) validation.clients.clear();
  }
  // Without test samples anywhere "auto" trains all the same, and has no accuracy.
  if (wants_clients && made->tests_.clients.empty() && on != On::kAuto) {
    return usage_error(
        "evaluation.on: \"{}\", but no client has test samples; set data.test-fraction, e.g. 0.2, or "
        "evaluation.on = \"global\"",
        options.on);
  }
  if (!made->tests_.clients.empty()) {
    made->client_accuracy_.assign(roster.clients(), std::numeric_limits<float>::quiet_NaN());
  }
  made->ask_sites();
  return made;
}

std::uint32_t RunEvaluation::samples_of(const Asked& asked, ClientId client) const {
  return asked.held_out == HeldOut::kValidation ? roster_.validation_samples(client) : roster_.test_samples(client);
}

std::uint64_t RunEvaluation::samples_of(const Asked& asked) const {
  std::uint64_t samples = 0;
  for (const ClientId client : asked.clients) samples += samples_of(asked, client);
  return samples;
}

// At the end: whom rounds ask, or else everybody who has tests.
void RunEvaluation::ask_sites() {
  sites_ = tests_;
  if (!sites_.clients.empty()) return;
  std::uint32_t tested = 0;
  for (std::uint32_t k = 0; k < roster_.clients(); ++k) tested += roster_.test_samples({k}) > 0 ? 1 : 0;
  if (tested == 0) {
    sites_skipped_ = "no client has test samples of its own";
    return;
  }
  if (tested > kMostSites) {
    sites_skipped_ = fmt::format(
        "{} clients have test samples, more than {}; evaluation.on = \"clients\" asks them all", tested, kMostSites);
    return;
  }
  for (std::uint32_t k = 0; k < roster_.clients(); ++k) sites_.clients.push_back({k});
}

// Scores are of two classes, and of no more samples than fit.
Details RunEvaluation::affordable(Details details, const Asked& asked) const {
  const std::uint64_t samples = asked.global ? asked.global_samples : samples_of(asked);
  details.scores = details.scores && roster_.classes() == 2 && samples <= kMostScores;
  return details;
}

EvaluationRequest RunEvaluation::request_of(const Asked& asked, const Details& details, const Models& models,
                                            const Grouping& grouping, std::uint32_t round) {
  clients_.clear();
  model_of_.clear();
  groups_ = models.per_group() && !models.in_clients() ? grouping.count() : 0;
  EvaluationRequest request{.held_out = asked.held_out, .round = round, .own_models = models.in_clients()};
  // Details are told of what the accuracy is of.
  (asked.global ? request.global_details : request.details) = affordable(details, asked);
  if (asked.global) request.global = models.shared();
  if (asked.clients.empty()) return request;
  for (std::uint32_t g = 0; g < groups_; ++g) request.models.push_back(models.of({g}));
  request.models.push_back(models.shared());
  const std::vector<GroupId> group_of = groups_of_clients(grouping, roster_.clients());
  for (const ClientId client : asked.clients) {
    if (roster_.since_round(client) > round || samples_of(asked, client) == 0) continue;
    const GroupId group = group_of[client.value];
    if (grouped_only_ && group == kNoGroup) continue;
    clients_.push_back(client);
    model_of_.push_back(groups_ > 0 && group != kNoGroup ? group.value : groups_);
  }
  request.clients = clients_;
  request.model_of = model_of_;
  return request;
}

EvaluationRequest RunEvaluation::request(const Models& models, const Grouping& grouping, std::uint32_t round) {
  return request_of(tests_, details_, models, grouping, round);
}

EvaluationRequest RunEvaluation::validation_request(const Models& models, const Grouping& grouping,
                                                    std::uint32_t round) {
  return request_of(validation_, {}, models, grouping, round);
}

EvaluationRequest RunEvaluation::final_request(const Models& models, const Grouping& grouping, std::uint32_t round) {
  return request_of(sites_, {.predictions = true, .scores = true}, models, grouping, round);
}

SiteFigures RunEvaluation::enter_sites(const EvaluationResult& result) {
  SiteFigures sites;
  Score all;
  double worst = std::numeric_limits<double>::infinity();
  std::vector<double> accuracies;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const Evaluation* const own = answer(result.clients[i]);
    if (!own) continue;
    const ClientId client = clients_[i];
    const double accuracy = accuracy_of(*own);
    if (accuracy < worst) {
      worst = accuracy;
      sites.worst_client = client.value;
      sites.worst_name = roster_.name(client);
    }
    accuracies.push_back(accuracy);
    all.add(*own);
    client_accuracy_[client.value] = static_cast<float>(accuracy);
  }
  sites.evaluated = static_cast<std::uint32_t>(accuracies.size());
  if (sites.evaluated > 0) sites.accuracy = all.accuracy();
  sites.spread = spread_of(std::move(accuracies));
  return sites;
}

void RunEvaluation::enter(const EvaluationResult& result, RoundRecord& record) {
  record.client_spread = enter_sites(result).spread;
  const Score all = sum_of_clients(result);
  std::vector<Score> groups(groups_);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const Evaluation* const own = answer(result.clients[i]);
    if (own && model_of_[i] < groups_) groups[model_of_[i]].add(*own);
  }
  if (result.global) {
    record.accuracy = result.global->accuracy();
    record.loss = result.global->loss();
    if (all.samples > 0) record.client_accuracy = all.accuracy();
  } else if (all.samples > 0) {
    record.accuracy = all.accuracy();
    record.loss = all.loss();
    record.covered = covered(all, samples_of(tests_));
  }
  record.group_accuracy.clear();
  for (const Score& group : groups) record.group_accuracy.push_back(group.samples > 0 ? group.accuracy() : NAN);
  if (!details_.any()) return;
  PredictionTally tally(roster_.classes());
  tally.add(result.global ? result.global->predictions : all.predictions);
  if (has(metrics_, "macro-f1")) record.metrics.macro_f1 = tally.macro_f1();
  if (has(metrics_, "auc")) record.metrics.auc = tally.auc();
  if (has(metrics_, "per-class")) record.metrics.classes = tally.classes(roster_);
  if (has(metrics_, "confusion")) record.metrics.confusion = tally.confusion();
}

EvaluationRequest RunEvaluation::attack_request(const Models& models, const Grouping& grouping, std::uint32_t round,
                                                bool triggered) {
  Asked asked = tests_;
  if (triggered) asked.held_out = HeldOut::kTriggered;
  if (asked.global) asked.clients.clear();
  return request_of(asked, {.predictions = true}, models, grouping, round);
}

std::vector<PredictionCount> RunEvaluation::predictions(const EvaluationResult& result) const {
  return (result.global ? *result.global : sum_of_clients(result)).predictions.counts;
}

void RunEvaluation::enter_validation(const EvaluationResult& result, RoundRecord& record) {
  const Score all = result.global ? *result.global : sum_of_clients(result);
  if (all.samples == 0) return;
  record.validation_accuracy = all.accuracy();
  record.validation_loss = all.loss();
  if (!result.global) record.validation_covered = covered(all, samples_of(validation_));
}

RunEvaluation::Final RunEvaluation::enter_final(const EvaluationResult& result) {
  if (!clients_.empty() && client_accuracy_.empty()) {
    client_accuracy_.assign(roster_.clients(), std::numeric_limits<float>::quiet_NaN());
  }
  Final told{.sites = enter_sites(result), .metrics = {}};
  told.sites.skipped = sites_skipped_;
  if (told.sites.evaluated == 0 && sites_skipped_.empty()) told.sites.skipped = "no client answered";
  const Score scored = result.global ? *result.global : sum_of_clients(result);
  if (scored.samples == 0) return told;
  PredictionTally tally(roster_.classes());
  tally.add(scored.predictions);
  told.metrics = {.macro_f1 = tally.macro_f1(),
                  .auc = tally.auc(),
                  .classes = tally.classes(roster_),
                  .confusion = tally.confusion()};
  return told;
}

void RunEvaluation::save(Checkpoint& checkpoint) const {
  checkpoint.put_floats("client-accuracy", client_accuracy_);
}

Status RunEvaluation::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(std::vector<float> accuracy, checkpoint.get_floats("client-accuracy"));
  if (accuracy.size() != client_accuracy_.size()) {
    return failure("checkpoint of round {} holds the accuracy of {} clients, want {}", checkpoint.round,
                   accuracy.size(), client_accuracy_.size());
  }
  client_accuracy_ = std::move(accuracy);
  return {};
}

}  // namespace muster
