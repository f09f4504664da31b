#include "engine/simulation.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/clock.h"
#include "base/stopwatch.h"
#include "engine/noise_record.h"
#include "engine/rank_run.h"
#include "engine/results.h"
#include "engine/round_loop.h"
#include "engine/saved_recipe.h"
#include "engine/simulated_federation.h"
#include "recipe/choices.h"
#include "recipe/fit_to_data.h"
#include "recipe/recipe_text.h"

namespace muster {
namespace {

// Where a resumed run goes on.
std::string resumed_from(const RunState& state, const Recipe& recipe) {
  if (state.round == 0) return "no checkpoint was saved yet; starting again from round 1";
  if (state.stop_reason(recipe))
    return fmt::format("the run was over after round {}; nothing is left to do", state.round);
  return fmt::format("going on with round {} of {}", state.round + 1, recipe.rounds);
}

// On the threads of this process, or on all ranks.
Result<std::unique_ptr<Federation>> make_federation(const Recipe& recipe, RankRun* ranks, const FederatedData& data,
                                                    const std::filesystem::path& states,
                                                    const SimulationOptions& options) {
  MemberSecrets secrets;
  if (clients_add_noise(recipe) && !options.federation) {
    MUSTER_ASSIGN(secrets.noise, keep_noise_key(states.parent_path(), options.noise_key, false));
  }
  if (ranks) {
    MUSTER_ASSIGN(std::unique_ptr<RankFederation> made, ranks->federation(recipe, data, states, secrets));
    return std::unique_ptr<Federation>(std::move(made));
  }
  MUSTER_ASSIGN(std::unique_ptr<LocalFederation> made,
                make_simulated_federation(recipe, options.threads, options.spare, data, states, std::move(secrets)));
  if (options.federation) return options.federation(recipe, std::move(made), states.parent_path());
  if (options.times) {
    options.times->threads = made->threads();
    made->set_times(options.times->solvers);
  }
  return std::unique_ptr<Federation>(std::move(made));
}

// A model that only its clients can train needs such clients, and a file that is there before they are.
Status check_external(const Recipe& recipe, const SimulationOptions& options) {
  return options.federation ? check_first_model(recipe) : check_can_simulate(recipe);
}

enum class Start { kAnew, kResumed, kResumedWithSettings };

Result<RunSummary> run_in(RunFolder folder, Recipe recipe, const SimulationOptions& options, Start start) {
  const double begun_s = now_s();
  RunRecorder recorder(folder, options, options.progress ? *options.progress : stderr_progress());
  recorder.phase("reading data");
  RunTimes* const times = options.times;
  std::shared_ptr<const FederatedData> data = options.data;
  std::optional<RankRun> ranks;
  if (options.ranks && options.ranks->size() > 1) {
    ranks.emplace(*options.ranks, times ? &times->calls : nullptr);
  }
  std::unique_ptr<Federation> federation;
  std::unique_ptr<Oracle> oracle;
  std::unique_ptr<RoundLoop> loop;
  {
    const Stopwatch watch(times ? &times->prepare_s : nullptr);
    if (ranks) ranks->begin(recipe, options.threads);
    if (!data) {
      MUSTER_ASSIGN(std::unique_ptr<FederatedData> made,
                    make_federated_data(recipe.data, recipe.data_seed.value_or(recipe.seed)));
      if (ranks) ranks->give_data(made.get());
      data = std::move(made);
    } else if (ranks) {
      ranks->give_data(nullptr);
    }
    if (start == Start::kAnew) {
      MUSTER_ASSIGN(const std::vector<std::string> notes, settle_recipe(recipe, *data));
      for (const std::string& note : notes) recorder.say("note: " + note);
      MUSTER_TRY(folder.write("recipe.toml", format_recipe(recipe)));
    } else {
      MUSTER_TRY(check_recipe_for(recipe, recipe_facts(recipe, *data)));
    }
    MUSTER_ASSIGN(federation,
                  make_federation(recipe, ranks ? &*ranks : nullptr, *data, folder.path() / "states", options));
    if (ranks) {
      for (const std::string& note : ranks->notes()) recorder.say("note: " + note);
    }
    if (options.knows_samples) {
      MUSTER_ASSIGN(std::shared_ptr<const Attackers> attackers,
                    make_attackers(recipe.attack, data->clients(), data->shape(), data->classes(), recipe.seed));
      oracle = std::make_unique<Oracle>(*data, recipe.seed, std::move(attackers));
    }
    MUSTER_ASSIGN(loop, RoundLoop::make(recipe, *federation, oracle.get(), folder, recorder, options));
    if (start != Start::kAnew) {
      MUSTER_TRY(loop->load_checkpoint());
      recorder.say(resumed_from(loop->state(), recipe));
    }
    // Not before all is well: a resume that is refused leaves the folder as it was.
    if (start == Start::kResumedWithSettings) MUSTER_TRY(folder.write("recipe.toml", format_recipe(recipe)));
    MUSTER_ASSIGN(const auto keys, recipe_keys_of(format_recipe(recipe)));
    MUSTER_TRY(recorder.begin(recipe.rounds, loop->state().round + 1, keys));
    recorder.say(
        fmt::format("{}; {}, {} parameters", data->summary(), recipe.model.name, federation->network().parameters()));
  }
  loop->end_setup(begun_s);
  if (options.on_round) options.on_round(0);
  const Stopwatch watch(times ? &times->run_s : nullptr);
  MUSTER_ASSIGN(StopReason reason, loop->run());
  MUSTER_TRY(loop->evaluate_end(reason));
  MUSTER_TRY(loop->score_kept(reason));
  recorder.finish(reason != StopReason::kInterrupted);
  RunSummary summary = summarise(recipe, *loop, *federation, oracle.get(), folder, reason, data->summary());
  const Stopwatch writing(times ? &times->records_s : nullptr);
  MUSTER_TRY(write_results(summary, *loop, *federation, to_json(data->preparation()), folder));
  return summary;
}

}  // namespace

Result<RunSummary> simulate(const Recipe& recipe, const SimulationOptions& options) {
  MUSTER_TRY(check_recipe(recipe));
  MUSTER_TRY(check_external(recipe, options));
  MUSTER_ASSIGN(RunFolder folder, options.folder.empty() ? RunFolder::create(options.out, recipe.name, recipe.seed)
                                                         : RunFolder::create_named(options.out, options.folder));
  const std::filesystem::path path = folder.path();
  Result<RunSummary> summary = run_in(std::move(folder), recipe, options, Start::kAnew);
  std::error_code ignored;
  // An error before the first round was recorded leaves nothing behind.
  if (!summary && !std::filesystem::exists(path / "rounds.jsonl", ignored)) std::filesystem::remove_all(path, ignored);
  return summary;
}

Result<RunSummary> resume(const std::string& run, const std::vector<std::string>& settings,
                          const SimulationOptions& options) {
  MUSTER_ASSIGN(RunFolder folder, RunFolder::open(options.out, run));
  MUSTER_TRY(folder.lock());
  MUSTER_ASSIGN(Recipe recipe, load_recipe((folder.path() / "recipe.toml").string()));
  const std::span<const std::string_view> may_change = resumable_keys();
  for (const std::string& setting : settings) {
    const std::string key = setting.substr(0, setting.find('='));
    if (std::ranges::find(may_change, key) == may_change.end()) {
      return usage_error("--set {}: a resumed run keeps its recipe; only {} can change", key,
                         fmt::join(may_change, ", "));
    }
    MUSTER_TRY(apply_setting(recipe, setting));
  }
  MUSTER_TRY(check_recipe(recipe));
  MUSTER_TRY(check_external(recipe, options));
  MUSTER_TRY(check_saved_recipe(folder.checkpoints(), recipe));
  return run_in(std::move(folder), recipe, options, settings.empty() ? Start::kResumed : Start::kResumedWithSettings);
}

}  // namespace muster
