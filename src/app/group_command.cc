// `muster group`: forms groups from files that describe clients, judges them and draws them. No training.
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/commands.h"
#include "base/file.h"
#include "base/names.h"
#include "grouping/client_table.h"
#include "grouping/group_picture.h"
#include "grouping/quality.h"
#include "recipe/recipe.h"
#include "record/json_text.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

struct GroupArguments {
  std::string method;
  std::string labels, vectors, sizes, edges, truth, plot;
  std::vector<std::string> settings;
  std::uint64_t seed = 1;
  bool quiet = false;
  bool json = false;
};

// What the files say about the clients.
struct Clients {
  std::vector<std::uint32_t> samples;
  Rows<std::uint32_t> labels;
  Rows<float> vectors;
  std::vector<std::uint32_t> edges;
  std::vector<std::uint32_t> truth;
  std::vector<std::string> notes;

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(samples.size()); }
  [[nodiscard]] GroupingInput input() const {
    return {.samples = samples, .labels = labels, .vectors = vectors, .edges = edges};
  }
};

Status check_rows(const std::string& file, std::size_t rows, std::size_t clients, const std::string& other) {
  if (rows == clients) return {};
  return failure("{}: {} clients, but {} has {}", file, rows, other, clients);
}

Result<Clients> read_clients(const GroupArguments& arguments) {
  Clients clients;
  if (arguments.labels.empty() && arguments.vectors.empty() && arguments.sizes.empty()) {
    return usage_error(
        "group: no clients; give a file that describes them: --labels F.csv, --vectors F.csv or --sizes F.csv");
  }
  std::string first;  // the file that says how many clients there are
  if (!arguments.labels.empty()) {
    MUSTER_ASSIGN(clients.labels, read_label_counts(arguments.labels));
    for (std::uint32_t k = 0; k < clients.labels.count(); ++k) {
      const std::span<const std::uint32_t> counts = clients.labels.row(k);
      clients.samples.push_back(std::accumulate(counts.begin(), counts.end(), 0u));
    }
    first = arguments.labels;
    std::vector<std::uint32_t> ascending(clients.labels.width);
    std::iota(ascending.begin(), ascending.end(), 0u);
    if (ascending.size() > 1 && std::ranges::equal(clients.labels.row(0), ascending)) {
      clients.notes.push_back(fmt::format(
          "{}: the first row, 0,1,2,..., is read as a client; a header needs a name that is not a number", first));
    }
  }
  if (!arguments.sizes.empty()) {
    MUSTER_ASSIGN(std::vector<std::uint32_t> sizes, read_sizes(arguments.sizes));
    if (!first.empty()) {
      MUSTER_TRY(check_rows(arguments.sizes, sizes.size(), clients.samples.size(), first));
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        if (sizes[k] == clients.samples[k]) continue;
        return failure("{}: client {} has {} samples, but {} in {}", arguments.sizes, k, sizes[k], clients.samples[k],
                       first);
      }
    } else {
      first = arguments.sizes;
      clients.samples = std::move(sizes);
    }
  }
  if (!arguments.vectors.empty()) {
    MUSTER_ASSIGN(clients.vectors, read_vectors(arguments.vectors));
    if (first.empty()) {
      first = arguments.vectors;
      clients.samples.assign(clients.vectors.count(), 1);
    }
    MUSTER_TRY(check_rows(arguments.vectors, clients.vectors.count(), clients.samples.size(), first));
  }
  if (!arguments.edges.empty()) {
    MUSTER_ASSIGN(clients.edges, read_names(arguments.edges, clients.count()));
  }
  if (!arguments.truth.empty()) {
    MUSTER_ASSIGN(clients.truth, read_names(arguments.truth, clients.count()));
  }
  return clients;
}

Result<GroupingOptions> options_of(const std::string& method, const std::vector<std::string>& settings) {
  Recipe recipe;
  recipe.grouping.method = method;
  for (const std::string& setting : settings) {
    const bool prefixed = setting.starts_with("grouping.");
    if (setting.starts_with("method=") || setting.starts_with("grouping.method=")) {
      return usage_error("--set {}: the method is the command's first argument", setting);
    }
    MUSTER_TRY(apply_setting(recipe, prefixed ? setting : "grouping." + setting));
  }
  return recipe.grouping;
}

// One method's answer, or why there is none.
struct Answer {
  std::string method;
  std::optional<Error> error;
  FormedGroups formed;
  double seconds = 0;
  GroupSizes sizes;
  std::optional<GroupQuality> quality;  // with labels
  std::optional<Agreement> agreement;   // with truth
  Rows<std::uint64_t> counts;
};

constexpr std::uint64_t kMatchedPairs = 4'000'000;  // of groups and true clusters: a few seconds at worst

