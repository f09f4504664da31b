#include "engine/forecast.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/clock.h"
#include "base/random.h"
#include "engine/groups.h"
#include "engine/models.h"
#include "engine/run_evaluation.h"
#include "engine/sent_values.h"
#include "engine/simulated_federation.h"
#include "plan/plan.h"
#include "profile/kinds.h"
#include "recipe/choices.h"
#include "recipe/fit_to_data.h"
#include "record/json_text.h"
#include "solver/training_flops.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  in >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Samples that a client trains on in one visit.
double visit_samples(const Recipe& recipe, std::uint32_t samples) {
  const LocalOptions& local = recipe.local;
  const double shared =
      local.steps ? static_cast<double>(*local.steps) * std::min(local.batch_size, samples) : local.epochs * samples;
  const double all = shared + local.personal_epochs.value_or(0) * samples;
  return local.own_model ? 2 * all : all;
}

// Samples that all clients train on for their profiles.
double profile_samples(const Recipe& recipe, const Federation& federation) {
  // Where an event forms the groups, profiles are read off what clients send anyway.
  if (!federation.profile_kind().entry().trains || !recipe.plan.regroup.on.empty()) return 0;
  const std::vector<ClientId> present = federation.roster().present(1);
  const ProfileWork work = work_of(recipe.profile, federation.profile_kind().entry().usual_work);
  double sum = 0;
  for (const ClientId client : present) {
    const std::uint32_t samples = federation.roster().train_samples(client);
    sum += work.steps ? static_cast<double>(*work.steps) * std::min(recipe.local.batch_size, samples)
                      : work.epochs * samples;
  }
  const auto count = static_cast<std::uint32_t>(present.size());
  return count == 0 ? 0 : sum * recipe.profile_clients.of(count) / count;
}

// Every worker trains a step, so that its memory is there; then one is timed for a moment.
Result<double> seconds_per_sample(LocalFederation& federation, ClientId client, std::span<const float> model) {
  constexpr double kLongEnough = 0.05;
  constexpr std::uint32_t kMostSteps = 256;
  const auto trial = [&](std::uint32_t worker, std::uint32_t steps) -> Result<std::uint64_t> {
    MUSTER_ASSIGN(const TrainReply reply,
                  federation.solver(worker).train(
                      {.client = client, .round = 1, .model = model, .trial = LocalWork{.epochs = 0, .steps = steps}}));
    const auto* const update = std::get_if<LocalUpdate>(&reply);
    return update ? update->samples_trained : std::uint64_t{0};
  };
  for (std::uint32_t worker = 0; worker < federation.threads(); ++worker) MUSTER_TRY(trial(worker, 1));
  for (std::uint32_t steps = 4;; steps *= 4) {
    const double begun_s = now_s();
    MUSTER_ASSIGN(const std::uint64_t samples, trial(0, steps));
    const double took_s = now_s() - begun_s;
    if (samples == 0) return 0.0;
    if (took_s >= kLongEnough || steps >= kMostSteps) return took_s / static_cast<double>(samples);
  }
}

// The one in the middle by size, of those with samples.
std::optional<ClientId> usual_client(const Roster& roster) {
  std::vector<ClientId> present = roster.present(1);
  std::erase_if(present, [&](ClientId client) { return roster.train_samples(client) == 0; });
  if (present.empty()) return std::nullopt;
  const auto middle = present.begin() + static_cast<std::ptrdiff_t>(present.size() / 2);
  std::ranges::nth_element(present, middle, {}, [&](ClientId client) { return roster.train_samples(client); });
  return *middle;
}

// What the first round would do, from the groups of which it draws; with no groups, every client is one.
struct FirstRound {
  RoundWork work;
  std::uint32_t clients = 0;
  double samples = 0;
  double longest_chain = 0;  // samples that must be trained one after the other
};

