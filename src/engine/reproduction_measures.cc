#include "engine/reproduction_measures.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>

#include "base/file.h"
#include "engine/update_distances.h"
#include "record/json_text.h"

namespace muster {

std::optional<double> mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

namespace {

using ParsedJson = nlohmann::json;
using Numbers = std::vector<double>;

constexpr double kNever = std::numeric_limits<double>::infinity();

std::optional<double> number(const ParsedJson& json, const char* pointer) {
  const ParsedJson::json_pointer place(pointer);
  if (!json.contains(place) || !json.at(place).is_number()) return std::nullopt;
  return json.at(place).get<double>();
}

// Calls `take` with every line, an object.
template <typename Take>
Status read_lines(const std::filesystem::path& file, Take take) {
  std::ifstream in(file);
  if (!in) return failure("{}: missing", file.string());
  std::size_t number_of_line = 0;
  for (std::string line; std::getline(in, line);) {
    ++number_of_line;
    const auto broken = [&] { return failure("{}:{}: not a record", file.string(), number_of_line); };
    const Result<ParsedJson> json = parse_json(line);
    if (!json || !json->is_object()) return broken();
    try {
      take(*json);
    } catch (const ParsedJson::exception&) {  // a field of another kind than records have
      return broken();
    }
  }
  return {};
}

// Of the clients that a round lists with their samples, the mean epochs of those with fewer than the mean client.
std::optional<double> epochs_of_few(const ParsedJson& json) {
  const ParsedJson::json_pointer place("/epochs/clients");
  if (!json.contains(place) || !json.at(place).is_array()) return std::nullopt;
  const ParsedJson& clients = json.at(place);
  double samples = 0;
  for (const ParsedJson& client : clients) samples += number(client, "/samples").value_or(0);
  Numbers few;
  for (const ParsedJson& client : clients) {
    const auto own = number(client, "/samples");
    const auto epochs = number(client, "/epochs");
    if (own && epochs && *own * static_cast<double>(clients.size()) < samples) few.push_back(*epochs);
  }
  return mean_of(few);
}

MeasuredRound round_of(const ParsedJson& json) {
  return {.accuracy = number(json, "/accuracy"),
          .loss = number(json, "/loss"),
          .covered = number(json, "/covered").value_or(1),
          .discrepancy = number(json, "/discrepancy"),
          .loss_variance = number(json, "/loss_variance"),
          .epochs = number(json, "/epochs/mean"),
          .epochs_few = epochs_of_few(json),
          .bytes = number(json, "/bytes_up").value_or(0) + number(json, "/bytes_down").value_or(0),
          .compute_s = number(json, "/compute_s").value_or(0),
          .comm_s = number(json, "/comm_s").value_or(0),
          .cost_total_s = number(json, "/cost_total_s").value_or(0)};
}

// The field of every round that has it.
Numbers of_rounds(const MeasuredRun& run, std::optional<double> MeasuredRound::*field) {
  Numbers values;
  for (const MeasuredRound& round : run.rounds) {
    if (round.*field) values.push_back(*(round.*field));
  }
  return values;
}

std::optional<double> percent(std::optional<double> share) {
  return share ? std::optional(100 * *share) : share;
}

std::optional<double> accuracy_last(const MeasuredRun& run, const MeasureOptions&) {
  return percent(number(run.summary, "/accuracy/last"));
}

// Early evaluations of the few clients that are in groups by then do not count, as in FedGroup's program. Where some
// clients are never drawn, and so never in a group (IFCA, FeSEM), those count that cover about as many as any does.
std::optional<double> accuracy_best(const MeasuredRun& run, const MeasureOptions& options) {
  constexpr double kAboutAsMany = 0.98;
  double most = 0;
  for (const MeasuredRound& round : run.rounds) {
    if (round.accuracy) most = std::max(most, round.covered);
  }
  std::optional<double> best;
  for (const MeasuredRound& round : run.rounds) {
    if (!round.accuracy || round.covered < kAboutAsMany * most) continue;
    if (options.cost_s && round.cost_total_s > *options.cost_s) continue;
    best = std::max(best.value_or(*round.accuracy), *round.accuracy);
  }
  return percent(best);
}

std::optional<double> accuracy_tail(const MeasuredRun& run, const MeasureOptions& options) {
  return percent(accuracy_at_the_end(run, options.last));
}

std::optional<double> accuracy_median(const MeasuredRun& run, const MeasureOptions&) {
  Numbers values = of_rounds(run, &MeasuredRound::accuracy);
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return percent(values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2);
}

std::optional<double> loss_last(const MeasuredRun& run, const MeasureOptions&) {
  return number(run.summary, "/loss/last");
}

std::optional<double> loss_best(const MeasuredRun& run, const MeasureOptions&) {
  const Numbers losses = of_rounds(run, &MeasuredRound::loss);
  return losses.empty() ? std::nullopt : std::optional(std::ranges::min(losses));
}

// The sum of a field over the rounds up to the first whose accuracy reaches the target.
template <typename Field>
std::optional<double> until_target(const MeasuredRun& run, const MeasureOptions& options, Field field) {
  double sum = 0;
  bool evaluated = false;
  for (const MeasuredRound& round : run.rounds) {
    sum += field(round);
    evaluated = evaluated || round.accuracy;
    if (round.accuracy && *round.accuracy >= *options.target) return sum;
  }
  return evaluated ? std::optional(kNever) : std::nullopt;
}

std::optional<double> rounds_to(const MeasuredRun& run, const MeasureOptions& options) {
  return until_target(run, options, [](const MeasuredRound&) { return 1.0; });
}
std::optional<double> compute_to(const MeasuredRun& run, const MeasureOptions& options) {
  return until_target(run, options, [](const MeasuredRound& round) { return round.compute_s; });
}
std::optional<double> sending_to(const MeasuredRun& run, const MeasureOptions& options) {
  return until_target(run, options, [](const MeasuredRound& round) { return round.comm_s; });
}
std::optional<double> seconds_to(const MeasuredRun& run, const MeasureOptions& options) {
  return until_target(run, options, [](const MeasuredRound& round) { return round.compute_s + round.comm_s; });
}
std::optional<double> gigabytes_to(const MeasuredRun& run, const MeasureOptions& options) {
  return until_target(run, options, [](const MeasuredRound& round) { return round.bytes / 1e9; });
}

std::optional<double> discrepancy_mean(const MeasuredRun& run, const MeasureOptions&) {
  return mean_of(of_rounds(run, &MeasuredRound::discrepancy));
}
std::optional<double> discrepancy_variance(const MeasuredRun& run, const MeasureOptions&) {
  const Numbers values = of_rounds(run, &MeasuredRound::discrepancy);
  const auto middle = mean_of(values);
  if (!middle) return std::nullopt;
  double squares = 0;
  for (const double value : values) squares += (value - *middle) * (value - *middle);
  return squares / static_cast<double>(values.size());
}

template <const char* kPointer>
std::optional<double> of_summary(const MeasuredRun& run, const MeasureOptions&) {
  return number(run.summary, kPointer);
}
constexpr char kRounds[] = "/rounds";
constexpr char kSizeMin[] = "/groups/size_min";
constexpr char kSizeMean[] = "/groups/size_mean";
constexpr char kSizeMax[] = "/groups/size_max";
constexpr char kGroups[] = "/groups/count";
constexpr char kCov[] = "/quality/cov_mean";
constexpr char kCpd[] = "/quality/cpd_median";
constexpr char kClientCpd[] = "/quality/client_cpd_median";
constexpr char kBalance[] = "/quality/balance_ratio";
constexpr char kCovered[] = "/quality/covered_classes";
constexpr char kGroupSeconds[] = "/time/group_s";
constexpr char kComputeSeconds[] = "/cost/compute_s";
constexpr char kSendingSeconds[] = "/cost/comm_s";

template <std::optional<double> MeasuredRun::*kField>
std::optional<double> of_groups(const MeasuredRun& run, const MeasureOptions&) {
  return run.*kField;
}

// In the round after which clusters were formed, or the last that has one.
std::optional<double> loss_variance(const MeasuredRun& run, const MeasureOptions&) {
  const auto at = static_cast<std::size_t>(run.clusters_round.value_or(0));
  if (at >= 1 && at <= run.rounds.size() && run.rounds[at - 1].loss_variance) return run.rounds[at - 1].loss_variance;
  const Numbers values = of_rounds(run, &MeasuredRound::loss_variance);
  return values.empty() ? std::nullopt : std::optional(values.back());
}

std::optional<double> loss_variance_turn(const MeasuredRun& run, const MeasureOptions&) {
  const Numbers values = of_rounds(run, &MeasuredRound::loss_variance);
  if (values.empty()) return std::nullopt;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] > values[i - 1]) return static_cast<double>(i + 1);
  }
  return kNever;
}