Answer answer_of(const GroupingOptions& options, const Clients& clients, std::uint64_t seed) {
  Answer answer{.method = options.method};
  const auto begun = std::chrono::steady_clock::now();
  Result<FormedGroups> formed = form_groups(options, clients.input(), {.seed = seed});
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (!formed) {
    answer.error = std::move(formed).error();
    return answer;
  }
  answer.formed = std::move(formed).value();
  const Grouping& grouping = answer.formed.grouping;
  answer.sizes = group_sizes(grouping);
  if (clients.labels.width > 0) {
    answer.counts = group_counts(grouping, clients.labels);
    answer.quality = judge_groups(answer.counts);
  }
  if (!clients.truth.empty()) {
    const std::uint64_t clusters = std::uint64_t{std::ranges::max(clients.truth)} + 1;  // they are numbered from 0
    if (grouping.count() * clusters <= kMatchedPairs) {
      answer.agreement = agreement(grouping, clients.truth);
    } else {
      answer.formed.notes.push_back(
          fmt::format("--truth: {} groups and {} true clusters are too many to match", grouping.count(), clusters));
    }
  }
  return answer;
}

Json json_of(const Answer& answer, std::uint64_t seed) {
  Json json{{"method", answer.method}, {"seed", seed}};
  if (answer.error) {
    json["error"] = answer.error->message;
    return json;
  }
  const Grouping& grouping = answer.formed.grouping;
  json["groups"] = Json::array();
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    Json members = Json::array();
    for (const ClientId client : grouping.members({g})) members.push_back(client.value);
    json["groups"].push_back(std::move(members));
  }
  json["idle"] = Json::array();
  for (const ClientId client : grouping.idle()) json["idle"].push_back(client.value);
  Json& quality = json["quality"];
  const auto put = [&](const char* name, double GroupQuality::*value) {
    quality[name] = answer.quality ? Json((*answer.quality).*value) : Json(nullptr);
  };
  put("cov_mean", &GroupQuality::cov_mean);
  put("cov_max", &GroupQuality::cov_max);
  put("cpd_median", &GroupQuality::cpd_median);
  put("cpd_mean", &GroupQuality::cpd_mean);
  put("cpd_low", &GroupQuality::cpd_low);
  put("cpd_high", &GroupQuality::cpd_high);
  put("qcid_mean", &GroupQuality::qcid_mean);
  put("emd_mean", &GroupQuality::emd_mean);
  put("balance_ratio", &GroupQuality::balance_ratio);
  put("covered_classes", &GroupQuality::covered_classes);
  quality["size_min"] = answer.sizes.smallest;
  quality["size_mean"] = answer.sizes.mean;
  quality["size_max"] = answer.sizes.largest;
  quality["size_std"] = answer.sizes.deviation;
  if (answer.agreement) {
    json["truth"] = {{"correct", answer.agreement->correct},
                     {"clients", answer.agreement->clients},
                     {"adjusted_rand", answer.agreement->adjusted_rand},
                     {"mutual_information", answer.agreement->mutual_information}};
  }
  json["notes"] = answer.formed.notes;
  json["seconds"] = answer.seconds;
  return json;
}

std::string table_of(std::span<const Answer> answers, const Clients& clients) {
  const bool labels = clients.labels.width > 0;
  const bool truth = !clients.truth.empty();
  std::string text = fmt::format("{:<25} {:>6} {:>5}  {:>15}", "method", "groups", "idle", "size min/mean/max");
  if (labels) {
    text += fmt::format(" {:>8} {:>8} {:>10} {:>8} {:>8} {:>8} {:>8}", "cov", "cov max", "cpd median", "cpd mean",
                        "balance", "covered", "emd");
  }
  if (truth) text += fmt::format(" {:>9} {:>6} {:>6}", "correct", "ari", "nmi");
  text += fmt::format(" {:>10}\n", "seconds");
  for (const Answer& answer : answers) {
    if (answer.error) {
      text += fmt::format("{:<25} cannot: {}\n", answer.method, answer.error->message);
      continue;
    }
    const Grouping& grouping = answer.formed.grouping;
    text +=
        fmt::format("{:<25} {:>6} {:>5}  {:>17}", answer.method, grouping.count(), grouping.idle().size(),
                    fmt::format("{} / {:.2f} / {}", answer.sizes.smallest, answer.sizes.mean, answer.sizes.largest));
    if (answer.quality) {
      const GroupQuality& q = *answer.quality;
      text += fmt::format(" {:>8.4f} {:>8.4f} {:>10.6f} {:>8.6f} {:>8.4f} {:>8.4f} {:>8.4f}", q.cov_mean, q.cov_max,
                          q.cpd_median, q.cpd_mean, q.balance_ratio, q.covered_classes, q.emd_mean);
    }
    if (answer.agreement) {
      const Agreement& a = *answer.agreement;
      text += fmt::format(" {:>9} {:>6.3f} {:>6.3f}", fmt::format("{}/{}", a.correct, a.clients), a.adjusted_rand,
                          a.mutual_information);
    }
    text += fmt::format(" {:>10.6f}\n", answer.seconds);
  }
  return text;
}

