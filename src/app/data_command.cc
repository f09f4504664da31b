// `muster data list|get|inspect|partition`: what data there is, where it comes from, how it is divided.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/data_get.h"
#include "base/file.h"
#include "data/catalogue.h"
#include "data/picture.h"
#include "data/shown_text.h"
#include "recipe/recipe.h"
#include "record/json_text.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// What the subcommands were given; lives as long as the callbacks.
struct DataArguments {
  std::string source = "demo";
  std::vector<std::string> settings;
  std::uint64_t seed = 1;
  bool json = false;
  std::string plot;
  std::string out;
};

std::string text_of(const Json& json) {
  return json_text(json) + "\n";
}

Result<std::string> list(const DataArguments& arguments) {
  const auto kind_name = [](SourceKind kind) {
    return kind == SourceKind::kGenerated ? "generated" : kind == SourceKind::kNamed ? "set" : "format";
  };
  if (arguments.json) {
    Json json;
    json["data"] = Json::array();
    for (const SourceState& state : source_states()) {
      Json entry = {{"name", state.name}, {"summary", state.summary}, {"kind", kind_name(state.kind)}};
      entry["found"] = state.found ? Json(state.found->string()) : Json(nullptr);
      entry["looked_in"] = Json::array();
      for (const fs::path& place : state.looked_in) entry["looked_in"].push_back(place.string());
      entry["get"] = state.how_to_get;
      json["data"].push_back(std::move(entry));
    }
    json["partitions"] = Json::array();
    for (const CatalogueEntry& law : partitions()) {
      json["partitions"].push_back({{"name", law.name}, {"summary", law.summary}, {"keys", law.keys}});
    }
    return text_of(json);
  }
  const std::vector<SourceState> states = source_states();
  std::string text = "sources\n";
  for (const SourceState& state : states) {
    text += fmt::format("  {:<16} {}\n", state.name, state.summary);
    if (state.kind != SourceKind::kNamed) continue;
    if (state.found) {
      text += fmt::format("  {:<16}   found: {}\n", "", state.found->string());
    } else {
      text += fmt::format("  {:<16}   not found; from: {}\n", "", state.how_to_get);
    }
  }
  text += "\npartitions\n";
  for (const CatalogueEntry& law : partitions()) text += fmt::format("  {:<20} {}\n", law.name, law.summary);
  std::vector<std::string> places;
  const auto named = std::ranges::find(states, SourceKind::kNamed, &SourceState::kind);
  for (const fs::path& place : named->looked_in) places.push_back(place.parent_path().string());
  text += fmt::format("\nMuster looks for a data set NAME in the folder NAME of: {}.\n", fmt::join(places, ", "));
  return text;
}

Result<std::string> get(const DataArguments& arguments) {
  MUSTER_ASSIGN(const Fetched fetched, fetch_source(arguments.source));
  if (arguments.json) {
    return text_of({{"source", arguments.source}, {"dir", fetched.folder.string()}, {"was_there", fetched.was_there}});
  }
  return fmt::format("{}: {} {}\n", arguments.source, fetched.was_there ? "already in" : "now in",
                     fetched.folder.string());
}

// SOURCE is a catalogue name, or a file of the user's own whose ending tells its format.
void choose_source(const std::string& typed, DataOptions& options) {
  options.source = typed;
  std::error_code error;
  if (!fs::is_regular_file(typed, error)) return;
  for (const auto& [ending, source] : {std::pair(".csv", "csv"), {".tsv", "csv"}, {".npz", "npz"}, {".json", "leaf"}}) {
    if (typed.ends_with(ending) || typed.ends_with(std::string(ending) + ".gz")) {
      options.source = source;
      options.path = typed;
    }
  }
}

Result<std::unique_ptr<FederatedData>> load(const DataArguments& arguments) {
  Recipe recipe;
  recipe.seed = arguments.seed;
  choose_source(arguments.source, recipe.data);
  for (const std::string& setting : arguments.settings) MUSTER_TRY(apply_setting(recipe, setting));
  MUSTER_TRY(check_data_settings(recipe));
  return make_federated_data(recipe.data, recipe.data_seed.value_or(recipe.seed));
}

// Sizes are asked of every client; labels only of the first clients that hold so many samples together, because virtual
// clients must generate their samples for it. Larger than any stored set that is usual here.
constexpr std::uint64_t kMostCounted = 1000000;

struct Figures {
  std::uint64_t train = 0;
  std::uint64_t local_test = 0;
  std::uint32_t smallest = 0xffffffffu;
  std::uint32_t largest = 0;
  std::uint32_t empty = 0;
  std::uint32_t counted = 0;                 // clients whose labels were counted
  std::vector<std::uint64_t> class_samples;  // of the counted clients
  std::vector<std::uint32_t> class_clients;
  double classes_per_client = 0;  // mean over counted clients with samples
};

