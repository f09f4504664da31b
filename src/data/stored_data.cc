#include "data/stored_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/huge_pages.h"
#include "base/names.h"
#include "data/edges.h"
#include "data/minority_copies.h"
#include "data/partition.h"
#include "data/partitions/laws.h"
#include "data/shared_data.h"
#include "data/shown_text.h"

namespace muster {
namespace {

// Parts of the seed's kPartition and kSplit streams.
enum Part : std::uint32_t { kTrain = 0, kLocalTest = 1, kImbalance = 2, kHoldOut = 3, kExemplars = 4, kValidation = 5 };

class StoredData final : public FederatedData {
 public:
  std::uint32_t clients() const override { return train_index_.clients(); }
  Shape shape() const override { return raw_.train.shape; }
  std::uint32_t classes() const override { return raw_.train.classes; }
  std::uint32_t train_count(ClientId client) const override { return train_index_.size(client.value); }
  std::uint32_t test_count(ClientId client) const override { return test_index_.size(client.value); }
  SampleView train(ClientId client, SampleBuffer&) const override {
    return {&raw_.train, train_index_.of(client.value), turns(client)};
  }
  SampleView test(ClientId client, SampleBuffer&) const override {
    return {test_samples_, test_index_.of(client.value), turns(client)};
  }
  std::uint32_t validation_count(ClientId client) const override { return validation_index_.size(client.value); }
  SampleView validation(ClientId client, SampleBuffer&) const override {
    return {&raw_.train, validation_index_.of(client.value), turns(client)};
  }
  SampleView global_validation() const override { return {&raw_.train, global_validation_, 0}; }
  SampleView global_test() const override { return {global_samples_, global_test_, 0}; }
  SampleView exemplars() const override { return {global_samples_, exemplars_, 0}; }

  std::vector<std::uint32_t> label_counts(ClientId client) const override {
    std::vector<std::uint32_t> counts(classes(), 0);
    const std::span<const std::int32_t> labels = raw_.train.values().labels;
    for (const std::uint32_t row : train_index_.of(client.value)) ++counts[static_cast<std::size_t>(labels[row])];
    return counts;
  }
  std::uint32_t edges() const override { return edges_; }
  std::uint32_t edge(ClientId client) const override { return edge_of(client, clients(), edges_); }
  std::optional<std::uint32_t> planted_cluster(ClientId client) const override {
    if (train_index_.planted.empty()) return std::nullopt;
    return train_index_.planted[client.value];
  }
  std::string client_name(ClientId client) const override {
    if (train_index_.owners.empty() || raw_.client_names.empty()) return {};
    return raw_.client_names[train_index_.owners[client.value]];
  }
  const Preparation& preparation() const override { return raw_.preparation; }
  std::vector<std::string> notes() const override { return raw_.notes; }
  DataOptions resolved(DataOptions options) const override {
    options.source = raw_.preparation.source;
    options.partition = law_->name;
    options.clients = clients();
    options.exemplars = exemplars_per_class_;
    if (law_->has_key("alpha")) options.alpha = alpha_of(options);
    if (law_->has_key("rotations")) options.rotations = rotations_of(options);
    if (law_->has_key("label-groups")) options.label_groups = label_groups_of(options, raw_.train.classes);
    if (law_->divide == divide_dirichlet_truncated) {
      const SampleBounds bounds = truncated_bounds_of(options);
      options.samples_min = bounds.least;
      options.samples_max = bounds.most;
    }
    resolve_reading(options);
    // Where the source's own test rows are the clients', no fraction says so.
    if (cut_fraction_) options.test_fraction = cut_fraction_;
    if (raw_.train.storage != Samples::Storage::kTokens) options.normalize = raw_.normalized;
    return options;
  }
  std::string summary() const override { return summary_; }
  Result<std::shared_ptr<const SharedMemory>> share() override {
    if (memory_) return memory_;
    MUSTER_ASSIGN(memory_, share_arrays({.train = &raw_.train,
                                         .test = &raw_.test,
                                         .tests_in_train = test_samples_ == &raw_.train,
                                         .global_in_train = global_samples_ == &raw_.train,
                                         .edges = edges_,
                                         .train_rows = &train_index_,
                                         .test_rows = &test_index_,
                                         .validation_rows = &validation_index_,
                                         .global_test = global_test_,
                                         .global_validation = global_validation_,
                                         .exemplars = exemplars_}));
    return memory_;
  }