// In the last round in which they were adapted.
template <std::optional<double> MeasuredRound::*kField>
std::optional<double> adapted_epochs(const MeasuredRun& run, const MeasureOptions&) {
  const Numbers values = of_rounds(run, kField);
  return values.empty() ? std::nullopt : std::optional(values.back());
}

std::optional<double> distance_contrast(const MeasuredRun& run, const MeasureOptions&) {
  if (!run.distance_within || !run.distance_between || *run.distance_within <= 0) return std::nullopt;
  return *run.distance_between / *run.distance_within;
}

// Where nothing is planted, all clients belong together and the number of clusters says it all (AutoCFL).
std::optional<double> clusters_judged(const MeasuredRun& run, const MeasureOptions&) {
  return run.clusters_right ? run.clusters_right : run.clusters;
}

// Lines of groups.jsonl, in order.
class GroupingLines {
 public:
  explicit GroupingLines(MeasuredRun& run) : run_(run) {}

  void take(const ParsedJson& line) {
    const auto round = number(line, "/round");
    if (!round) return;
    if (const auto right = number(line, "/truth/correct")) run_.clusters_right = right;
    const auto count = number(line, "/count");
    if (count) {
      run_.clusters = count;
      run_.distance_within = number(line, "/truth/distance_within");
      run_.distance_between = number(line, "/truth/distance_between");
    }
    const std::string why = line.value("why", "");
    const bool event = !groups_.empty() && why != "regroup-every" && why != "newcomers";
    const bool changed = count ? formed(line) : placed(line);
    if (event || (changed && !after_event_)) run_.clusters_round = round;
    after_event_ = after_event_ || event;
  }