FirstRound first_round(const Recipe& recipe, const PlanOptions& options, const Federation& federation,
                       const Grouping& grouping, std::span<const double> cov) {
  FirstRound round;
  round.work.in_sequence = federation.trainer().in_sequence();
  round.work.visits = federation.trainer().visits();
  round.work.edges = federation.roster().edges() > 1;
  const RoundPlan plan = plan_round(options, grouping, recipe.seed, 1, cov);
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    GroupWork group;
    double chain = 0;
    double longest = 0;
    for (const ClientId client : plan.members(i, grouping)) {
      const std::uint32_t own = federation.roster().train_samples(client);
      const double trained = visit_samples(recipe, own) * round.work.visits;
      group.members.push_back({.client = client,
                               .samples = own,
                               .samples_trained = static_cast<std::uint64_t>(std::llround(trained)),
                               .visits = round.work.visits});
      chain += trained;
      longest = std::max(longest, trained);
    }
    group.size = static_cast<std::uint32_t>(group.members.size());
    round.clients += group.size;
    round.samples += chain;
    round.longest_chain = std::max(round.longest_chain, round.work.in_sequence ? chain : longest);
    round.work.drawn.push_back(std::move(group));
  }
  round.work.groups = grouping.count();
  round.work.clients = federation.roster().clients() - static_cast<std::uint32_t>(grouping.idle().size());
  return round;
}

// Where the groups are not known, but a share of them is drawn: the same share of all clients, about.
FirstRound share_of_clients(const Recipe& recipe, const Federation& federation) {
  PlanOptions options = recipe.plan;
  options.sampling = "uniform";
  if (options.sample_groups) options.sample_clients = *options.sample_groups;
  options.sample_groups.reset();
  Grouping everybody;
  everybody.add(federation.roster().present(1));
  FirstRound round = first_round(recipe, options, federation, everybody, {});
  round.longest_chain = 0;  // nobody knows how long the chains will be
  return round;
}

// All that a run has before its first round.
struct Parts {
  std::vector<std::string> notes;
  std::unique_ptr<FederatedData> data;
  std::unique_ptr<LocalFederation> federation;
  std::unique_ptr<Oracle> oracle;
  std::unique_ptr<Groups> groups;
  std::vector<float> initial;
  std::unique_ptr<Models> models;
  std::unique_ptr<RunEvaluation> evaluation;
  std::unique_ptr<Objective> objective;
  SentValues sent;
};

Result<Parts> make_parts(Recipe& recipe, std::uint32_t threads) {
  Parts parts;
  MUSTER_ASSIGN(parts.data, make_federated_data(recipe.data, recipe.data_seed.value_or(recipe.seed)));
  MUSTER_ASSIGN(parts.notes, settle_recipe(recipe, *parts.data));
  // Nothing leaves this machine, and a forecast needs to know how many samples clients have.
  Recipe telling = recipe;
  telling.training.secure.samples = kToldSamples;
  MUSTER_ASSIGN(parts.federation, make_simulated_federation(telling, threads, nullptr, *parts.data, {}));
  parts.oracle = std::make_unique<Oracle>(*parts.data, recipe.seed);
  MUSTER_ASSIGN(parts.groups, Groups::make(recipe, *parts.federation, parts.oracle.get()));
  const Network& network = parts.federation->network();
  parts.initial.resize(network.size());
  Stream stream({.seed = recipe.seed, .purpose = Purpose::kInitialise});
  network.initialise(parts.initial, stream);
  const AggregatorSizes sizes = aggregator_sizes(recipe, network, parts.federation->roster().clients());
  MUSTER_ASSIGN(parts.models, make_models(recipe, sizes, parts.initial));
  const bool separate = parts.models->per_group() || scores_clients_apart(recipe);
  MUSTER_ASSIGN(parts.evaluation, RunEvaluation::make(recipe.evaluation, *parts.federation, separate, recipe.seed));
  MUSTER_ASSIGN(parts.objective, make_objective(recipe.local.objective));
  MUSTER_ASSIGN(parts.sent, sent_values(recipe.local, network, parts.objective->has_payload()));
  return parts;
}

