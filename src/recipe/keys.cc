// The table of recipe keys. Each row binds a key to a field of Recipe with its accepted values; everything else about
// recipes is generic over these rows.
#include "recipe/keys.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "base/names.h"

namespace muster {
namespace {

std::string shown(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& n) {
    if constexpr (toml::is_string<decltype(n)>) {
      text << '"' << n.get() << '"';
    } else if constexpr (toml::is_table<decltype(n)>) {
      text << "a table";
    } else {
      text << n;
    }
  });
  return text.str();
}

Error unaccepted(const toml::node& node, const std::string& accepted) {
  return usage_error("{}, want {}", shown(node), accepted);
}

std::string number_text(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string toml_text(std::string_view text) {
  std::ostringstream out;
  out << toml::value<std::string>(std::string(text));
  return out.str();
}

std::string amount_text(const Amount& amount) {
  if (const auto* count = std::get_if<std::uint32_t>(&amount.value)) return fmt::format("{}", *count);
  return number_text(std::get<double>(amount.value));
}

std::optional<std::uint32_t> count_in(const toml::node& node) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < 1 || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

Result<GroupSchedule> schedule_from(const toml::node& node, const std::string& accepted) {
  GroupSchedule schedule;
  const toml::table* const table = node.as_table();
  if (!table) {
    const auto groups = count_in(node);
    if (!groups) return unaccepted(node, accepted);
    schedule.beta = *groups;
    return schedule;
  }
  for (const auto& [key, value] : *table) {
    if (key.str() == "growth") {
      const auto growth = value.value_exact<std::string>();
      if (!growth) return unaccepted(value, "a string").within("growth");
      schedule.growth = *growth;
    } else if (key.str() == "alpha") {
      std::optional<double> alpha = value.value_exact<double>();
      if (const auto integer = value.value_exact<std::int64_t>()) alpha = static_cast<double>(*integer);
      if (!alpha) return unaccepted(value, "a number >= 0").within("alpha");
      schedule.alpha = *alpha;
    } else if (key.str() == "beta") {
      const auto beta = count_in(value);
      if (!beta) return unaccepted(value, "an integer >= 1").within("beta");
      schedule.beta = *beta;
    } else {
      const std::vector<std::string> names{"growth", "alpha", "beta"};
      return Error{ErrorCode::kUsage, unknown_name("key", key.str(), names)};
    }
  }
  return schedule;
}

template <typename T>
struct Range {
  T low;
  T high;
  bool open_low = false;
  bool open_high = false;

  [[nodiscard]] bool holds(T value) const {
    return (open_low ? value > low : value >= low) && (open_high ? value < high : value <= high);
  }
};

class Table {
 public:
  explicit Table(std::vector<Key>& keys) : keys_(keys) {}

  void text(const char* section, const char* key, std::string& field, const char* summary) {
    add(
        section, key, summary, "a string",
        [&field](const toml::node& node, const std::string& accepted) -> Status {
          const auto value = node.value_exact<std::string>();
          if (!value) return unaccepted(node, accepted);
          field = *value;
          return {};
        },
        [&field] { return toml_text(field); });
  }

  // One of a few words; "" (a default that depends on other keys) is written as nothing.
  void choice(const char* section, const char* key, std::string& field, std::vector<std::string> words,
              const char* summary) {
    add(
        section, key, summary, fmt::format("{}", fmt::join(words, " | ")),
        [&field, words](const toml::node& node, const std::string& accepted) -> Status {
          const auto value = node.value_exact<std::string>();
          if (!value) return unaccepted(node, accepted);
          if (std::find(words.begin(), words.end(), *value) == words.end()) {
            return Error{ErrorCode::kUsage, unknown_name("value", *value, words)};
          }
          field = *value;
          return {};
        },
        [&field] { return field.empty() ? std::string() : toml_text(field); });
  }

  void flag(const char* section, const char* key, bool& field, const char* summary) {
    add(
        section, key, summary, "true or false",
        [&field](const toml::node& node, const std::string& accepted) -> Status {
          const auto value = node.value_exact<bool>();
          if (!value) return unaccepted(node, accepted);
          field = *value;
          return {};
        },
        [&field] { return std::string(field ? "true" : "false"); });
  }

  void optional_flag(const char* section, const char* key, std::optional<bool>& field, const char* summary) {
    add(
        section, key, summary, "true or false",
        [&field](const toml::node& node, const std::string& accepted) -> Status {
          const auto value = node.value_exact<bool>();
          if (!value) return unaccepted(node, accepted);
          field = *value;
          return {};
        },
        [&field] { return field ? std::string(*field ? "true" : "false") : std::string(); });
  }

  template <typename T>
  void integer(const char* section, const char* key, T& field, std::uint64_t low, const char* summary) {
    integer_of<T>(
        section, key, low, summary, [&field](T value) { field = value; },
        [&field] { return fmt::format("{}", field); });
  }
  template <typename T>
  void integer(const char* section, const char* key, std::optional<T>& field, std::uint64_t low, const char* summary) {
    integer_of<T>(
        section, key, low, summary, [&field](T value) { field = value; },
        [&field] { return field ? fmt::format("{}", *field) : std::string(); });
  }

  void integers(const char* section, const char* key, std::vector<std::uint32_t>& field, const char* summary) {
    add(
        section, key, summary, "a list of integers from 1 to 1000000",
        [&field](const toml::node& node, const std::string& accepted) -> Status {
          const toml::array* list = node.as_array();
          if (!list) return unaccepted(node, accepted);
          std::vector<std::uint32_t> values;
          for (const toml::node& item : *list) {
            const auto value = item.value_exact<std::int64_t>();
            if (!value || *value < 1 || *value > 1'000'000) return unaccepted(node, accepted);
            values.push_back(static_cast<std::uint32_t>(*value));
          }
          field = std::move(values);
          return {};
        },
        [&field] { return field.empty() ? std::string() : fmt::format("[{}]", fmt::join(field, ", ")); });
  }

  void number(const char* section, const char* key, double& field, Range<double> range, const char* summary) {
    number_of(
        section, key, range, summary, [&field](double value) { field = value; },
        [&field] { return number_text(field); });
  }
  void number(const char* section, const char* key, std::optional<double>& field, Range<double> range,
              const char* summary) {
    number_of(
        section, key, range, summary, [&field](double value) { field = value; },
        [&field] { return field ? number_text(*field) : std::string(); });
  }

  void amount(const char* section, const char* key, Amount& field, const char* summary) {
    amount_of(
        section, key, summary, [&field](Amount value) { field = value; }, [&field] { return amount_text(field); });
  }
  void amount(const char* section, const char* key, std::optional<Amount>& field, const char* summary) {
    amount_of(
        section, key, summary, [&field](Amount value) { field = value; },
        [&field] { return field ? amount_text(*field) : std::string(); });
  }

  // A number of groups, or a table { growth, alpha, beta }.
  void schedule(const char* section, const char* key, std::optional<GroupSchedule>& field, const char* summary) {
    add(
        section, key, summary, "an integer >= 1, or a table like { growth = \"log\", alpha = 2.0, beta = 10 }",
        [&field](const toml::node& node, const std::string& accepted) -> Status {
          Result<GroupSchedule> schedule = schedule_from(node, accepted);
          if (!schedule) return std::move(schedule).error();
          MUSTER_TRY(check_schedule(*schedule));
          field = *schedule;
          return {};
        },
        [&field]() -> std::string {
          if (!field) return {};
          if (field->growth == "constant") return fmt::format("{}", field->beta);
          return fmt::format("{{ growth = {}, alpha = {}, beta = {} }}", toml_text(field->growth),
                             number_text(field->alpha), field->beta);
        });
  }

 private:
  template <typename Set, typename Get>
  void amount_of(const char* section, const char* key, const char* summary, Set set, Get get) {
    add(
        section, key, summary, "a count >= 1 (an integer) or a share in (0, 1] (with a decimal point)",
        [set](const toml::node& node, const std::string& accepted) -> Status {
          if (const auto count = node.value_exact<std::int64_t>()) {
            if (*count < 1 || *count > std::numeric_limits<std::uint32_t>::max()) return unaccepted(node, accepted);
            set(Amount{static_cast<std::uint32_t>(*count)});
          } else if (const auto share = node.value_exact<double>()) {
            if (!(*share > 0 && *share <= 1)) return unaccepted(node, accepted);
            set(Amount{*share});
          } else {
            return unaccepted(node, accepted);
          }
          return {};
        },
        get);
  }

  template <typename T, typename Set, typename Get>
  void integer_of(const char* section, const char* key, std::uint64_t low, const char* summary, Set set, Get get) {
    add(
        section, key, summary, fmt::format("an integer >= {}", low),
        [set, low](const toml::node& node, const std::string& accepted) -> Status {
          const auto value = node.value_exact<std::int64_t>();
          if (!value || *value < 0 || static_cast<std::uint64_t>(*value) < low ||
              static_cast<std::uint64_t>(*value) > std::numeric_limits<T>::max()) {
            return unaccepted(node, accepted);
          }
          set(static_cast<T>(*value));
          return {};
        },
        get);
  }

  template <typename Set, typename Get>
  void number_of(const char* section, const char* key, Range<double> range, const char* summary, Set set, Get get) {
    std::string accepted = "a number";
    if (!std::isinf(range.low)) accepted += fmt::format(" {} {}", range.open_low ? ">" : ">=", range.low);
    if (!std::isinf(range.high)) accepted += fmt::format(" and {} {}", range.open_high ? "<" : "<=", range.high);
    add(
        section, key, summary, accepted,
        [set, range](const toml::node& node, const std::string& want) -> Status {
          std::optional<double> value = node.value_exact<double>();
          if (!value) {
            if (const auto whole = node.value_exact<std::int64_t>()) value = static_cast<double>(*whole);
          }
          if (!value || !range.holds(*value)) return unaccepted(node, want);
          set(*value);
          return {};
        },
        get);
  }

  template <typename Set, typename Get>
  void add(const char* section, const char* key, const char* summary, std::string accepted, Set set, Get get) {
    keys_.push_back({.info = {section, key, summary, accepted},
                     .set = [set, accepted](const toml::node& node) { return set(node, accepted); },
                     .get = get});
  }

  std::vector<Key>& keys_;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Range<double> kFinite{-kInfinity, kInfinity, true, true};
constexpr Range<double> kPositive{0, kInfinity, true, true};
constexpr Range<double> kNonNegative{0, kInfinity, false, true};
constexpr Range<double> kShare{0, 1};
constexpr Range<double> kBelowOne{0, 1, false, true};

template <typename Entry>
std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return names;
}

}  // namespace

