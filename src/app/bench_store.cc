#include "app/bench_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/bench_clock.h"
#include "app/temporary_folder.h"
#include "base/file.h"
#include "engine/simulation.h"
#include "report/describe.h"
#include "report/html_page.h"
#include "store/store_keeper.h"

namespace muster {
namespace {

// Softmax regression on generated images: rounds as short as any.
Result<Recipe> recorded_recipe(std::uint32_t rounds) {
  MUSTER_ASSIGN(Recipe recipe, load_recipe("fedavg"));
  for (const std::string& setting :
       {std::string("data.source=blobs"), std::string("data.partition=dirichlet"), std::string("data.clients=200"),
        std::string("data.merge-test=false"), std::string("model.name=softmax"), std::string("local.epochs=1"),
        std::string("local.batch-size=10"), std::string("plan.sample-clients=20"), std::string("evaluation.every=10"),
        std::string("checkpoint-every=1000"), fmt::format("rounds={}", rounds)}) {
    MUSTER_TRY(apply_setting(recipe, setting));
  }
  return recipe;
}

Status measure_recording(const StoreBenchOptions& options, std::vector<ScaleCase>& cases) {
  MUSTER_ASSIGN(const Recipe recipe, recorded_recipe(options.recorded_rounds));
  std::vector<double> with;
  std::vector<double> without;
  double share = 1;
  double report_share = 1;
  for (std::uint32_t i = 0; i < 2 * options.pairs; ++i) {
    const bool recorded = i % 2 == 1;
    MUSTER_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
    const double start = wall_seconds();
    std::unique_ptr<StoreKeeper> keeper;
    if (recorded) keeper = std::make_unique<StoreKeeper>(folder.path(), std::function<void(const std::string&)>());
    MUSTER_ASSIGN(const RunSummary summary, simulate(recipe, {.out = folder.path(), .quiet = true}));
    if (keeper) keeper->finish();
    const double took_s = wall_seconds() - start;
    (recorded ? with : without).push_back(took_s);
    if (!recorded) continue;
    const double report_begun = wall_seconds();
    MUSTER_ASSIGN(const nlohmann::json description, describe_run(summary.dir));
    MUSTER_TRY(write_derived_file(summary.dir / "report.html", to_html(description)));
    report_share = std::min(report_share, (wall_seconds() - report_begun) / took_s);
    share = std::min(share, keeper->cpu_s() / took_s);
    MUSTER_ASSIGN(const Store store, Store::open_file(folder.path()));
    MUSTER_ASSIGN(const StoredRun run, store.find(summary.run));
    MUSTER_ASSIGN(const std::vector<StoredRound> rounds, store.rounds(run.id));
    if (run.signature != summary.signature || rounds.size() != summary.rounds ||
        run.bytes != summary.bytes_up + summary.bytes_down) {
      return failure("the store holds {} of {} rounds, signature {} and not {}", rounds.size(), summary.rounds,
                     run.signature, summary.signature);
    }
  }
  const double fastest_with = *std::ranges::min_element(with);
  const double fastest_without = *std::ranges::min_element(without);
  const std::string run = fmt::format("a run of softmax regression, {} rounds", options.recorded_rounds);
  cases.push_back({run + ": the store's share of a core", 100 * share, "%", 2, ""});
  cases.push_back(
      {run + ": time with the store against without", 100 * (fastest_with / fastest_without - 1), "%", 2,
       fmt::format("{:.3f} s and {:.3f} s, the fastest of {} each", fastest_with, fastest_without, options.pairs)});
  cases.push_back({run + ": the report that it leaves", 100 * report_share, "%", 3, "of the run's time, after it"});
  return {};
}

std::string made_round(std::uint32_t run, std::uint32_t round) {
  return fmt::format(
      R"({{"round":{},"accuracy":{},"loss":0.5,"train_loss":0.75,"participants":10,"dropped":[],"groups":5,"idle":0,)"
      R"("models":1,"bytes_up":1000,"bytes_down":2000,"cost_s":0.5,"cost_total_s":{},"wall_s":0.001}})"
      "\n",
      round, (run + round) % 997 / 1000.0, 0.5 * round);
}

Status make_run(const std::filesystem::path& folder, std::uint32_t run, std::uint32_t rounds) {
  MUSTER_TRY(make_folder(folder));
  std::string recipe = fmt::format("name = \"method-{}\"\nrounds = {}\nseed = {}\n", run % 10, rounds, run);
  recipe += "[data]\nsource = \"blobs\"\nclients = 100\n[local]\n";
  for (int key = 0; key < 60; ++key) recipe += fmt::format("key-{} = {}\n", key, key);
  std::string lines;
  for (std::uint32_t r = 1; r <= rounds; ++r) lines += made_round(run, r);
  const std::string summary = fmt::format(
      R"({{"run":"{}","recipe":"method-{}","seed":{},"rounds":{},"stopped":"rounds","signature":"{:016x}",)"
      R"("accuracy":{{"last":0.5,"best":0.75,"best_round":1}},"loss":{{"last":0.5}},"clients":100,"time":{{"wall_s":1}}}})",
      folder.filename().string(), run % 10, run, rounds, run);
  for (const auto& [file, text] : {std::pair<const char*, const std::string&>{"recipe.toml", recipe},
                                   {"rounds.jsonl", lines},
                                   {"summary.json", summary}}) {
    MUSTER_ASSIGN(FileAppender out, FileAppender::open(folder / file));
    MUSTER_TRY(out.append(text));
  }
  return {};
}

// In seconds of one core: all files are in memory.
template <typename Work>
Result<double> fastest_of(int times, const Work& work) {
  double fastest = 1e9;
  for (int i = 0; i < times; ++i) {
    const double start = cpu_seconds();
    MUSTER_TRY(work());
    fastest = std::min(fastest, cpu_seconds() - start);
  }
  return fastest;
}

Status measure_large_store(const StoreBenchOptions& options, std::vector<ScaleCase>& cases) {
  MUSTER_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
  for (std::uint32_t run = 0; run < options.runs; ++run) {
    MUSTER_TRY(make_run(folder / fmt::format("run-{:05}", run), run, options.rounds));
  }
  const std::string size = fmt::format("{} runs of {} rounds", options.runs, options.rounds);
  const double begun_s = wall_seconds();
  {
    MUSTER_ASSIGN(Store store, Store::open_file(folder.path()));
    MUSTER_TRY(store.refresh(Look::kAfresh));
  }
  const double made_s = wall_seconds() - begun_s;
  // As a command does it: open, look whether the folders have changed, ask.
  MUSTER_ASSIGN(const double list_s, fastest_of(3, [&]() -> Status {
                  MUSTER_ASSIGN(Store store, Store::open_file(folder.path()));
                  MUSTER_TRY(store.refresh(Look::kClose));
                  MUSTER_ASSIGN(const auto all, store.list());
                  MUSTER_ASSIGN(const auto some, store.list({.recipe = "method-3", .where = {{"local.key-7", "7"}}}));
                  const std::size_t expected = options.runs / 10 + (options.runs % 10 > 3 ? 1 : 0);
                  if (all.size() == options.runs && some.size() == expected) return {};
                  return failure("{} of {} runs are listed, and {} of {} that are of one recipe", all.size(),
                                 options.runs, some.size(), expected);
                }));
  MUSTER_ASSIGN(const double compare_s, fastest_of(3, [&]() -> Status {
                  MUSTER_ASSIGN(const Store store, Store::open_file(folder.path()));
                  MUSTER_ASSIGN(const auto all, store.list());
                  double sum = 0;
                  for (const StoredRun& run : all) {
                    MUSTER_ASSIGN(const std::vector<StoredRound> rounds, store.rounds(run.id));
                    for (const StoredRound& round : rounds) sum += round.accuracy.value_or(0);
                  }
                  double expected = 0;
                  for (std::uint32_t run = 0; run < options.runs; ++run) {
                    for (std::uint32_t r = 1; r <= options.rounds; ++r) expected += (run + r) % 997 / 1000.0;
                  }
                  if (std::abs(sum - expected) <= 1e-6 * expected) return {};
                  return failure("accuracies of {} add up to {}, want {}", size, sum, expected);
                }));
  cases.push_back({fmt::format("{}: listed and filtered", size), list_s, "s", 0.2, ""});
  cases.push_back({fmt::format("{}: every curve read, to be compared", size), compare_s, "s", 1, ""});
  cases.push_back({fmt::format("{}: the store made anew", size), made_s, "s", 60, ""});
  return {};
}

}  // namespace

Result<std::vector<ScaleCase>> run_store_bench(const StoreBenchOptions& options) {
  std::vector<ScaleCase> cases;
  options.say(
      fmt::format("a run of {} rounds, {} times with a store and without", options.recorded_rounds, options.pairs));
  MUSTER_TRY(measure_recording(options, cases));
  options.say(fmt::format("a store of {} runs of {} rounds", options.runs, options.rounds));
  MUSTER_TRY(measure_large_store(options, cases));
  return cases;
}

}  // namespace muster
