#include "data/synthetic_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "data/edges.h"

namespace muster {
namespace {

constexpr std::uint32_t kFeatures = 60;
constexpr std::uint32_t kClasses = 10;

// Parts of a client's kSynthetic stream: each can be drawn without the others.
enum Part : std::uint32_t {
  kSize = 0,
  kModel = 1,
  kTrain = 2,
  kTest = 3,
  kSharedModel = 4,
  kExemplars = 5,
  kValidation = 6
};

// What labels a client's samples, and where they lie.
struct Labeller {
  std::array<double, std::size_t{kFeatures} * kClasses> weights;  // feature-major
  std::array<double, kClasses> bias;
  std::array<double, kFeatures> centre;
};

class SyntheticData final : public FederatedData {
 public:
  SyntheticData(const DataOptions& options, std::uint64_t seed, bool iid)
      : seed_(seed),
        iid_(iid),
        clients_(options.clients.value_or(100)),
        alpha_(iid ? 0 : options.alpha.value_or(1)),
        beta_(iid ? 0 : options.beta.value_or(1)),
        least_(options.samples_min),
        most_(options.samples_max),
        test_fraction_(options.test_fraction.value_or(0.1)),
        validation_fraction_(options.validation_fraction),
        edges_(options.edges) {
    for (std::uint32_t j = 0; j < kFeatures; ++j) deviation_[j] = std::pow(j + 1.0, -0.6);
    if (iid_) draw_model(stream(0, kSharedModel), 0, shared_);
    shared_.centre.fill(0);
    preparation_.source = options.source;
    preparation_.shape = shape();
    for (std::uint32_t c = 0; c < kClasses; ++c) preparation_.classes.push_back(fmt::format("{}", c));
  }

  Status fill_global_test(std::uint32_t exemplars) {
    std::vector<std::uint32_t> order =
        join_clients([&](ClientId client, SampleBuffer& buffer) { return test(client, buffer); }, global_test_);
    if (exemplars == 0) {
      global_rows_ = std::move(order);
      return {};
    }
    Stream draws = stream(0, kExemplars);
    draws.shuffle(std::span(order));
    std::array<std::uint32_t, kClasses> taken{};
    for (const std::uint32_t row : order) {
      std::uint32_t& count = taken[static_cast<std::size_t>(global_test_.labels[row])];
      (count < exemplars ? exemplar_rows_ : global_rows_).push_back(row);
      if (count < exemplars) ++count;
    }
    for (std::uint32_t c = 0; c < kClasses; ++c) {
      if (taken[c] < exemplars) {
        return usage_error("data.exemplars: {}, but class {} has only {} test samples", exemplars, c, taken[c]);
      }
    }
    std::ranges::sort(global_rows_);
    std::ranges::sort(exemplar_rows_, [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(global_test_.labels[a], a) < std::pair(global_test_.labels[b], b);
    });
    return {};
  }

  void fill_global_validation() {
    if (validation_fraction_ == 0) return;
    global_validation_rows_ = join_clients(
        [&](ClientId client, SampleBuffer& buffer) { return validation(client, buffer); }, global_validation_);
  }

  std::uint32_t clients() const override { return clients_; }
  Shape shape() const override { return {1, 1, kFeatures}; }
  std::uint32_t classes() const override { return kClasses; }
  std::uint32_t train_count(ClientId client) const override { return train_part(sample_count(client)); }
  std::uint32_t test_count(ClientId client) const override { return test_part(sample_count(client)); }
  // A bound: to ask every client would be to draw every client's size.
  std::uint32_t largest_train_count() const override { return train_part(largest()); }
  SampleView train(ClientId client, SampleBuffer& buffer) const override {
    return generate(client, kTrain, train_count(client), buffer);
  }
  SampleView test(ClientId client, SampleBuffer& buffer) const override {
    return generate(client, kTest, test_count(client), buffer);
  }
  std::uint32_t validation_count(ClientId client) const override {
    if (validation_fraction_ == 0) return 0;  // without drawing the client's size, which a million of them would feel
    const std::uint32_t size = sample_count(client);
    return size - test_part(size) - train_part(size);
  }
  SampleCounts counts(ClientId client) const override {
    const std::uint32_t size = sample_count(client);
    const std::uint32_t train = train_part(size);
    const std::uint32_t test = test_part(size);
    return {.train = train, .test = test, .validation = size - train - test};
  }
  SampleView validation(ClientId client, SampleBuffer& buffer) const override {
    return generate(client, kValidation, validation_count(client), buffer);
  }
  SampleView global_validation() const override { return {&global_validation_, global_validation_rows_, 0}; }
  SampleView global_test() const override { return {&global_test_, global_rows_, 0}; }
  SampleView exemplars() const override { return {&global_test_, exemplar_rows_, 0}; }