std::string listing_of(const Answer& answer) {
  const Grouping& grouping = answer.formed.grouping;
  std::string text = fmt::format("\n{:>6} {:>8}", "group", "clients");
  if (answer.quality) text += fmt::format(" {:>10} {:>8}", "samples", "cov");
  text += "  members\n";
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    const std::span<const ClientId> members = grouping.members({g});
    text += fmt::format("{:>6} {:>8}", g, members.size());
    if (answer.quality) {
      const std::span<const std::uint64_t> counts = answer.counts.row(g);
      text += fmt::format(" {:>10} {:>8.4f}", std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}),
                          coefficient_of_variation(counts));
    }
    text += "  ";
    for (const ClientId client : members) text += fmt::format("{} ", client.value);
    text.back() = '\n';
  }
  if (!grouping.idle().empty()) {
    text += fmt::format("{:>6} {:>8}", "idle", grouping.idle().size());
    if (answer.quality) text += fmt::format(" {:>10} {:>8}", "", "");
    text += "  ";
    for (const ClientId client : grouping.idle()) text += fmt::format("{} ", client.value);
    text.back() = '\n';
  }
  return text;
}

Status plot(const std::string& path, std::span<const Answer> answers) {
  std::vector<GroupPanel> panels;
  for (const Answer& answer : answers) {
    if (!answer.quality) continue;
    panels.push_back(
        {fmt::format("{}: {} groups, {} idle, CoV {:.3f}, CPD {:.4f}", answer.method, answer.formed.grouping.count(),
                     answer.formed.grouping.idle().size(), answer.quality->cov_mean, answer.quality->cpd_median),
         answer.counts});
  }
  const Drawing drawing = draw_groups(panels);
  std::string picture;
  if (path.ends_with(".png")) {
    MUSTER_ASSIGN(picture, to_png(drawing));
  } else {
    picture = to_svg(drawing);
  }
  return write_output(path, picture);
}

// For `all`: every method is asked for groups of about so many clients, so that their figures can be compared.
constexpr std::uint32_t kUsualSize = 5;

// A setting concerns the methods that have its key; one that concerns none is an error.
Result<std::vector<Answer>> compare_all(const GroupArguments& arguments, const Clients& clients) {
  const std::vector<GrouperEntry> entries = groupers();
  const auto key_of = [](std::string_view setting) {
    if (setting.starts_with("grouping.")) setting.remove_prefix(9);
    return std::string(setting.substr(0, setting.find('=')));
  };
  for (const std::string& setting : arguments.settings) {
    MUSTER_TRY(options_of("singletons", {setting}));  // is the key known, and its value accepted?
  }
  const auto has = [](const GrouperEntry& entry, const std::string& key) {
    return std::ranges::find(entry.keys, key) != entry.keys.end();
  };
  std::uint32_t present = 0;
  std::uint64_t samples = 0;
  for (const std::uint32_t own : clients.samples) {
    present += own > 0 ? 1 : 0;
    samples += own;
  }

  std::vector<Answer> answers;
  for (const GrouperEntry& entry : entries) {
    if (entry.need == GroupingNeed::kLabels && clients.labels.width == 0) continue;
    if (entry.need == GroupingNeed::kVectors && clients.vectors.width == 0) continue;
    if (entry.by_losses) continue;  // its vectors are losses, which no other method groups by
    // random takes a size or a quota of samples; where both are set, for other methods, it takes the size.
    const bool sized = has(entry, "size") && std::ranges::any_of(arguments.settings, [&](const std::string& setting) {
                         return key_of(setting) == "size";
                       });
    const auto is_quota = [](const std::string& key) { return key == "min-samples" || key == "max-clients"; };
    std::vector<std::string> own;
    for (const std::string& setting : arguments.settings) {
      const std::string key = key_of(setting);
      if (has(entry, key) && !(sized && is_quota(key))) own.push_back(setting);
    }
    MUSTER_ASSIGN(GroupingOptions options, options_of(entry.name, own));
    std::uint32_t size = kUsualSize;
    if (options.size) size = *options.size;
    if (options.min_size) size = *options.min_size;
    size = std::clamp(size, 1u, std::max(1u, present));
    const bool quota = options.min_samples || options.max_clients;
    if (has(entry, "size") && !options.size && !quota) options.size = size;
    if (has(entry, "min-size") && !options.min_size) options.min_size = size;
    if (has(entry, "groups") && !options.groups && !options.threshold) options.groups = std::max(1u, present / size);
    if (has(entry, "min-samples") && !options.min_samples && !options.size && present > 0) {
      // size * samples / present, which cannot overflow this way: size is at most present.
      options.min_samples = std::max<std::uint64_t>(1, samples / present * size + samples % present * size / present);
    }
    if (entry.name == "kmeans-deal" && clients.labels.width == 0 && !options.clusters) {
      options.clusters = std::min(size, present);
    }
    answers.push_back(answer_of(options, clients, arguments.seed));
  }
  return answers;
}