Figures figures_of(const FederatedData& data) {
  Figures figures;
  figures.class_samples.assign(data.classes(), 0);
  figures.class_clients.assign(data.classes(), 0);
  for (std::uint32_t k = 0; k < data.clients(); ++k) {
    const std::uint32_t size = data.train_count({k});
    figures.train += size;
    figures.local_test += data.test_count({k});
    figures.smallest = std::min(figures.smallest, size);
    figures.largest = std::max(figures.largest, size);
    figures.empty += size == 0 ? 1 : 0;
  }
  std::uint64_t held = 0;
  std::uint32_t holders = 0;
  for (std::uint64_t samples = 0; figures.counted < data.clients() && samples < kMostCounted; ++figures.counted) {
    const std::uint32_t k = figures.counted;
    samples += data.train_count({k});
    const std::vector<std::uint32_t> counts = data.label_counts({k});
    std::uint32_t own = 0;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      figures.class_samples[c] += counts[c];
      figures.class_clients[c] += counts[c] > 0 ? 1 : 0;
      own += counts[c] > 0 ? 1 : 0;
    }
    held += own;
    holders += own > 0 ? 1 : 0;
  }
  figures.classes_per_client = holders == 0 ? 0 : static_cast<double>(held) / holders;
  return figures;
}

bool has_client_names(const FederatedData& data) {
  return data.clients() > 0 && !data.client_name({0}).empty();
}

Json json_of(const FederatedData& data, const Figures& figures) {
  const Shape shape = data.shape();
  Json json = {{"summary", data.summary()},
               {"clients", data.clients()},
               {"classes", data.classes()},
               {"shape", {shape.height, shape.width, shape.channels}},
               {"train", figures.train},
               {"local_test", figures.local_test},
               {"test", data.global_test().size()},
               {"exemplars", data.exemplars().size()},
               {"edges", data.edges()}};
  json["client_samples"] = {{"min", figures.smallest},
                            {"mean", static_cast<double>(figures.train) / data.clients()},
                            {"max", figures.largest},
                            {"empty", figures.empty}};
  json["classes_per_client"] = figures.classes_per_client;
  json["class_samples"] = figures.class_samples;
  json["class_clients"] = figures.class_clients;
  json["counted_clients"] = figures.counted;
  json["class_names"] = Json::array();
  for (std::uint32_t c = 0; c < data.classes(); ++c) json["class_names"].push_back(data.class_name(c));
  json["client_names"] = Json::array();
  if (has_client_names(data)) {
    for (std::uint32_t k = 0; k < data.clients(); ++k) json["client_names"].push_back(data.client_name({k}));
  }
  json["feature_names"] = Json::array();
  if (!data.preparation().columns.empty()) json["feature_names"] = feature_names(data.preparation());
  json["notes"] = data.notes();
  return json;
}

std::string features_line(const Preparation& preparation) {
  constexpr std::size_t kShown = 20;
  const std::vector<std::string> names = feature_names(preparation);
  std::string text = "features ";
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + shown_text(names[i]);
  return text + (names.size() > kShown ? fmt::format(", ... ({})\n", names.size()) : "\n");
}

std::string describe(const FederatedData& data, const Figures& figures) {
  const Shape shape = data.shape();
  std::string text = data.summary() + "\n\n";
  text += fmt::format("sample   {} x {} x {}, {} classes\n", shape.height, shape.width, shape.channels, data.classes());
  text +=
      fmt::format("clients  {}, training samples min {} / mean {:.1f} / max {}, {} have none, {:.1f} classes each\n",
                  data.clients(), figures.smallest, static_cast<double>(figures.train) / data.clients(),
                  figures.largest, figures.empty, figures.classes_per_client);
  text += fmt::format("samples  {} train, {} in clients' tests, {} in the server's test, {} exemplars\n", figures.train,
                      figures.local_test, data.global_test().size(), data.exemplars().size());
  text += fmt::format("edges    {}\n", data.edges());
  if (!data.preparation().columns.empty()) text += features_line(data.preparation());
  for (const std::string& note : data.notes()) text += fmt::format("note     {}\n", note);
  text += "\n";
  if (figures.counted < data.clients()) text += fmt::format("of the first {} clients:\n", figures.counted);
  text += fmt::format("{:>6} {:>10} {:>10}\n", "class", "samples", "clients");
  for (std::uint32_t c = 0; c < data.classes(); ++c) {
    text += fmt::format("{:>6} {:>10} {:>10}", c, figures.class_samples[c], figures.class_clients[c]);
    const std::string name = data.class_name(c);
    text += name == fmt::format("{}", c) ? "\n" : "  " + shown_text(name) + "\n";
  }
  constexpr std::uint32_t kShown = 20;
  if (data.classes() > 20) return text;
  text += fmt::format("\n{:>6}  samples per class\n", "client");
  for (std::uint32_t k = 0; k < std::min(data.clients(), kShown); ++k) {
    text += fmt::format("{:>6}", k);
    for (const std::uint32_t count : data.label_counts({k})) text += fmt::format(" {:>6}", count);
    if (const std::string name = data.client_name({k}); !name.empty()) text += "  " + shown_text(name);
    text += "\n";
  }
  if (data.clients() > kShown)
    text += fmt::format("   ... {} more: muster data partition SOURCE --out F.csv\n", data.clients() - kShown);
  return text;
}