  std::vector<std::uint32_t> label_counts(ClientId client) const override {
    Labeller own;
    const Labeller& labeller = labeller_of(client, own);
    Stream draws = stream(client.value, kTrain);
    std::vector<std::uint32_t> counts(kClasses, 0);
    std::array<float, kFeatures> x;
    for (std::uint32_t i = train_count(client); i > 0; --i)
      ++counts[static_cast<std::size_t>(draw_sample(labeller, draws, x.data()))];
    return counts;
  }
  std::uint32_t edges() const override { return edges_; }
  std::uint32_t edge(ClientId client) const override { return edge_of(client, clients_, edges_); }
  const Preparation& preparation() const override { return preparation_; }
  DataOptions resolved(DataOptions options) const override {
    options.clients = clients_;
    options.test_fraction = test_fraction_;
    if (!iid_) options.alpha = alpha_;
    if (!iid_) options.beta = beta_;
    return options;
  }
  std::string summary() const override {
    const std::string name = iid_ ? std::string("synthetic-iid") : fmt::format("synthetic({}, {})", alpha_, beta_);
    return fmt::format("{}, {} virtual clients, {} test", name, clients_, global_rows_.size());
  }

 private:
  Stream stream(std::uint32_t client, Part part) const {
    return Stream({.seed = seed_, .purpose = Purpose::kSynthetic, .id = client, .part = part});
  }

  std::uint32_t sample_count(ClientId client) const {
    Stream draws = stream(client.value, kSize);
    if (least_ && most_) return *least_ + draws.below(*most_ - *least_ + 1);
    const double size = std::min(std::floor(std::exp(4.0 + 2.0 * draws.normal())) + 50, double{kSyntheticMostSamples});
    return std::clamp(static_cast<std::uint32_t>(size), least_.value_or(0), most_.value_or(kSyntheticMostSamples));
  }

  std::uint32_t largest() const { return most_.value_or(kSyntheticMostSamples); }

  // Rounded, but a client with samples always trains on one.
  static std::uint32_t share_of(std::uint32_t size, double fraction) {
    if (size == 0) return 0;
    return std::min(static_cast<std::uint32_t>(size * fraction + 0.5), size - 1);
  }
  std::uint32_t test_part(std::uint32_t size) const { return share_of(size, test_fraction_); }
  std::uint32_t train_part(std::uint32_t size) const {
    const std::uint32_t left = size - test_part(size);
    return left - share_of(left, validation_fraction_);
  }

  // The samples that `part_of` gives for the first clients, one after the other, and their row numbers.
  template <typename PartOf>
  std::vector<std::uint32_t> join_clients(PartOf part_of, Samples& joined) const {
    joined.shape = shape();
    joined.classes = kClasses;
    SampleBuffer buffer;
    for (std::uint32_t k = 0; k < std::min(clients_, kSyntheticTestClients); ++k) {
      const SampleView own = part_of(ClientId{k}, buffer);
      joined.labels.insert(joined.labels.end(), own.samples->labels.begin(), own.samples->labels.end());
      joined.floats.insert(joined.floats.end(), own.samples->floats.begin(), own.samples->floats.end());
    }
    std::vector<std::uint32_t> rows(joined.size());
    std::iota(rows.begin(), rows.end(), 0u);
    return rows;
  }

  static void draw_model(Stream draws, double mean, Labeller& labeller) {
    for (double& w : labeller.weights) w = mean + draws.normal();
    for (double& b : labeller.bias) b = mean + draws.normal();
  }

  const Labeller& labeller_of(ClientId client, Labeller& own) const {
    if (iid_) return shared_;
    Stream draws = stream(client.value, kModel);
    const double model_mean = alpha_ * draws.normal();
    const double centre_mean = beta_ * draws.normal();
    for (double& v : own.centre) v = centre_mean + draws.normal();
    draw_model(draws, model_mean, own);
    return own;
  }