 private:
  friend class Divider;
  // What the file was found to be, and how texts were cut.
  void resolve_reading(DataOptions& options) const {
    const Preparation& reading = raw_.preparation;
    if (!reading.columns.empty()) {
      options.delimiter = reading.delimiter == '\t' ? "tab" : std::string(1, reading.delimiter);
      options.decimal = reading.decimal == DecimalMark::kComma ? "comma" : "point";
    }
    if (reading.tokens) options.tokens = *reading.tokens == TokenKind::kCharacters ? "characters" : "words";
    const Shape& shape = raw_.train.shape;
    if (shape.height == 1 && shape.width > 1) options.words = shape.width;
  }
  std::uint32_t turns(ClientId client) const {
    return train_index_.quarter_turns.empty() ? 0 : train_index_.quarter_turns[client.value];
  }

  RawData raw_;
  std::shared_ptr<const SharedMemory> memory_;  // where the samples are, once they are shared
  const Samples* test_samples_ = nullptr;       // where clients' tests are: raw_.test, or raw_.train if cut from it
  const Samples* global_samples_ = nullptr;     // where the server's test set is: raw_.test if the source has one
  Division train_index_;
  Division test_index_;
  Division validation_index_;
  std::vector<std::uint32_t> global_test_;
  std::vector<std::uint32_t> global_validation_;
  std::vector<std::uint32_t> exemplars_;
  std::uint32_t edges_ = 1;
  const PartitionLaw* law_ = nullptr;
  std::uint32_t exemplars_per_class_ = 0;
  std::optional<double> cut_fraction_;  // of each client's rows: its test; none: those that the source has for it
  std::string summary_;
};

void append_test(RawData& raw) {
  const auto append = [](auto& to, auto& from) {
    reserve_huge(to, to.size() + from.size());
    to.insert(to.end(), from.begin(), from.end());
    from.clear();
    from.shrink_to_fit();
  };
  append(raw.train.labels, raw.test.labels);
  append(raw.train.bytes, raw.test.bytes);
  append(raw.train.floats, raw.test.floats);
  append(raw.train.tokens, raw.test.tokens);
  append(raw.train_clients, raw.test_clients);
}

// The rows of each client's own test, where the source says whose they are. Clients of `train` only.
Division rows_by_owner(const Division& train, std::span<const std::uint32_t> test_owners, std::size_t owner_count) {
  constexpr std::uint32_t kNobody = 0xffffffffu;
  std::vector<std::uint32_t> client_of(owner_count, kNobody);
  for (std::uint32_t k = 0; k < train.clients(); ++k) client_of[train.owners[k]] = k;
  Division test;
  test.offsets.assign(train.clients() + std::size_t{1}, 0);
  for (const std::uint32_t owner : test_owners) {
    if (client_of[owner] != kNobody) ++test.offsets[client_of[owner] + 1];
  }
  std::partial_sum(test.offsets.begin(), test.offsets.end(), test.offsets.begin());
  test.rows.resize(test.offsets.back());
  std::vector<std::uint32_t> next(test.offsets.begin(), test.offsets.end() - 1);
  for (std::uint32_t row = 0; row < test_owners.size(); ++row) {
    if (const std::uint32_t client = client_of[test_owners[row]]; client != kNobody) test.rows[next[client]++] = row;
  }
  return test;
}

Division no_rows(std::uint32_t clients) {
  Division none;
  none.offsets.assign(clients + std::size_t{1}, 0);
  return none;
}

// Moves a random `fraction` of every client's rows (see cut_count()) from `train` into the result.
// `part` names the streams that draw them.
Division cut_rows(Division& train, double fraction, std::uint64_t seed, std::uint32_t part) {
  Division test;
  std::uint32_t out = 0;
  for (std::uint32_t k = 0; k < train.clients(); ++k) {
    const std::uint32_t begin = train.offsets[k];
    const std::uint32_t size = train.size(k);
    const std::uint32_t count = cut_count(size, fraction);
    Stream stream({.seed = seed, .purpose = Purpose::kSplit, .id = k, .part = part});
    for (std::uint32_t last = size; last > size - count; --last) {
      std::swap(train.rows[begin + last - 1], train.rows[begin + stream.below(last)]);
    }
    const auto rows = train.rows.begin();
    test.rows.insert(test.rows.end(), rows + begin + (size - count), rows + begin + size);
    test.close_client();
    std::copy(rows + begin, rows + begin + (size - count), rows + out);
    train.offsets[k] = out;
    out += size - count;
  }
  train.offsets.back() = out;
  train.rows.resize(out);
  return test;
}

// Rows in ascending order within each client: reading them touches memory in one direction.
void sort_rows(Division& division) {
  for (std::uint32_t k = 0; k < division.clients(); ++k) {
    std::sort(division.rows.begin() + division.offsets[k], division.rows.begin() + division.offsets[k + 1]);
  }
}

// Ascending, each once.
std::vector<std::uint32_t> rows_of_all(const Division& division) {
  std::vector<std::uint32_t> rows = division.rows;
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

void remove_rows(Division& division, const std::vector<bool>& removed) {
  std::uint32_t out = 0;
  for (std::uint32_t k = 0; k < division.clients(); ++k) {
    const std::uint32_t begin = division.offsets[k];
    const std::uint32_t end = division.offsets[k + 1];
    division.offsets[k] = out;
    for (std::uint32_t i = begin; i < end; ++i) {
      if (!removed[division.rows[i]]) division.rows[out++] = division.rows[i];
    }
  }
  division.offsets.back() = out;
  division.rows.resize(out);
}

// Builds one StoredData, step by step.
class Divider {
 public:
  Divider(RawData raw, const DataOptions& options, std::uint64_t seed, std::string source)
      : options_(options), seed_(seed), source_(std::move(source)), data_(std::make_unique<StoredData>()) {
    data_->raw_ = std::move(raw);
    if (options.merge_test) append_test(data_->raw_);
  }
  void set_only(const OnlyClient& only) { only_ = only; }

  Result<std::unique_ptr<FederatedData>> divide() {
    MUSTER_TRY(check());
    MUSTER_TRY(divide_rows());
    sort_rows(data_->train_index_);
    sort_rows(data_->test_index_);
    sort_rows(data_->validation_index_);
    set_global_test();
    data_->global_validation_ = rows_of_all(data_->validation_index_);
    MUSTER_TRY(take_exemplars());
    if (options_.augment_minority > 0) {
      MUSTER_TRY(add_minority_copies(options_.augment_minority, seed_, data_->raw_.train, data_->train_index_));
    }
    MUSTER_TRY(check_edges(options_.edges, data_->clients()));
    data_->edges_ = options_.edges;
    data_->law_ = law_;
    data_->summary_ = summarise();
    note_untrained_classes();
    note_missing_tests();
    return std::unique_ptr<FederatedData>(std::move(data_));
  }

 private:
  Status check() {
    const RawData& raw = data_->raw_;
    const std::size_t rows = raw.train.size();
    if (rows == 0) return failure("{}: no training samples", source_);
    if (rows > 0xffffffffu) return failure("{}: {} samples are more than an index holds", source_, rows);
    const std::string name =
        !options_.partition.empty() ? options_.partition : (raw.train_clients.empty() ? "iid" : "natural");
    MUSTER_ASSIGN(law_, find_partition_law(name));
    clients_ = options_.clients.value_or(std::min(law_->default_clients, static_cast<std::uint32_t>(rows)));
    if (clients_ == 0) return usage_error("data.clients: 0, want at least 1");
    const std::size_t limit = law_->replicates ? rows * rotations_of(options_) : rows;
    if (only_) {
      clients_ = only_->clients;
      return {};
    }
    if (clients_ > limit) {
      return usage_error("data.clients: {}, want at most {} (the training samples of {})", clients_, limit, source_);
    }
    if (options_.test_fraction && !(*options_.test_fraction >= 0 && *options_.test_fraction < 1)) {
      return usage_error("data.test-fraction: {}, want a number in [0, 1)", *options_.test_fraction);
    }
    if (!(options_.validation_fraction >= 0 && options_.validation_fraction < 1)) {
      return usage_error("data.validation-fraction: {}, want a number in [0, 1)", options_.validation_fraction);
    }
    if (options_.imbalance && !law_->has_key("imbalance")) {
      return usage_error("data.imbalance: works with iid, label-groups and rotations, not with {}", law_->name);
    }
    if (law_->has_key("rotations")) {
      const Shape shape = raw.train.shape;
      const bool quarter = rotations_of(options_) == 4;
      if (raw.train.storage == Samples::Storage::kTokens || shape.height < 2 || shape.width < 2 ||
          (quarter && shape.height != shape.width)) {
        return usage_error("data.partition: {} needs {}images, {} has samples of {} x {} x {}", law_->name,
                           quarter ? "square " : "", source_, shape.height, shape.width, shape.channels);
      }
    }
    return {};
  }

  Status divide_rows() {
    const RawData& raw = data_->raw_;
    const bool source_tests = only_ ? only_->marked_tests && !options_.merge_test : raw.test.size() > 0;
    const double fraction = options_.test_fraction.value_or(source_tests ? 0.0 : 0.1);
    data_->test_samples_ = source_tests ? &raw.test : &raw.train;

    const bool hold_out = law_->replicates && (fraction > 0 || options_.validation_fraction > 0);
    if (hold_out) {
      MUSTER_TRY(hold_out_and_divide(fraction));
      if (fraction > 0) {
        data_->cut_fraction_ = fraction;
        return {};
      }
    } else {
      MUSTER_ASSIGN(data_->train_index_, apply(raw.train, raw.train_clients, kTrain));
      data_->validation_index_ = no_rows(data_->clients());
    }
    if (options_.imbalance && !hold_out) {
      Stream stream({.seed = seed_, .purpose = Purpose::kPartition, .part = kImbalance});
      reduce_shares(raw.train.labels, stream, data_->train_index_);
    }
    const bool planted = !options_.test_fraction && law_->plants && source_tests;
    const bool owned = !options_.test_fraction && !data_->train_index_.owners.empty() &&
                       (only_ ? source_tests : !raw.test_clients.empty());
    if (!planted && !owned) data_->cut_fraction_ = fraction;
    if (planted) {
      MUSTER_ASSIGN(data_->test_index_, apply(raw.test, {}, kLocalTest));
    } else if (owned) {
      data_->test_index_ = rows_by_owner(data_->train_index_, raw.test_clients, raw.client_names.size());
    } else if (fraction > 0) {
      data_->test_samples_ = &raw.train;
      data_->test_index_ = cut_rows(data_->train_index_, fraction, seed_, 0);
    } else {
      data_->test_index_ = no_rows(data_->clients());
    }
    if (options_.validation_fraction > 0 && !hold_out) {
      sort_rows(data_->train_index_);  // the draw must not depend on how the test was cut
      data_->validation_index_ = cut_rows(data_->train_index_, options_.validation_fraction, seed_, kValidation);
    }
    return {};
  }

  // For laws that give a row to several clients: were the tests cut client by client, one's test would be another's
  // training sample.
  Status hold_out_and_divide(double fraction) {
    const Samples& all = data_->raw_.train;
    std::vector<std::uint32_t> rows(all.size());
    std::iota(rows.begin(), rows.end(), 0u);
    Stream stream({.seed = seed_, .purpose = Purpose::kSplit, .part = kHoldOut});
    stream.shuffle(std::span(rows));
    const auto held_out =
        std::min(static_cast<std::size_t>(static_cast<double>(rows.size()) * fraction + 0.5), rows.size() - 1);
    const std::span test_rows = std::span(rows).first(held_out);
    const std::size_t left = rows.size() - held_out;
    const auto validated =
        std::min(static_cast<std::size_t>(static_cast<double>(left) * options_.validation_fraction + 0.5), left - 1);
    const std::span validation_rows = std::span(rows).subspan(held_out, validated);
    const std::span train_rows = std::span(rows).subspan(held_out + validated);
    if (held_out > 0) data_->test_samples_ = &all;
    const auto divide_some = [&](std::span<const std::uint32_t> some, Part part) -> Result<Division> {
      Samples labels_only;
      labels_only.classes = all.classes;
      for (const std::uint32_t row : some) labels_only.labels.push_back(all.labels[row]);
      MUSTER_ASSIGN(Division division, apply(labels_only, {}, part));
      for (std::uint32_t& row : division.rows) row = some[row];
      return division;
    };
    MUSTER_ASSIGN(data_->train_index_, divide_some(train_rows, kTrain));
    data_->test_index_ = data_->validation_index_ = no_rows(data_->clients());
    if (held_out > 0) {
      MUSTER_ASSIGN(data_->test_index_, divide_some(test_rows, kLocalTest));
    }
    if (validated > 0) {
      MUSTER_ASSIGN(data_->validation_index_, divide_some(validation_rows, kValidation));
    }
    return {};
  }

  // All rows are the only client's.
  Division only_division(std::size_t rows) const {
    Division division = no_rows(clients_);
    division.rows.resize(rows);
    std::iota(division.rows.begin(), division.rows.end(), 0u);
    for (std::uint32_t k = only_->client.value; k < clients_; ++k) {
      division.offsets[k + 1] = static_cast<std::uint32_t>(rows);
    }
    division.owners.resize(clients_);
    std::iota(division.owners.begin(), division.owners.end(), 0u);
    return division;
  }

  Result<Division> apply(const Samples& samples, std::span<const std::uint32_t> owners, Part part) {
    if (only_) return only_division(samples.size());
    const PartitionTask task{.labels = samples.labels,
                             .classes = samples.classes,
                             .owners = owners,
                             .owner_count = static_cast<std::uint32_t>(data_->raw_.client_names.size()),
                             .clients = clients_};
    DataOptions options = options_;
    if (part != kTrain) {
      // Sizes asked for are those of the training part.
      options.samples_min.reset();
      options.samples_max.reset();
    }
    Stream stream({.seed = seed_, .purpose = Purpose::kPartition, .part = part});
    return law_->divide(task, options, stream);
  }

  void set_global_test() {
    std::vector<std::uint32_t>& rows = data_->global_test_;
    if (data_->raw_.test.size() > 0) {
      data_->global_samples_ = &data_->raw_.test;
      rows.resize(data_->raw_.test.size());
      std::iota(rows.begin(), rows.end(), 0u);
      return;
    }
    data_->global_samples_ = data_->test_samples_;
    rows = rows_of_all(data_->test_index_);
  }

  // A model cannot give a class it never saw: its test rows count as errors for ever.
  void note_untrained_classes() {
    const RawData& raw = data_->raw_;
    std::vector<bool> trained(raw.train.classes, false);
    for (const std::uint32_t row : data_->train_index_.rows) {
      trained[static_cast<std::size_t>(raw.train.labels[row])] = true;
    }
    std::vector<bool> tested(raw.train.classes, false);
    for (const std::uint32_t row : data_->global_test_) {
      tested[static_cast<std::size_t>(data_->global_samples_->labels[row])] = true;
    }
    std::uint32_t count = 0;
    std::string names;
    for (std::uint32_t c = 0; c < raw.train.classes; ++c) {
      if (trained[c] || !tested[c]) continue;
      if (++count <= 5) names += fmt::format("{}'{}'", count > 1 ? ", " : "", shown_text(data_->class_name(c)));
    }
    if (count == 0) return;
    data_->raw_.notes.push_back(fmt::format("{} of {} classes {} in test rows but in no training row: {}{}", count,
                                            raw.train.classes, count == 1 ? "is" : "are", names,
                                            count > 5 ? ", ..." : ""));
  }

  // How many test samples of every class the server gets.
  Result<std::uint32_t> exemplars_per_class(const Samples& samples) {
    std::vector<std::uint32_t> held(samples.classes, 0);
    for (const std::uint32_t row : data_->global_test_) ++held[static_cast<std::size_t>(samples.labels[row])];
    const auto rarest = static_cast<std::uint32_t>(std::ranges::min_element(held) - held.begin());
    if (held[rarest] >= options_.exemplars) return options_.exemplars;
    if (!options_.fewer_exemplars || held[rarest] == 0) {
      return usage_error("data.exemplars: {}, but class {} has only {} test samples", options_.exemplars,
                         shown_text(data_->class_name(rarest)), held[rarest]);
    }
    data_->raw_.notes.push_back(
        fmt::format("data.exemplars: {} instead of {}, because class {} has no more test samples", held[rarest],
                    options_.exemplars, shown_text(data_->class_name(rarest))));
    return held[rarest];
  }

  // A share of few rows rounds to none.
  void note_missing_tests() {
    const double fraction = data_->cut_fraction_.value_or(0.0);
    if (fraction <= 0 || !data_->global_test_.empty() || options_.exemplars > 0) return;
    std::uint32_t most = 0;
    for (std::uint32_t k = 0; k < data_->clients(); ++k) most = std::max(most, data_->train_index_.size(k));
    data_->raw_.notes.push_back(
        most < 2
            ? std::string("no client has more than one row, which is for training: there is nothing to test with")
            : fmt::format("no client has rows enough for a test of {:g} %: the most are {}; data.test-fraction = {} "
                          "gives it one",
                          100 * fraction, most, std::ceil(50.0 / most) / 100));
  }

  Status take_exemplars() {
    if (options_.exemplars == 0) return {};
    const Samples& samples = *data_->global_samples_;
    MUSTER_ASSIGN(const std::uint32_t wanted, exemplars_per_class(samples));
    data_->exemplars_per_class_ = wanted;
    std::vector<std::uint32_t> shuffled = data_->global_test_;
    Stream stream({.seed = seed_, .purpose = Purpose::kSplit, .part = kExemplars});
    stream.shuffle(std::span(shuffled));
    std::vector<std::uint32_t> taken(samples.classes, 0);
    std::vector<bool> removed(samples.size(), false);
    for (const std::uint32_t row : shuffled) {
      if (std::uint32_t& count = taken[static_cast<std::size_t>(samples.labels[row])]; count < wanted) {
        ++count;
        removed[row] = true;
        data_->exemplars_.push_back(row);
      }
    }
    std::ranges::sort(data_->exemplars_, [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(samples.labels[a], a) < std::pair(samples.labels[b], b);
    });
    note_exemplars(data_->exemplars_.size(), data_->global_test_.size());
    std::erase_if(data_->global_test_, [&](std::uint32_t row) { return removed[row]; });
    if (data_->test_samples_ == data_->global_samples_) remove_rows(data_->test_index_, removed);
    return {};
  }

  // Of few test rows they take many.
  void note_exemplars(std::size_t taken, std::size_t tests) {
    if (10 * taken < tests) return;
    data_->raw_.notes.push_back(fmt::format(
        "{} of {} test rows are the server's exemplars (data.exemplars = {} of each class), and count for no "
        "accuracy",
        taken, tests, data_->exemplars_per_class_));
  }

  std::string summarise() const {
    const Division& index = data_->train_index_;
    std::string text = fmt::format("{}, {}", source_, law_->name);
    if (law_->has_key("alpha")) {
      text += fmt::format(" {}", alpha_of(options_));
    }
    text += fmt::format(", {}, {} train, {} test", counted(index.clients(), "client"), index.rows.size(),
                        data_->global_test_.size());
    std::uint32_t empty = 0;
    for (std::uint32_t k = 0; k < index.clients(); ++k) empty += index.size(k) == 0 ? 1 : 0;
    if (empty > 0) text += fmt::format(", {} without samples", counted(empty, "client"));
    if (!index.note.empty()) text += "; " + index.note;
    return text;
  }

  const DataOptions& options_;
  std::uint64_t seed_;
  std::string source_;
  std::unique_ptr<StoredData> data_;
  const PartitionLaw* law_ = nullptr;
  std::uint32_t clients_ = 0;
  std::optional<OnlyClient> only_;
};

}  // namespace

std::uint32_t cut_count(std::uint32_t rows, double fraction) {
  const auto count = static_cast<std::uint32_t>(rows * fraction + 0.5);
  return rows > 0 ? std::min(count, rows - 1) : 0;
}

Result<std::unique_ptr<FederatedData>> divide_for_client(RawData raw, const DataOptions& options,
                                                         const OnlyClient& only, std::uint64_t seed,
                                                         std::string source) {
  Divider divider(std::move(raw), options, seed, std::move(source));
  divider.set_only(only);
  return divider.divide();
}

Result<std::unique_ptr<FederatedData>> divide_among_clients(RawData raw, const DataOptions& options, std::uint64_t seed,
                                                            std::string source) {
  return Divider(std::move(raw), options, seed, std::move(source)).divide();
}

}  // namespace muster