std::vector<Key> recipe_key_table(Recipe& r) {
  std::vector<Key> keys;
  Table t(keys);
  t.text("", "name", r.name, "what the run is called");
  t.text("", "summary", r.summary, "one line on the recipe");
  t.integer("", "rounds", r.rounds, 1, "rounds of training at most");
  t.integer("", "seed", r.seed, 0, "everything random in the run comes from it");
  t.number("", "target-accuracy", r.target_accuracy, {0, 1, true}, "stop when the evaluated accuracy reaches it");
  t.number("", "budget", r.budget, kPositive, "stop when the simulated seconds exceed it");
  t.integer("", "checkpoint-every", r.checkpoint_every, 1, "rounds between checkpoints");

  t.choice("data", "source", r.data.source, names_of(data_sources()), "where samples come from");
  t.text("data", "path", r.data.path, "file or folder of the source");
  t.choice("data", "partition", r.data.partition, names_of(partitions()), "how samples are divided among clients");
  t.integer("data", "seed", r.data_seed, 0, "of the partition; default: the run's seed");
  t.integer("data", "clients", r.data.clients, 1, "number of clients");
  t.number("data", "alpha", r.data.alpha, {0, kInfinity}, "Dirichlet concentration; Synthetic's alpha");
  t.number("data", "beta", r.data.beta, {0, kInfinity}, "Synthetic's beta");
  t.integer("data", "classes-per-client", r.data.classes_per_client, 1, "for classes-per-client and shards");
  t.text("data", "label-groups", r.data.label_groups, "classes of each block of clients, e.g. 0-2,3-6,4+7+9");
  t.integer("data", "rotations", r.data.rotations, 1, "1, 2 or 4 blocks of clients with turned images; default 4");
  t.flag("data", "imbalance", r.data.imbalance,
         "of every 20 clients 3 keep 10 %, 3 keep 30 %, 3 keep 60 % of their samples");
  t.integer("data", "samples-min", r.data.samples_min, 1, "fewest samples of a client, where sizes are drawn");
  t.integer("data", "samples-max", r.data.samples_max, 1, "most samples of a client, where sizes are drawn");
  t.number("data", "test-fraction", r.data.test_fraction, kBelowOne, "of each client's samples, kept for its own test");
  t.flag("data", "merge-test", r.data.merge_test, "the source's test set is divided among the clients too");
  t.integer("data", "edges", r.data.edges, 1, "edge servers that the clients are divided among");
  t.integer("data", "exemplars", r.data.exemplars, 0, "test samples per class given to the server");
  t.flag("data", "augment", r.data.augment, "random crop and flip of training images");
  t.optional_flag("data", "normalize", r.data.normalize, "standardise features on the training part");
  t.text("data", "label", r.data.label, "csv column or npz array of labels");
  t.text("data", "client", r.data.client, "csv column or npz array of client ids");
  t.text("data", "split", r.data.split, "csv column or npz array that tells train (0) from test (1)");
  t.integers("data", "shape", r.data.shape, "height, width, channels of flat rows");
  t.choice("data", "missing", r.data.missing, {"error", "mean"}, "what an empty csv cell is");
  t.text("data", "embedding", r.data.embedding, "GloVe text file for sentences");
  t.integer("data", "words", r.data.words, 1, "tokens of a sentence that are used");

  t.choice("model", "name", r.model.name, names_of(model_catalogue()), "the network");
  t.integers("model", "hidden", r.model.hidden, "widths of hidden dense layers (mlp, cnn)");
  t.integers("model", "channels", r.model.channels, "output channels of the convolutions (cnn)");
  t.integer("model", "kernel", r.model.kernel, 1, "side of the convolutions' kernel (cnn)");
  t.integer("model", "blocks", r.model.blocks, 1, "residual blocks per stage (resnet)");
  t.integers("model", "widths", r.model.widths, "channels of the stages (resnet)");
  t.choice("model", "norm", r.model.norm, {"batch", "group"}, "normalisation (resnet, audio-cnn)");
  t.choice("model", "shortcut", r.model.shortcut, {"padded", "projected"}, "shortcut where the width changes (resnet)");
  t.integer("model", "units", r.model.units, 1, "hidden units (lstm)");
  t.integer("model", "layers", r.model.layers, 1, "recurrent layers (lstm)");
  t.choice("model", "init", r.model.init, {"torch", "glorot", "uniform"}, "how parameters are initialised");

  t.number("local", "epochs", r.local.epochs, kPositive, "passes over the client's samples; may be fractional");
  t.integer("local", "steps", r.local.steps, 1, "mini-batch steps, instead of epochs");
  t.integer("local", "batch-size", r.local.batch_size, 1, "samples per step");
  t.number("local", "learning-rate", r.local.learning_rate, kPositive, "of the client's optimiser");
  t.number("local", "learning-rate-decay", r.local.learning_rate_decay, {0, 1, true}, "factor per round");
  t.number("local", "momentum", r.local.momentum, kBelowOne, "of sgd");
  t.number("local", "weight-decay", r.local.weight_decay, kNonNegative, "added to the gradient as a multiple of w");
  t.choice("local", "optimizer", r.local.optimizer, {"sgd", "adam"}, "the client's optimiser");
  t.number("local", "adapt-epochs", r.local.adapt_epochs, kNonNegative,
           "growth of the epochs of clients whose summed loss lags behind the largest client's");
  t.number("local", "loss-tolerance", r.local.loss_tolerance, kNonNegative,
           "share by which a summed loss lies above the largest client's before it lags (adapt-epochs)");
  t.choice("local", "epoch-rounding", r.local.epoch_rounding, {"round", "ceil", "fractional"},
           "of adapted epochs (adapt-epochs)");
  t.flag("local", "keep-optimizer", r.local.keep_optimizer, "a client's optimiser state outlives the round");
  t.integer("local", "state-limit-mb", r.local.state_limit_mb, 0,
            "megabytes of per-client state kept in memory; more goes to the run's folder");
  t.choice("local", "objective", r.local.objective.name, {"plain", "prox", "control-variate", "dynamic"},
           "what is minimised beside the loss");
  t.number("local", "mu", r.local.objective.mu, kNonNegative, "weight of the proximal term (prox)");
  t.number("local", "alpha", r.local.objective.alpha, kPositive, "strength of the dynamic regulariser (dynamic)");
  t.choice("local", "control", r.local.objective.control, {"steps", "gradient"},
           "how control variates are renewed: option II or I (control-variate)");

  t.amount("profile", "clients", r.profile_clients,
           "clients asked before groups are formed; the others are placed as newcomers");
  t.choice("profile", "kind", r.profile.kind, names_of(profile_kinds()), "what clients tell the server of themselves");
  t.number("profile", "epsilon", r.profile.epsilon, kPositive,
           "privacy of label-histogram: Laplace noise of scale 1/epsilon; default: no noise");
  t.integer("profile", "steps", r.profile.steps, 1, "mini-batch steps; default 50 (update-direction)");
  t.number("profile", "epochs", r.profile.epochs, kPositive,
           "instead of steps; default 10 (classifier-weights, confidence-vector)");
  t.choice("profile", "layers", r.profile.layers, {"last", "last-two", "all"},
           "dense layers from the end; default last (classifier-weights)");
  t.optional_flag("profile", "bias", r.profile.bias, "with the layers' biases; default false (classifier-weights)");
  t.number("profile", "variance", r.profile.variance, {0, 1, true},
           "share of variance that principal components keep; default: no reduction (classifier-weights)");
  t.choice("profile", "form", r.profile.form, {"shares", "softmax"},
           "probabilities as shares of their sum, or through a softmax; default shares (confidence-vector)");

  t.choice("grouping", "method", r.grouping.method, names_of(groupers()), "how clients are grouped");
  GroupingOptions& g = r.grouping;
  t.integer("grouping", "size", g.size, 1, "clients per group (random, mediator)");
  t.integer("grouping", "groups", g.groups, 1, "number of groups; where there are edges, of all together");
  t.integer("grouping", "max-iterations", g.max_iterations, 1, "of balanced k-means; default 10 (inter-cluster)");
  t.choice("grouping", "rows", g.rows, {"all", "exact"},
           "as many groups as clusters have members, or exactly `groups`; default all (inter-cluster)");
  t.choice("grouping", "score", g.score, {"kl", "gini", "cosine", "wasserstein"},
           "how complementary a client is; default kl (greedy-complement)");
  t.integer("grouping", "min-samples", g.min_samples, 1,
            "a group is complete with so many; default 800 (greedy-complement, kmeans-deal)");
  t.integer("grouping", "max-clients", g.max_clients, 1,
            "and takes no more than so many clients; default 11 (greedy-complement, kmeans-deal)");
  t.choice("grouping", "first", g.first, {"random", "uniform"},
           "a group's first client: any, or the best against a uniform mix; default random (greedy-complement)");
  t.integer("grouping", "clusters", g.clusters, 1, "of like clients; default the number of classes (kmeans-deal)");
  t.integer("grouping", "min-size", g.min_size, 1,
            "clients per group at least; default 5 (coefficient-of-variation, kl-greedy, cluster-deal, qcid)");
  t.number("grouping", "max-cov", g.max_cov, kNonNegative,
           "a group is complete below it; default 0.5 (coefficient-of-variation)");
  t.choice("grouping", "tail", g.tail, {"discard", "keep", "merge"},
           "what becomes of groups that stay too small; default discard (coefficient-of-variation)");
  t.number("grouping", "lambda", g.lambda, kNonNegative, "weight of rarely selected clients; default 1 (qcid)");
  t.choice("grouping", "metric", g.metric, {"l1", "l2", "cosine"}, "between vectors; default l2 (agglomerative)");
  t.choice("grouping", "linkage", g.linkage, {"single", "complete", "average", "ward"},
           "between clusters; default ward (agglomerative), single (bipartition, which also takes complete)");
  t.number("grouping", "threshold", g.threshold, {0, kInfinity}, "nearer clusters are merged (agglomerative)");
  t.number("grouping", "min-gap", g.min_gap, kBelowOne,
           "share of the largest distance that a gap must have; default 0.15 (gap-voting)");
  t.optional_flag("grouping", "weighted", g.weighted, "votes count by samples; default true (gap-voting)");
  t.number("grouping", "epsilon-mean", g.epsilon_mean, kNonNegative,
           "split only if the mean update is shorter (bipartition)");
  t.number("grouping", "epsilon-max", g.epsilon_max, kNonNegative,
           "split only if the longest update is longer (bipartition)");

  t.schedule("plan", "groups", r.plan.groups, "how many groups are formed, where it may grow from round to round");
  t.integer("plan", "regroup-every", r.plan.regroup.every, 1, "rounds that groups last; default: for ever");
  t.choice("plan", "regroup-on", r.plan.regroup.on, names_of(regroup_events()), "the event after which groups form");
  t.integer("plan", "regroup-round", r.plan.regroup.round, 1,
            "the event's round, or the first in which it can happen; default 3 (loss-variance), 20 (bipartition)");
  t.amount("plan", "sample-groups", r.plan.sample_groups, "groups per round; whole groups take part");
  t.amount("plan", "sample-clients", r.plan.sample_clients, "clients per round; each takes part in its group");
  t.choice("plan", "sampling", r.plan.sampling, names_of(samplers()), "how participants are drawn");

  t.choice("training", "mode", r.training.mode, {"parallel", "sequential"}, "how the members of a group train");
  t.integer("training", "group-rounds", r.training.group_rounds, 1, "rounds inside a group (parallel)");
  t.integer("training", "passes", r.training.passes, 1, "walks along the chain (sequential)");
  t.flag("training", "shuffle", r.training.shuffle, "a new order for every pass (sequential)");

  t.choice("aggregation", "in-group", r.aggregation.in_group, {"samples-weighted", "uniform"},
           "how members are merged in their group");
  t.choice("aggregation", "global", r.aggregation.global,
           {"samples-weighted", "uniform", "unbiased", "stabilised", "adagrad", "adam", "yogi", "control-variate",
            "dynamic", "slots", "none"},
           "how groups are merged; slots: rarely, meanwhile groups take turns; none: every group keeps its own model");
  t.number("aggregation", "server-learning-rate", r.aggregation.server_learning_rate, kPositive,
           "of adagrad, adam, yogi and control-variate");
  t.number("aggregation", "beta1", r.aggregation.beta1, kBelowOne, "of adagrad, adam, yogi");
  t.number("aggregation", "beta2", r.aggregation.beta2, kBelowOne, "of adam, yogi");
  t.number("aggregation", "tau", r.aggregation.tau, kPositive, "of adagrad, adam, yogi");
  t.number("aggregation", "mixing", r.aggregation.mixing, kNonNegative,
           "how much the groups' models are drawn to each other after a round (none)");
  t.choice("aggregation", "start", r.aggregation.start, {"shared", "members"},
           "where the models of groups that an event formed begin: as before, or at the mean of their members' (none)");
  t.integer("aggregation", "window", r.aggregation.window, 1,
            "rounds between averages of the slots; default: as many as there are groups (slots)");

  t.integer("evaluation", "every", r.evaluation.every, 1, "rounds between evaluations");
  t.choice("evaluation", "on", r.evaluation.on, {"auto", "global", "clients", "both"}, "which test samples are used");
  t.amount("evaluation", "clients", r.evaluation.clients, "clients evaluated on their own test samples");
  t.flag("evaluation", "discrepancy", r.evaluation.discrepancy,
         "records how far the models sent are from the merged one; keeps all of a round's models");

  t.choice("newcomers", "assign", r.newcomers.assign,
           {"nearest-direction", "nearest-head", "argmin-loss", "random", "next-regroup"},
           "where a client in no group goes when it is first drawn; default next-regroup: it waits for new groups");
  t.integer("newcomers", "round", r.newcomers.round, 2, "the round in which late clients arrive");
  t.amount("newcomers", "clients", r.newcomers.clients, "late clients");

  t.number("faults", "drop", r.faults.drop, kShare, "share of sampled clients that vanish");
  t.number("faults", "straggle", r.faults.straggle, kShare, "share of sampled clients that run out of time");
  t.number("faults", "nan", r.faults.nan, kShare, "share of sampled clients that send a broken update");
  t.choice("faults", "stragglers", r.faults.stragglers, {"drop", "partial"},
           "what becomes of stragglers; default: partial for prox, else drop");

  CostOptions& c = r.cost;
  t.choice("cost", "model", c.model, names_of(cost_models()), "how simulated seconds are counted");
  t.number("cost", "device-gflops", c.device_gflops, kPositive, "speed of a client, 10^9 operations/s (link, chain)");
  t.number("cost", "server-in-mbps", c.server_in_mbps, kPositive,
           "bandwidth into the server, 10^6 bit/s (link, chain)");
  t.number("cost", "server-out-mbps", c.server_out_mbps, kPositive,
           "bandwidth out of the server, 10^6 bit/s (link, chain)");
  t.choice("cost", "task", c.task, {"cifar", "speech"},
           "whose measured constants are used where none are given; default cifar (group-operations)");
  t.number("cost", "operation-quadratic", c.operation_quadratic, kFinite,
           "seconds of a member in an operation of a group of s, per s^2; default: measured (group-operations)");
  t.number("cost", "operation-linear", c.operation_linear, kFinite, "the same, per s (group-operations)");
  t.number("cost", "operation-constant", c.operation_constant, kFinite, "the same, whatever s (group-operations)");
  t.number("cost", "training-slope", c.training_slope, kFinite,
           "seconds of an epoch, per sample; default: measured (group-operations)");
  t.number("cost", "training-constant", c.training_constant, kFinite,
           "the same, however few samples (group-operations)");
  t.number("cost", "sample-mflop", c.sample_mflop, kPositive,
           "10^6 operations to train one sample; default: those of the network (chain)");
  t.number("cost", "merge-mflop", c.merge_mflop, kPositive,
           "10^6 operations to add a model to another; default: its size (chain)");
  t.number("cost", "model-mbytes", c.model_mbytes, kPositive,
           "10^6 bytes of a model on its way; default: those of the network (chain)");
  return keys;
}

}  // namespace muster