  // Writes the features and gives the label.
  std::int32_t draw_sample(const Labeller& labeller, Stream& draws, float* x) const {
    std::array<double, kClasses> scores = labeller.bias;
    for (std::uint32_t j = 0; j < kFeatures; ++j) {
      const double value = labeller.centre[j] + deviation_[j] * draws.normal();
      x[j] = static_cast<float>(value);
      const double* weights = labeller.weights.data() + std::size_t{j} * kClasses;
      for (std::uint32_t c = 0; c < kClasses; ++c) scores[c] += value * weights[c];
    }
    return static_cast<std::int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  }

  SampleView generate(ClientId client, Part part, std::uint32_t count, SampleBuffer& buffer) const {
    Samples& samples = buffer.samples;
    if (samples.floats.capacity() < std::size_t{largest()} * kFeatures || buffer.rows.size() < largest()) {
      // Sized for the largest client at once, so that memory does not creep up as larger clients come by.
      samples = Samples{};
      samples.shape = shape();
      samples.classes = kClasses;
      samples.labels.resize(largest());
      samples.floats.resize(std::size_t{largest()} * kFeatures);
      buffer.rows.resize(largest());
      std::iota(buffer.rows.begin(), buffer.rows.end(), 0u);
    }
    samples.labels.resize(count);
    samples.floats.resize(std::size_t{count} * kFeatures);
    Labeller own;
    const Labeller& labeller = labeller_of(client, own);
    Stream draws = stream(client.value, part);
    for (std::uint32_t i = 0; i < count; ++i) {
      samples.labels[i] = draw_sample(labeller, draws, samples.floats.data() + std::size_t{i} * kFeatures);
    }
    return {&samples, std::span<const std::uint32_t>(buffer.rows).first(count), 0};
  }

  std::uint64_t seed_;
  bool iid_;
  std::uint32_t clients_;
  double alpha_;
  double beta_;
  std::optional<std::uint32_t> least_;
  std::optional<std::uint32_t> most_;
  double test_fraction_;
  double validation_fraction_;
  std::uint32_t edges_;
  std::array<double, kFeatures> deviation_;
  Labeller shared_;  // IID only
  Samples global_test_;
  std::vector<std::uint32_t> global_rows_;
  std::vector<std::uint32_t> exemplar_rows_;
  Samples global_validation_;
  std::vector<std::uint32_t> global_validation_rows_;
  Preparation preparation_;
};

Status check(const DataOptions& options) {
  if (!options.partition.empty() && options.partition != "natural") {
    return usage_error("data.partition: {}, but synthetic clients generate their own samples; want natural or none",
                       options.partition);
  }
  if (options.clients == 0u) return usage_error("data.clients: 0, want at least 1");
  for (const auto& [key, value] : {std::pair("alpha", options.alpha), std::pair("beta", options.beta)}) {
    if (value && !(*value >= 0 && std::isfinite(*value))) {
      return usage_error("data.{}: {}, want a finite number >= 0", key, *value);
    }
  }
  for (const auto& [key, value] :
       {std::pair("samples-min", options.samples_min), std::pair("samples-max", options.samples_max)}) {
    if (value && (*value < 1 || *value > kSyntheticMostSamples)) {
      return usage_error("data.{}: {}, want 1..{}", key, *value, kSyntheticMostSamples);
    }
  }
  if (options.samples_min && options.samples_max && *options.samples_min > *options.samples_max) {
    return usage_error("data.samples-min: {}, want at most samples-max = {}", *options.samples_min,
                       *options.samples_max);
  }
  if (options.test_fraction && !(*options.test_fraction >= 0 && *options.test_fraction < 1)) {
    return usage_error("data.test-fraction: {}, want a number in [0, 1)", *options.test_fraction);
  }
  if (!(options.validation_fraction >= 0 && options.validation_fraction < 1)) {
    return usage_error("data.validation-fraction: {}, want a number in [0, 1)", options.validation_fraction);
  }
  return check_edges(options.edges, options.clients.value_or(100));
}

}  // namespace

Result<std::unique_ptr<FederatedData>> make_synthetic_data(const DataOptions& options, std::uint64_t seed, bool iid) {
  MUSTER_TRY(check(options));
  auto data = std::make_unique<SyntheticData>(options, seed, iid);
  MUSTER_TRY(data->fill_global_test(options.exemplars));
  data->fill_global_validation();
  return std::unique_ptr<FederatedData>(std::move(data));
}

}  // namespace muster