 private:
  // Both: whether a client is in another group than before.
  bool formed(const ParsedJson& line) {
    std::map<std::uint32_t, std::uint32_t> groups;
    const ParsedJson members = line.value("members", ParsedJson::array());
    for (std::uint32_t g = 0; g < members.size(); ++g) {
      for (const ParsedJson& client : members[g]) groups[client.get<std::uint32_t>()] = g;
    }
    std::swap(groups, groups_);
    return groups != groups_;
  }
  bool placed(const ParsedJson& line) {
    bool changed = false;
    for (const ParsedJson& one : line.value("placed", ParsedJson::array())) {
      const auto group = one.value("group", std::uint32_t{0});
      const auto [place, is_new] = groups_.try_emplace(one.value("client", std::uint32_t{0}), group);
      changed = changed || is_new || place->second != group;
      place->second = group;
    }
    return changed;
  }

  MeasuredRun& run_;
  std::map<std::uint32_t, std::uint32_t> groups_;  // of each client that is in one
  bool after_event_ = false;
};

// Trains the clients' first updates again.
std::optional<double> distance_correlation(const MeasuredRun& run, const MeasureOptions&) {
  const auto recipe = load_recipe((run.folder / "recipe.toml").string());
  if (!recipe) return std::nullopt;
  const auto distances = update_distances(*recipe, 1);
  if (!distances) return std::nullopt;
  const double found = correlation(distances->by_directions, distances->by_others);
  return std::isfinite(found) ? std::optional(found) : std::nullopt;
}

}  // namespace

Result<MeasuredRun> read_measured_run(const std::filesystem::path& folder) {
  MeasuredRun run{.folder = folder};
  const std::filesystem::path file = folder / "summary.json";
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(file, kMostSummaryBytes));
  Result<ParsedJson> summary = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!summary || !summary->is_object()) return failure("{}: not the summary of a run", file.string());
  run.summary = std::move(*summary);
  MUSTER_TRY(
      read_lines(folder / "rounds.jsonl", [&](const ParsedJson& line) { run.rounds.push_back(round_of(line)); }));
  GroupingLines groups(run);
  MUSTER_TRY(read_lines(folder / "groups.jsonl", [&](const ParsedJson& line) { groups.take(line); }));
  return run;
}

std::optional<double> accuracy_at_the_end(const MeasuredRun& run, std::uint32_t count) {
  const Numbers values = of_rounds(run, &MeasuredRound::accuracy);
  const std::size_t taken = std::min<std::size_t>(count, values.size());
  return mean_of(Numbers(values.end() - static_cast<std::ptrdiff_t>(taken), values.end()));
}