Status group(const GroupArguments& arguments) {
  if (!arguments.plot.empty() && !arguments.plot.ends_with(".svg") && !arguments.plot.ends_with(".png")) {
    return usage_error("--plot: {}, want a file that ends in .svg or .png", arguments.plot);
  }
  if (!arguments.plot.empty() && arguments.labels.empty()) {
    return usage_error("--plot: {}, but its bars show classes, which need --labels F.csv", arguments.plot);
  }
  const bool all = arguments.method == "all";
  GroupingOptions options;
  if (!all) {
    std::vector<std::string> names{"all"};
    for (const GrouperEntry& entry : groupers()) names.push_back(entry.name);
    if (std::ranges::find(names, arguments.method) == names.end()) {
      return Error{ErrorCode::kUsage, unknown_name("grouping method", arguments.method, names)};
    }
    MUSTER_ASSIGN(options, options_of(arguments.method, arguments.settings));
    MUSTER_TRY(check_grouping(options));
  }
  MUSTER_ASSIGN(const Clients clients, read_clients(arguments));
  if (!arguments.quiet) {
    for (const std::string& note : clients.notes) std::fprintf(stderr, "muster: %s\n", note.c_str());
  }

  std::vector<Answer> answers;
  if (all) {
    MUSTER_ASSIGN(answers, compare_all(arguments, clients));
  } else {
    answers.push_back(answer_of(options, clients, arguments.seed));
    if (answers[0].error) return *answers[0].error;
  }
  for (const Answer& answer : answers) {
    if (arguments.quiet) break;
    for (const std::string& note : answer.formed.notes) {
      std::fprintf(stderr, "muster: %s: %s\n", answer.method.c_str(), note.c_str());
    }
  }
  if (!arguments.plot.empty()) MUSTER_TRY(plot(arguments.plot, answers));

  std::string text;
  if (arguments.json && all) {
    Json json{{"method", "all"}, {"seed", arguments.seed}, {"methods", Json::array()}};
    for (const Answer& answer : answers) json["methods"].push_back(json_of(answer, arguments.seed));
    text = json_text(json) + "\n";
  } else if (arguments.json) {
    text = json_text(json_of(answers[0], arguments.seed)) + "\n";
  } else {
    text = table_of(answers, clients);
    if (!all) text += listing_of(answers[0]);
    if (!arguments.plot.empty()) text += fmt::format("\nwrote {}\n", arguments.plot);
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return failure("cannot write the result to stdout");
  }
  return {};
}

}  // namespace

void add_group_command(Command program) {
  auto arguments = std::make_shared<GroupArguments>();
  Command command = program.add_command("group", "Group clients from a file of label counts or vectors; no training");
  command.add_option("method", arguments->method, "A method of `muster list grouping`, or all to compare them")
      .required();
  command.add_option("--labels", arguments->labels, "F.csv: a row per client, a column per class, counts");
  command.add_option("--vectors", arguments->vectors,
                     "F.csv or F.npy: a row per client; updates, weights, confidences or losses");
  command.add_option("--sizes", arguments->sizes, "F.csv: samples of each client; default: the sum of its labels");
  command.add_option("--edges", arguments->edges, "F.csv: the edge of each client; no group crosses edges");
  command.add_option("--truth", arguments->truth, "F.csv: the true cluster of each client, to compare with");
  command.add_option("--set", arguments->settings, "key=value of the method, repeatable").one_at_a_time();
  command.add_option("--seed", arguments->seed, "Seed of everything random").show_default();
  command.add_option("--plot", arguments->plot, "F.svg or F.png: the groups as stacked bars of their classes");
  command.add_flag("--quiet", arguments->quiet, "No notes on stderr");
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  command.set_footer(
      "Examples:\n"
      "  muster data partition blobs --set data.partition=dirichlet --set data.alpha=0.1 --out labels.csv\n"
      "  muster group all --labels labels.csv --plot groups.svg\n"
      "  muster group coefficient-of-variation --labels labels.csv --set min-size=5 --set max-cov=0.3 --json\n"
      "  muster group gap-voting --vectors last-layer.npy --sizes samples.csv\n"
      "`muster list grouping` shows the methods and their keys, `muster list keys` what the keys accept.");
  command.set_action([arguments] { return group(*arguments); });
}

}  // namespace muster