Result<std::string> inspect(const DataArguments& arguments) {
  MUSTER_ASSIGN(const std::unique_ptr<FederatedData> data, load(arguments));
  const Figures figures = figures_of(*data);
  if (!arguments.json) return describe(*data, figures);
  Json json = {{"source", arguments.source}};
  json.update(json_of(*data, figures));
  return text_of(json);
}

Result<std::string> partition(const DataArguments& arguments) {
  const bool png = arguments.plot.ends_with(".png");
  if (!arguments.plot.empty() && !png && !arguments.plot.ends_with(".svg")) {
    return usage_error("--plot: {}, want a file that ends in .png or .svg", arguments.plot);
  }
  MUSTER_ASSIGN(const std::unique_ptr<FederatedData> data, load(arguments));
  const LabelTable table = label_table(*data, data->preparation().classes);
  if (!arguments.plot.empty()) {
    std::string picture;
    if (png) {
      MUSTER_ASSIGN(picture, draw_png(table));
    } else {
      picture = draw_svg(table);
    }
    MUSTER_TRY(write_output(arguments.plot, picture));
  }
  const std::string csv = write_label_csv(table);
  if (!arguments.out.empty()) MUSTER_TRY(write_output(arguments.out, csv));
  if (arguments.json) {
    Json json = {{"source", arguments.source}};
    json.update(json_of(*data, figures_of(*data)));
    json["plot"] = arguments.plot.empty() ? Json(nullptr) : Json(arguments.plot);
    json["out"] = arguments.out.empty() ? Json(nullptr) : Json(arguments.out);
    return text_of(json);
  }
  if (arguments.plot.empty() && arguments.out.empty()) return csv;
  std::string text = data->summary() + "\n";
  for (const std::string& file : {arguments.out, arguments.plot}) {
    if (!file.empty()) text += fmt::format("wrote {}\n", file);
  }
  return text;
}

}  // namespace

void add_data_command(Command program) {
  const auto arguments = std::make_shared<DataArguments>();
  Command data = program.add_command("data", "List, fetch, inspect and partition data sets");
  data.set_footer("Example:\n  muster data inspect fashion-mnist --set data.partition=dirichlet --set data.alpha=0.1");

  const auto add = [&](const char* name, const char* summary, const char* example,
                       Result<std::string> (*action)(const DataArguments&)) {
    Command command = data.add_command(name, summary);
    command.set_footer(std::string("Example:\n  muster data ") + example);
    command.add_flag("--json", arguments->json, "As one JSON object");
    command.set_action([arguments, action]() -> Status {
      MUSTER_ASSIGN(const std::string text, action(*arguments));
      std::fwrite(text.data(), 1, text.size(), stdout);
      return {};
    });
    return command;
  };
  const auto add_options = [&](Command command) {
    command.add_option("source", arguments->source, "A source of `muster data list`, or a .csv, .npz or .json file")
        .required();
    command.add_option("--set", arguments->settings, "data.key=value, repeatable").one_at_a_time();
    command.add_option("--seed", arguments->seed, "Seed of everything random").show_default();
  };

  add("list", "List data sources and partitions, and where data sets were found", "list --json", list);
  add("get", "Fetch a data set with the package manager that has it, or say where to get it", "get fashion-mnist", get)
      .add_option("name", arguments->source, "A source of `muster data list`")
      .required();
  add_options(add("inspect", "Show the shape of the samples, and counts per class and client",
                  "inspect mnist --set data.clients=100", inspect));
  Command cut =
      add("partition", "Write every client's label counts, as CSV (for `muster group --labels`) and as a picture",
          "partition blobs --set data.partition=dirichlet --out labels.csv --plot labels.svg", partition);
  add_options(cut);
  cut.add_option("--plot", arguments->plot, "Heat map: F.png or F.svg");
  cut.add_option("--out", arguments->out, "CSV file; without --out and --plot the CSV goes to stdout");
}

}  // namespace muster