std::span<const Measure> measures() {
  static constexpr Measure kMeasures[] = {
      {"accuracy-last", "accuracy of the models that the run leaves, %", false, accuracy_last},
      {"accuracy-best",
       "highest accuracy of an evaluation of all clients, or about as many as any has, within `cost` where given, %",
       false, accuracy_best},
      {"accuracy-tail", "mean accuracy of the last `last` evaluations, %", false, accuracy_tail},
      {"accuracy-median", "median accuracy of all evaluations, %", false, accuracy_median},
      {"loss-last", "test loss of the models that the run leaves", false, loss_last},
      {"loss-best", "lowest test loss of an evaluation", false, loss_best},
      {"rounds", "rounds that were trained", false, of_summary<kRounds>},
      {"rounds-to", "rounds until an evaluation reaches `target`", true, rounds_to},
      {"compute-to", "simulated seconds of computing until then", true, compute_to},
      {"sending-to", "simulated seconds of sending until then", true, sending_to},
      {"seconds-to", "simulated seconds until then", true, seconds_to},
      {"gigabytes-to", "traffic until then, both ways, 10^9 bytes", true, gigabytes_to},
      {"compute-seconds", "simulated seconds of computing in the whole run", false, of_summary<kComputeSeconds>},
      {"sending-seconds", "simulated seconds of sending in the whole run", false, of_summary<kSendingSeconds>},
      {"discrepancy-mean", "distance of the models sent from the merged one, mean over rounds", false,
       discrepancy_mean},
      {"discrepancy-variance", "its variance over rounds", false, discrepancy_variance},
      {"loss-variance",
       "variance over clients of their summed losses, in the round that formed clusters, or else the last", false,
       loss_variance},
      {"loss-variance-turn", "first round in which that variance was higher than in the round before", false,
       loss_variance_turn},
      {"epochs-mean", "epochs of a client in the last round in which they were adapted, mean over clients", false,
       adapted_epochs<&MeasuredRound::epochs>},
      {"epochs-few", "the same of clients that have fewer samples than the mean client", false,
       adapted_epochs<&MeasuredRound::epochs_few>},
      {"group-size-min", "clients of the smallest group", false, of_summary<kSizeMin>},
      {"group-size-mean", "clients of a group in the mean", false, of_summary<kSizeMean>},
      {"group-size-max", "clients of the largest group", false, of_summary<kSizeMax>},
      {"groups", "groups at the end", false, of_summary<kGroups>},
      {"cov", "coefficient of variation of a group's label counts, mean over groups", false, of_summary<kCov>},
      {"cpd-median", "class probability distance of two groups, median over pairs", false, of_summary<kCpd>},
      {"cpd-clients", "class probability distance of two single clients, median over pairs", false,
       of_summary<kClientCpd>},
      {"balance-ratio", "rarest over most frequent class of a group, mean over groups", false, of_summary<kBalance>},
      {"covered-classes", "share of the classes that a group has, mean over groups", false, of_summary<kCovered>},
      {"grouping-seconds", "seconds that forming groups took on this machine", false, of_summary<kGroupSeconds>},
      {"clusters", "clusters found", false, of_groups<&MeasuredRun::clusters>},
      {"clusters-right", "clients in the right cluster", false, of_groups<&MeasuredRun::clusters_right>},
      {"clusters-judged", "clients in the right cluster, or where none are planted the clusters found", false,
       clusters_judged},
      {"clusters-round", "round in which an event last formed clusters; without events, in which they last changed",
       false, of_groups<&MeasuredRun::clusters_round>},
      {"distance-within", "distance of two clients of the same true cluster when clusters were formed, mean over pairs",
       false, of_groups<&MeasuredRun::distance_within>},
      {"distance-between", "the same of two clients of different true clusters", false,
       of_groups<&MeasuredRun::distance_between>},
      {"distance-contrast", "the latter over the former", false, distance_contrast},
      {"distance-correlation",
       "correlation, over pairs of clients, of the distances of first updates by leading directions and by all others",
       false, distance_correlation},
  };
  return kMeasures;
}

const Measure* find_measure(std::string_view name) {
  const auto found = std::ranges::find(measures(), name, &Measure::name);
  return found == measures().end() ? nullptr : &*found;
}

}  // namespace muster
