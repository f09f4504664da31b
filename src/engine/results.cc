#include "engine/results.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/csv_cell.h"
#include "base/peak_memory.h"
#include "record/weights_file.h"

namespace muster {
namespace {

Status write_clients(const RoundLoop& loop, const Roster& roster, std::span<const ClientId> malicious,
                     const RunFolder& folder) {
  const std::span<const float> accuracy = loop.client_accuracy();
  const std::vector<GroupId> group_of = groups_of_clients(loop.groups().grouping(), roster.clients());
  return folder.write_clients(roster.clients(), [&](std::uint32_t k, std::string& text) {
    const auto out = std::back_inserter(text);
    const ClientTally tally = loop.tally({k});
    const auto samples = [&](std::uint32_t told) {
      return roster.hides_samples() ? std::string() : fmt::format("{}", told);
    };
    fmt::format_to(out, "{},{},{},", k, csv_cell(roster.name({k})), samples(roster.train_samples({k})));
    if (group_of[k] != kNoGroup) fmt::format_to(out, "{}", group_of[k].value);
    fmt::format_to(out, ",{},{},", tally.trained, tally.dropped);
    if (!accuracy.empty() && !std::isnan(accuracy[k])) fmt::format_to(out, "{:.6g}", accuracy[k]);
    fmt::format_to(out, ",{},{},{:d}", samples(roster.test_samples({k})), tally.filtered,
                   std::ranges::binary_search(malicious, ClientId{k}));
  });
}

// Of groups that there are no more.
void remove_models_from(const std::filesystem::path& folder, std::uint32_t first) {
  std::error_code error;
  for (std::uint32_t g = first; std::filesystem::remove(folder / fmt::format("model-{}.safetensors", g), error); ++g) {
  }
}

Status write_weights(const RunSummary& summary, const Models& models, const Network& network,
                     const std::string& preparation) {
  std::map<std::string, std::string> about{{"recipe", summary.recipe},
                                           {"signature", summary.signature},
                                           {"rounds", std::to_string(summary.rounds)},
                                           {"preparation", preparation}};
  if (network.external()) about["layout"] = kOwnLayout;
  MUSTER_TRY(write_safetensors(summary.dir / "model.safetensors", network, models.shared(), about));
  const std::uint32_t own = models.per_group() ? models.count() : 0;
  for (std::uint32_t g = 0; g < own; ++g) {
    MUSTER_TRY(
        write_safetensors(summary.dir / fmt::format("model-{}.safetensors", g), network, models.of(GroupId{g}), about));
  }
  remove_models_from(summary.dir, own);
  return {};
}

// Where nobody can judge groups by true labels: written as null.
GroupQuality unknown_quality() {
  return {.cov_mean = NAN,
          .cov_max = NAN,
          .qcid_mean = NAN,
          .cpd_median = NAN,
          .cpd_mean = NAN,
          .cpd_low = NAN,
          .cpd_high = NAN,
          .balance_ratio = NAN,
          .covered_classes = NAN,
          .emd_mean = NAN};
}

}  // namespace

RunSummary summarise(const Recipe& recipe, const RoundLoop& loop, const Federation& federation, const Oracle* oracle,
                     const RunFolder& folder, StopReason reason, const std::string& data) {
  RunSummary summary;
  static_cast<RunTotals&>(summary) = loop.state().totals;
  summary.wall_s = loop.wall_s();
  summary.run = folder.id();
  summary.recipe = recipe.name;
  summary.seed = recipe.seed;
  summary.rounds = loop.state().round;
  summary.stopped = reason;
  summary.signature = loop.signature();
  summary.target_accuracy = recipe.target_accuracy;
  summary.clients = federation.roster().clients();
  summary.models = loop.models().count();
  const Grouping& grouping = loop.groups().grouping();
  summary.groups = grouping.count();
  summary.idle = static_cast<std::uint32_t>(grouping.idle().size());
  const GroupSizes sizes = group_sizes(grouping);
  summary.group_size_min = sizes.smallest;
  summary.group_size_max = sizes.largest;
  summary.group_size_mean = sizes.mean;
  summary.groups_since = loop.groups().formed_for();
  summary.truth = loop.groups().truth();
  summary.quality = oracle ? oracle->quality(grouping) : unknown_quality();
  summary.client_quality = oracle ? oracle->client_quality() : unknown_quality();
  summary.dir = folder.path();
  summary.data = data;
  summary.parameters = federation.network().parameters();
  summary.initial_model = loop.initial_model();
  summary.kept_round = loop.kept_round();
  if (const BestRound* const best = loop.best()) {
    summary.validated = true;
    summary.validation_best = best->validation_accuracy();
    summary.validation_best_round = best->round();
  }
  if (const PrivacyBudget* const privacy = loop.privacy()) {
    summary.epsilon = privacy->epsilon();
    summary.delta = recipe.dp.delta;
    summary.privacy_spent = privacy->spent();
  }
  if (const Attackers* const attackers = oracle ? oracle->attackers() : nullptr) {
    summary.attack = {.kind = recipe.attack.kind,
                      .clients = {attackers->clients().begin(), attackers->clients().end()},
                      .success = loop.attack_success()};
  }
  summary.sites = loop.final_figures().sites;
  summary.metrics = loop.final_figures().metrics;
  return summary;
}

Status write_results(RunSummary& summary, const RoundLoop& loop, const Federation& federation,
                     const std::string& preparation, const RunFolder& folder) {
  MUSTER_TRY(folder.write("preparation.json", preparation + "\n"));
  MUSTER_TRY(write_clients(
      loop, federation.roster(),
      summary.attack ? std::span<const ClientId>(summary.attack->clients) : std::span<const ClientId>(), folder));
  if (!loop.models().in_clients()) {
    MUSTER_TRY(write_weights(summary, loop.models(), federation.network(), preparation));
  }
  // Last: what came before has its share in the peak.
  summary.peak_rss_bytes = peak_rss_bytes();
  return folder.write("summary.json", to_json(summary) + "\n");
}

}  // namespace muster
