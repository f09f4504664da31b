// What a server makes of what clients told (data/agreement.h), and what a client makes of its own file.
#include <algorithm>
#include <utility>

#include "base/names.h"
#include "data/agreement.h"
#include "data/edges.h"
#include "data/prepared_rows.h"
#include "data/readers/table.h"
#include "data/stored_data.h"

namespace muster {
namespace {

// A tenth of each client's rows where nobody's file marks tests; as of a table (stored_data.h).
double test_fraction_of(const DataOptions& options, bool marked_tests) {
  return options.test_fraction.value_or(marked_tests ? 0.0 : 0.1);
}

bool marks_tests(const Preparation& agreed, const DataOptions& options) {
  return !agreed.split.empty() && !options.merge_test;
}

class ToldData final : public FederatedData {
 public:
  ToldData(const DataOptions& options, Preparation agreed, std::vector<ToldClient> clients)
      : edges_(options.edges), agreed_(std::move(agreed)), clients_(std::move(clients)) {
    if (options.test_fraction || !marks_tests(agreed_, options)) {
      cut_fraction_ = test_fraction_of(options, marks_tests(agreed_, options));
    }
    std::uint64_t train = 0;
    std::uint64_t test = 0;
    std::uint32_t places = 0;
    for (const ToldClient& client : clients_) {
      train += client.counts.train;
      test += client.counts.test;
      places += client.name.empty() ? 1 : 0;
    }
    summary_ = fmt::format("{} of {} with data of their own{}, {} train, {} test", agreed_.source,
                           counted(clients_.size() - places, "client"),
                           places > 0 ? fmt::format(" and {} to come", places) : "", train, test);
  }

  std::uint32_t clients() const override { return static_cast<std::uint32_t>(clients_.size()); }
  Shape shape() const override { return agreed_.shape; }
  std::uint32_t classes() const override { return static_cast<std::uint32_t>(agreed_.classes.size()); }
  std::uint32_t train_count(ClientId client) const override { return clients_[client.value].counts.train; }
  std::uint32_t test_count(ClientId client) const override { return clients_[client.value].counts.test; }
  std::uint32_t validation_count(ClientId client) const override { return clients_[client.value].counts.validation; }
  // The server has none of them.
  SampleView train(ClientId, SampleBuffer&) const override { return {}; }
  SampleView test(ClientId, SampleBuffer&) const override { return {}; }
  SampleView global_test() const override { return {}; }
  SampleView exemplars() const override { return {}; }
  // Nobody told.
  std::vector<std::uint32_t> label_counts(ClientId) const override { return std::vector<std::uint32_t>(classes(), 0); }
  std::uint32_t edges() const override { return edges_; }
  std::uint32_t edge(ClientId client) const override { return edge_of(client, clients(), edges_); }
  std::string client_name(ClientId client) const override { return clients_[client.value].name; }
  const Preparation& preparation() const override { return agreed_; }
  DataOptions resolved(DataOptions options) const override {
    options.partition = "natural";
    options.clients = clients();
    if (cut_fraction_) options.test_fraction = cut_fraction_;
    if (agreed_.storage != Samples::Storage::kTokens) options.normalize = !agreed_.scale.empty();
    return options;
  }
  std::string summary() const override { return summary_; }

 private:
  std::uint32_t edges_;
  Preparation agreed_;
  std::vector<ToldClient> clients_;
  std::optional<double> cut_fraction_;
  std::string summary_;
};

}  // namespace

SampleCounts counts_of(std::uint32_t rows, std::uint32_t test_rows, const Preparation& agreed,
                       const DataOptions& options) {
  SampleCounts counts{.train = rows};
  if (options.merge_test) counts.train += test_rows;
  const bool marked = marks_tests(agreed, options);
  if (marked && !options.test_fraction) {
    counts.test = test_rows;
  } else {
    counts.test = cut_count(counts.train, test_fraction_of(options, marked));
    counts.train -= counts.test;
  }
  counts.validation = cut_count(counts.train, options.validation_fraction);
  counts.train -= counts.validation;
  return counts;
}

std::unique_ptr<FederatedData> make_told_data(const DataOptions& options, Preparation agreed,
                                              std::vector<ToldClient> clients) {
  return std::make_unique<ToldData>(options, std::move(agreed), std::move(clients));
}

Result<std::unique_ptr<FederatedData>> make_own_data(const DataOptions& options, const Preparation& agreed,
                                                     const OwnPlace& place, std::uint64_t seed) {
  if (place.client.value >= place.clients) return failure("client {} of {}", place.client.value, place.clients);
  MUSTER_ASSIGN(PreparedRows rows, prepare_rows(options.path, agreed, RowsFor::kTraining));
  Table table;
  table.labels.ids.assign(rows.samples.labels.begin(), rows.samples.labels.end());
  table.labels.names = agreed.classes;
  table.samples = std::move(rows.samples);
  table.is_test = std::move(rows.is_test);
  const std::vector<float> scale = table.samples.scale;
  const std::vector<float> offset = table.samples.offset;
  MUSTER_ASSIGN(RawData raw, divide(std::move(table)));
  raw.train.scale = raw.test.scale = scale;
  raw.train.offset = raw.test.offset = offset;
  raw.preparation = agreed;
  raw.normalized = !scale.empty();
  raw.client_names.resize(place.clients);
  raw.client_names[place.client.value] = place.name;
  raw.train_clients.assign(raw.train.size(), place.client.value);
  raw.test_clients.assign(raw.test.size(), place.client.value);
  return divide_for_client(std::move(raw), options,
                           {.client = place.client, .clients = place.clients, .marked_tests = !agreed.split.empty()},
                           seed, options.source);
}

}  // namespace muster