// An event forms groups later on: until then everybody is one.
Status tell_groups(Parts& parts, Forecast& found) {
  const Roster& roster = parts.federation->roster();
  const bool needs_training = parts.federation->profile_kind().entry().trains && !parts.groups->event();
  if (needs_training || !roster.anybody(1)) return {};
  const std::vector<std::uint32_t> drawn(roster.clients());
  MUSTER_ASSIGN(const GroupsFormed formed, parts.groups->form(1, "forecast", drawn));
  const Grouping& grouping = parts.groups->grouping();
  if (formed.anew) parts.models->regrouped(grouping, formed.starts);
  found.groups = grouping.count();
  found.idle = static_cast<std::uint32_t>(grouping.idle().size());
  found.sizes = group_sizes(grouping);
  found.cov_mean = parts.oracle->quality(grouping).cov_mean;
  found.notes.insert(found.notes.end(), formed.notes.begin(), formed.notes.end());
  return {};
}

FirstRound tell_round(const Recipe& recipe, Parts& parts, Forecast& found) {
  FirstRound round;
  const Federation& federation = *parts.federation;
  const bool share = !recipe.plan.sample_groups || std::holds_alternative<double>(recipe.plan.sample_groups->value);
  if (found.groups && !parts.groups->rejoins()) {
    round = first_round(recipe, recipe.plan, federation, parts.groups->grouping(), parts.groups->cov());
    found.groups_per_round = static_cast<std::uint32_t>(round.work.drawn.size());
  } else if (share && federation.roster().anybody(1)) {
    round = share_of_clients(recipe, federation);
  }
  if (found.groups || share) {
    found.clients_per_round = round.clients;
    found.samples_per_round = static_cast<std::uint64_t>(std::llround(round.samples));
  }
  parts.models->begin(1, std::max<std::size_t>(1, round.work.drawn.size()));
  found.models = parts.models->count();
  const std::size_t broadcast = parts.models->broadcast().size();
  round.work.keeps_models = parts.models->in_clients();
  round.work.download_bytes = parts.sent.download(broadcast) * sizeof(float);
  round.work.upload_bytes = parts.sent.upload() * sizeof(float);
  const RoundBytes bytes = count_bytes(round.work);
  found.bytes_up = bytes.up;
  found.bytes_down = bytes.down;
  return round;
}

// How many rounds `budget` pays for, if all take what the first one does: a run ends after the round that exceeds it.
void tell_rounds(const Recipe& recipe, const Parts& parts, const FirstRound& round, Forecast& found) {
  if (!found.clients_per_round) return;
  const bool matches_outputs = parts.objective->output_match() > 0;
  const NetworkSize network{.sample_flops = training_flops(parts.federation->network(), matches_outputs),
                            .values = parts.sent.model};
  const RoundCost cost = round_cost(recipe.cost, recipe.local.objective.name, network, round.work);
  found.cost_s = cost.compute_s + cost.comm_s;
  if (!recipe.budget || *recipe.budget >= found.cost_s * recipe.rounds) return;
  found.rounds = static_cast<std::uint32_t>(*recipe.budget / found.cost_s) + 1;
  found.notes.push_back(fmt::format("the budget of {} simulated seconds pays for about {} of {} rounds", *recipe.budget,
                                    found.rounds, recipe.rounds));
}

Status tell_time(const Recipe& recipe, Parts& parts, const FirstRound& round, Forecast& found) {
  LocalFederation& federation = *parts.federation;
  const EvaluationRequest request = parts.evaluation->request(*parts.models, parts.groups->grouping(), 1);
  if (!request.global.empty()) found.test_samples += federation.global_test_samples();
  double tuned = 0;  // samples that are trained on before clients score a model
  for (const ClientId client : request.clients) {
    found.test_samples += federation.roster().test_samples(client);
    tuned += recipe.local.fine_tune.value_or(0) * federation.roster().train_samples(client);
  }
  const std::optional<ClientId> usual = usual_client(federation.roster());
  if (!usual) return {};
  MUSTER_ASSIGN(const double sample_s, seconds_per_sample(federation, *usual, parts.initial));
  constexpr double kForward = 1.0 / 3;  // of a training step: forward once, backward twice
  const double threads = federation.threads();
  const double evaluation_s = (static_cast<double>(found.test_samples) * kForward + tuned) * sample_s / threads;
  found.profile_s = profile_samples(recipe, federation) * sample_s / threads;
  found.round_s =
      std::max(round.samples / threads, round.longest_chain) * sample_s + evaluation_s / recipe.evaluation.every;
  found.total_s = found.profile_s + found.round_s * found.rounds;
  return {};
}

// What is there by now, and what rounds add: models, updates on their way, what clients remember.
std::uint64_t memory_bytes(const Recipe& recipe, const Parts& parts) {
  const std::uint64_t model_bytes = parts.federation->network().size() * sizeof(float);
  const bool whole = parts.objective->has_state() || parts.models->in_clients() || recipe.local.own_model;
  const std::uint64_t of_client = whole ? model_bytes : model_bytes - parts.sent.model * sizeof(float);
  const std::uint64_t states = parts.federation->roster().clients() * of_client;
  return resident_bytes() + model_bytes * (2 * parts.models->count() + 3 * parts.federation->threads()) +
         std::min(states, std::uint64_t{recipe.local.state_limit_mb} << 20);
}

}  // namespace

Result<Forecast> forecast(Recipe recipe, std::uint32_t threads) {
  MUSTER_TRY(check_recipe(recipe));
  MUSTER_TRY(check_can_simulate(recipe));
  MUSTER_ASSIGN(Parts parts, make_parts(recipe, threads));
  const Roster& roster = parts.federation->roster();
  Forecast found{.recipe = recipe.name,
                 .description = describe_recipe(recipe),
                 .notes = std::move(parts.notes),
                 .seed = recipe.seed,
                 .rounds = recipe.rounds,
                 .data = parts.data->summary(),
                 .clients = roster.clients(),
                 .model = recipe.model.name,
                 .parameters = parts.federation->network().parameters(),
                 .layers = describe_network(parts.federation->network()),
                 .method = recipe.grouping.method,
                 .threads = parts.federation->threads()};
  std::ranges::move(recipe_notes(recipe), std::back_inserter(found.notes));
  for (std::uint32_t k = 0; k < roster.clients(); ++k) found.train_samples += roster.train_samples({k});
  MUSTER_TRY(tell_groups(parts, found));
  const FirstRound round = tell_round(recipe, parts, found);
  tell_rounds(recipe, parts, round, found);
  MUSTER_TRY(tell_time(recipe, parts, round, found));
  found.memory_bytes = memory_bytes(recipe, parts);
  return found;
}

std::string to_json(const Forecast& f) {
  const auto known = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  const bool drawn = f.clients_per_round.has_value();
  const auto if_drawn = [&](auto value) { return drawn ? Json(value) : Json(nullptr); };
  return json_text(
      Json{{"dry_run", true},
           {"recipe", f.recipe},
           {"description", f.description},
           {"notes", f.notes},
           {"seed", f.seed},
           {"rounds", f.rounds},
           {"data", f.data},
           {"clients", f.clients},
           {"train_samples", f.train_samples},
           {"test_samples", f.test_samples},
           {"model", f.model},
           {"parameters", f.parameters},
           {"layers", f.layers},
           {"models", f.models},
           {"groups",
            {{"method", f.method},
             {"count", known(f.groups)},
             {"idle", f.groups ? Json(f.idle) : Json(nullptr)},
             {"size_min", f.groups ? Json(f.sizes.smallest) : Json(nullptr)},
             {"size_mean", f.groups ? Json(f.sizes.mean) : Json(nullptr)},
             {"size_max", f.groups ? Json(f.sizes.largest) : Json(nullptr)},
             {"cov_mean", f.groups && std::isfinite(f.cov_mean) ? Json(f.cov_mean) : Json(nullptr)}}},
           {"per_round",
            {{"groups", known(f.groups_per_round)},
             {"clients", known(f.clients_per_round)},
             {"samples", if_drawn(f.samples_per_round)},
             {"bytes_up", if_drawn(f.bytes_up)},
             {"bytes_down", if_drawn(f.bytes_down)},
             {"cost_s", if_drawn(f.cost_s)}}},
           {"threads", f.threads},
           {"memory_bytes", f.memory_bytes},
           {"time", {{"profile_s", f.profile_s}, {"round_s", if_drawn(f.round_s)}, {"total_s", if_drawn(f.total_s)}}}});
}

}  // namespace muster
