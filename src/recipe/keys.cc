#include "recipe/keys.h"

#include <algorithm>
#include <limits>
#include <map>

#include "grouping/group_defaults.h"
#include "recipe/choices.h"
#include "recipe/from_catalogues.h"
#include "recipe/key_conditions.h"
#include "recipe/key_rows.h"
#include "recipe/key_values.h"
#include "recipe/layer_values.h"
#include "solver/learning_rate.h"

namespace muster {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr NumberRange kFinite{-kInfinity, kInfinity, true, true};
constexpr NumberRange kPositive{0, kInfinity, true, true};
constexpr NumberRange kNonNegative{0, kInfinity, false, true};
constexpr NumberRange kShare{0, 1};
constexpr NumberRange kBelowOne{0, 1, false, true};

// Above what any machine can do, and far enough below what the types hold that no product of a few overflows.
constexpr std::uint64_t kMostRounds = 1'000'000'000;
constexpr std::uint64_t kMostClients = 1'000'000'000;
constexpr std::uint64_t kMostSteps = 1'000'000'000;
constexpr double kMostEpochs = 1'000'000;
constexpr NumberRange kEpochs{0, kMostEpochs, true};
constexpr std::uint64_t kMostSamples = 1'000'000'000;
constexpr std::uint32_t kMostWidth = 65536;
constexpr std::uint32_t kMostLayers = 64;

void add_top_level(std::vector<Key>& keys) {
  Section<Recipe> top(keys, "", [](Recipe& r) -> Recipe& { return r; });
  top.add("name", &Recipe::name, some_text(), "what the run is called");
  top.add("summary", &Recipe::summary, any_text(), "one line on the recipe").otherwise("none");
  top.add("rounds", &Recipe::rounds, integer(1, kMostRounds), "rounds of training at most");
  top.add("seed", &Recipe::seed, integer_from(0), "everything random in the run comes from it");
  top.add("target-accuracy", &Recipe::target_accuracy, number({0, 1, true}),
          "stop when the evaluated accuracy reaches it")
      .otherwise("do not stop early");
  top.add("budget", &Recipe::budget, number(kPositive), "stop when the simulated time exceeds it")
      .unit("simulated seconds")
      .otherwise("no limit");
  top.add("checkpoint-every", &Recipe::checkpoint_every, integer(1, kMostRounds), "rounds between checkpoints")
      .unit("rounds");
}

void add_data(std::vector<Key>& keys) {
  Section<Recipe> run(keys, "data", [](Recipe& r) -> Recipe& { return r; });
  Section<DataOptions> data(keys, "data", [](Recipe& r) -> DataOptions& { return r.data; });
  using D = DataOptions;
  data.add("source", &D::source, one_of(names_of(data_sources())), "where samples come from");
  data.add("path", &D::path, any_text(), "file or folder of the source, beside the recipe or in the working folder")
      .otherwise("looked for in the usual places")
      .only(data_key("path"));
  data.add("partition", &D::partition, one_of(names_of(partitions())), "how samples are divided among clients")
      .otherwise("natural where the source has clients, else iid")
      .only(data_key("partition"));
  run.add("seed", &Recipe::data_seed, integer_from(0), "seed of the partition and of generated samples")
      .otherwise("the run's seed");
  data.add("clients", &D::clients, integer(1, kMostClients), "number of clients")
      .otherwise("the source's, or what the partition is used with")
      .only(data_key("clients"));
  data.add("alpha", &D::alpha, number({0, kInfinity}), "Dirichlet concentration; Synthetic's alpha")
      .otherwise("0.5; of synthetic 1")
      .only(data_key("alpha"));
  data.add("beta", &D::beta, number({0, kInfinity}), "Synthetic's beta").otherwise("1").only(data_key("beta"));
  data.add("classes-per-client", &D::classes_per_client, integer(1, kMostWidth), "classes or shards of a client")
      .only(data_key("classes-per-client"));
  data.add("label-groups", &D::label_groups, any_text(), "classes of each block of clients, e.g. 0-2,3-6,4+7+9")
      .otherwise("AutoCFL's four")
      .only(data_key("label-groups"));
  data.add("rotations", &D::rotations, integer(1, 4), "1, 2 or 4 blocks of clients with turned images")
      .otherwise("4")
      .only(data_key("rotations"));
  data.add("imbalance", &D::imbalance, true_or_false(),
           "of every 20 clients 3 keep 10 %, 3 keep 30 %, 3 keep 60 % of their samples")
      .only(data_key("imbalance"));
  data.add("samples-min", &D::samples_min, integer(1, kMostSamples),
           "fewest samples of a client, where sizes are drawn")
      .unit("samples")
      .otherwise("equal sizes, or the partition's own")
      .only(data_key("samples-min"));
  data.add("samples-max", &D::samples_max, integer(1, kMostSamples), "most samples of a client, where sizes are drawn")
      .unit("samples")
      .otherwise("equal sizes, or the partition's own")
      .only(data_key("samples-max"));
  data.add("test-fraction", &D::test_fraction, number(kBelowOne), "of each client's samples, kept for its own test")
      .otherwise("0 where the source has a test set, else 0.1")
      .only(data_key("test-fraction"));
  data.add("validation-fraction", &D::validation_fraction, number(kBelowOne),
           "of each client's training samples, kept to judge models while they are trained")
      .only(data_key("validation-fraction"));
  data.add("merge-test", &D::merge_test, true_or_false(), "the source's test set is divided among the clients too")
      .only(data_key("merge-test"));
  data.add("edges", &D::edges, integer(1, 1'000'000), "edge servers that the clients are divided among")
      .only(data_key("edges"));
  data.add("exemplars", &D::exemplars, integer(0, 1'000'000), "test samples per class given to the server")
      .unit("samples per class")
      .only(data_key("exemplars"))
      .only(with(kProfileKind, [] {
        std::vector<std::string> kinds;
        for (const ProfileEntry& entry : profile_kinds()) {
          if (entry.gives == ProfileGives::kProbabilities) kinds.push_back(entry.name);
        }
        return kinds;
      }()));
  data.add("augment", &D::augment, true_or_false(), "random crop and flip of training images")
      .only(data_key("augment"));
  data.add("augment-minority", &D::augment_minority, number({0, 1}),
           "how far rare classes are filled up with changed copies of their training images: 1 = to the mean of all "
           "classes")
      .only(data_key("augment-minority"));
  data.add("normalize", &D::normalize, true_or_false(), "standardise features on the training part")
      .otherwise("true for csv and cifar, else false")
      .only(data_key("normalize"));
  data.add("label", &D::label, some_text(), "csv column or npz array of labels").only(data_key("label"));
  data.add("client", &D::client, some_text(), "csv column or npz array of client ids").only(data_key("client"));
  data.add("split", &D::split, some_text(), "csv column or npz array that tells train, 0, from test, 1")
      .only(data_key("split"));
  const auto unless_text = [] {
    return unless(
        "data.text", [](const Recipe& r) { return !r.data.text.empty(); },
        [](const Recipe& r) { return fmt::format("data.text = \"{}\"", r.data.text); });
  };
  data.add("shape", &D::shape, integers(3, 1'000'000), "height, width, channels of flat rows")
      .otherwise("one row of features")
      .only(data_key("shape"))
      .only(unless_text());
  data.add("missing", &D::missing, one_of({"error", "mean", "drop"}),
           "what a csv cell that is empty, NA, N/A, NaN, null or ? is: an error, filled, or its row left out")
      .only(data_key("missing"));
  data.add("delimiter", &D::delimiter, one_of({",", ";", "tab", "|"}), "what separates the cells of a csv file")
      .otherwise("found in the file")
      .only(data_key("delimiter"));
  data.add("decimal", &D::decimal, one_of({"point", "comma"}), "decimal mark of the numbers of a csv file")
      .otherwise("found in the file")
      .only(data_key("decimal"));
  data.add("features", &D::features, texts(), "csv columns that are used as features")
      .otherwise("all but label, client and split")
      .only(data_key("features"))
      .only(unless_text());
  data.add("drop", &D::drop, texts(), "csv columns that are not used")
      .otherwise("none")
      .only(data_key("drop"))
      .only(unless_text());
  data.add("categorical", &D::categorical, texts(),
           "csv columns of which each value is a feature, also if they are numbers")
      .otherwise("text columns of up to 50 values")
      .only(data_key("categorical"))
      .only(unless_text());
  data.add("text", &D::text, any_text(), "csv column of texts, which are cut into data.tokens; the only feature then")
      .otherwise("none")
      .only(data_key("text"));
  const auto has_texts = [] {
    return needs("data.text of a csv", [](const Recipe& r) { return r.data.source != "csv" || !r.data.text.empty(); });
  };
  data.add("tokens", &D::tokens, one_of({"characters", "words"}),
           "what texts are cut into, for a network that embeds them")
      .otherwise("words, each a vector of data.embedding; of shakespeare characters")
      .only(data_key("tokens"))
      .only(has_texts());
  const auto cuts_texts = [] {
    return needs("data.tokens",
                 [](const Recipe& r) { return !r.data.tokens.empty() || r.data.source == "shakespeare"; });
  };
  data.add("vocabulary", &D::vocabulary, any_text(), "file of the tokens that are known, one per line")
      .otherwise("made of the training texts")
      .only(data_key("vocabulary"))
      .only(cuts_texts());
  data.add("vocabulary-size", &D::vocabulary_size, integer(1, 1 << 20),
           "most frequent tokens of the training texts that are known")
      .unit("tokens")
      .only(data_key("vocabulary-size"))
      .only(cuts_texts())
      .only(unless(
          "data.vocabulary", [](const Recipe& r) { return !r.data.vocabulary.empty(); },
          [](const Recipe& r) { return fmt::format("data.vocabulary = \"{}\"", r.data.vocabulary); }));
  data.add("embedding", &D::embedding, any_text(), "GloVe text file for sentences")
      .otherwise("a glove* file beside the sentences")
      .only(data_key("embedding"))
      .only(unless(
          "data.tokens", [](const Recipe& r) { return !r.data.tokens.empty(); },
          [](const Recipe& r) { return fmt::format("data.tokens = \"{}\"", r.data.tokens); }));
  data.add("words", &D::words, integer(1, 10'000), "tokens of a text that are used")
      .unit("tokens")
      .otherwise("25; of characters 80")
      .only(data_key("words"))
      .only(has_texts());
}

void add_model(std::vector<Key>& keys) {
  Section<ModelOptions> model(keys, "model", [](Recipe& r) -> ModelOptions& { return r.model; });
  using M = ModelOptions;
  model.add("name", &M::name, one_of(names_of(model_catalogue())), "the network");
  model.add("hidden", &M::hidden, integers(kMostLayers, kMostWidth), "widths of hidden dense layers")
      .unit("units")
      .otherwise("[128] for mlp, none for cnn")
      .only(model_key("hidden"));
  model.add("channels", &M::channels, integers(kMostLayers, kMostWidth), "output channels of the convolutions")
      .otherwise("[6, 16]")
      .only(model_key("channels"));
  model.add("kernel", &M::kernel, integer(1, 64), "side of the convolutions' kernel")
      .unit("pixels")
      .only(model_key("kernel"));
  model.add("blocks", &M::blocks, integer(1, 100), "residual blocks per stage")
      .otherwise("3")
      .only(model_key("blocks"));
  model.add("widths", &M::widths, integers(kMostLayers, kMostWidth), "channels of the stages")
      .otherwise("[16, 32, 64]")
      .only(model_key("widths"));
  model.add("norm", &M::norm, one_of({"batch", "group"}), "normalisation").otherwise("batch").only(model_key("norm"));
  model.add("shortcut", &M::shortcut, one_of({"padded", "projected"}), "shortcut where the width changes")
      .otherwise("padded")
      .only(model_key("shortcut"));
  model.add("units", &M::units, integer(1, 4096), "hidden units").unit("units").only(model_key("units"));
  model.add("layers", &M::layers, layer_choice(), "how many recurrent layers, or the layers of a network of one's own")
      .otherwise("2 for lstm; of layers a list must be given")
      .only(model_key("layers"));
  model
      .add("path", &M::path, any_text(),
           "safetensors file of the first model, beside the recipe or in the working folder")
      .otherwise("must be given")
      .only(model_key("path"));
  model.add("init", &M::init, one_of({"torch", "glorot", "uniform"}), "how parameters are initialised")
      .only(unless(
          "model.name = \"external\"", [](const Recipe& r) { return is_external(r.model); },
          [](const Recipe& r) { return fmt::format("model.name = \"{}\"", r.model.name); }));
}

// How a recipe says that models stay in their clients.
std::string own_models(const Recipe& r) {
  return fmt::format("aggregation.global = \"{}\" and grouping.method = \"{}\"", r.aggregation.global,
                     r.grouping.method);
}

void add_local(std::vector<Key>& keys) {
  Section<LocalOptions> local(keys, "local", [](Recipe& r) -> LocalOptions& { return r.local; });
  Section<ObjectiveOptions> term(keys, "local", [](Recipe& r) -> ObjectiveOptions& { return r.local.objective; });
  using L = LocalOptions;
  const auto in_epochs = [] {
    return unless(
        "local.steps", [](const Recipe& r) { return r.local.steps.has_value(); },
        [](const Recipe& r) { return fmt::format("local.steps = {}", *r.local.steps); });
  };
  const auto adapted = [] {
    return needs("local.adapt-epochs", [](const Recipe& r) { return r.local.adapt_epochs.has_value(); });
  };
  local.add("epochs", &L::epochs, number(kEpochs), "passes over the client's samples; may be fractional")
      .unit("epochs")
      .only(in_epochs());
  local.add("steps", &L::steps, integer(1, kMostSteps), "mini-batch steps, instead of epochs")
      .unit("steps")
      .otherwise("by epochs")
      .instead_of("local.epochs");
  local.add("batch-size", &L::batch_size, integer(1, 1'048'576), "samples per step").unit("samples");
  local.add("learning-rate", &L::learning_rate, number(kPositive), "learning rate of the client's optimizer");
  local.add("schedule", &L::schedule, one_of(names_of(schedules())),
            "how the learning rate changes from round to round");
  local
      .add("learning-rate-decay", &L::learning_rate_decay, number({0, 1, true}),
           "factor on the learning rate per round")
      .only(schedule_key("learning-rate-decay"));
  local.add("schedule-rounds", &L::schedule_rounds, integer(1, kMostRounds), "rounds of a step, or of the whole cosine")
      .unit("rounds")
      .otherwise("50; of a cosine all rounds")
      .only(schedule_key("schedule-rounds"));
  local.add("schedule-factor", &L::schedule_factor, number({0, 1, true}), "factor on the learning rate of a step")
      .only(schedule_key("schedule-factor"));
  local.add("momentum", &L::momentum, number(kBelowOne), "momentum of the client's optimizer")
      .only(with(kOptimizer,
                 [] {
                   std::vector<std::string> names;
                   for (const OptimizerEntry& entry : optimizers()) {
                     if (!entry.adaptive) names.push_back(entry.name);
                   }
                   return names;
                 }()))
      .only(needs("local.keep-optimizer where local.steps = 1", keeps_momentum));
  local.add("weight-decay", &L::weight_decay, number(kNonNegative), "added to the gradient as a multiple of w");
  local.add("optimizer", &L::optimizer, one_of(names_of(optimizers())), "the client's optimizer");
  local
      .add("adapt-epochs", &L::adapt_epochs, number(kNonNegative),
           "growth of the epochs of clients whose summed loss lags behind the largest client's")
      .otherwise("all train alike")
      .only(in_epochs());
  local
      .add("loss-tolerance", &L::loss_tolerance, number(kNonNegative),
           "share by which a summed loss lies above the largest client's before it lags")
      .only(adapted());
  local
      .add("epoch-rounding", &L::epoch_rounding, one_of({"round", "ceil", "fractional"}),
           "what becomes of fractions in adapted epochs")
      .only(adapted());
  local.add("keep-optimizer", &L::keep_optimizer, true_or_false(), "a client's optimizer state outlives the round")
      .only(needs("local.momentum > 0 or an adaptive local.optimizer", optimizer_has_state));
  local
      .add("state-limit-mb", &L::state_limit_mb, integer(0, 1'000'000'000),
           "per-client state kept in memory; more goes to the run's folder")
      .unit("megabytes")
      .only(needs("clients that keep state (an objective's, an optimizer's or a model)", clients_have_state));
  const auto sends_models = [] {
    return unless("models that stay in their clients", keeps_models_in_clients, own_models);
  };
  local.add("personal", &L::personal, texts(), "parts of the model that stay with the client: head, norm, a layer, ...")
      .otherwise("none")
      .only(sends_models())
      .only(unless(
          "local.own-model", [](const Recipe& r) { return r.local.own_model.has_value(); },
          [](const Recipe& r) { return fmt::format("local.own-model = {:g}", *r.local.own_model); }));
  local
      .add("personal-epochs", &L::personal_epochs, number(kEpochs),
           "the personal part is trained alone first, so long; then the rest, without it")
      .unit("epochs")
      .otherwise("both are trained at once")
      .only(needs("local.personal", [](const Recipe& r) { return !r.local.personal.empty(); }))
      .only(unless(
          "local.keep-optimizer", [](const Recipe& r) { return r.local.keep_optimizer; },
          [](const Recipe&) { return std::string("local.keep-optimizer = true"); }));
  local
      .add("own-model", &L::own_model, number(kNonNegative),
           "every client trains a model of its own besides, drawn to the received one by this weight")
      .otherwise("none")
      .only(sends_models());
  local.add("freeze", &L::freeze, texts(), "parts of the model that are not trained: body, head, a layer, ...")
      .otherwise("none");
  local.add("freeze-from", &L::freeze_from, integer(1, kMostRounds), "the first round in which they are not")
      .unit("round")
      .only(needs("local.freeze", [](const Recipe& r) { return !r.local.freeze.empty(); }));
  term.add("objective", &ObjectiveOptions::name, one_of(names_of(objectives())), "what is minimised beside the loss");
  term.add("mu", &ObjectiveOptions::mu, number(kNonNegative), "weight of the proximal term").only(objective_key("mu"));
  term.add("alpha", &ObjectiveOptions::alpha, number(kPositive), "strength of the dynamic regulariser")
      .only(objective_key("alpha"));
  term.add("control", &ObjectiveOptions::control, one_of({"steps", "gradient"}),
           "how control variates are renewed: option II or I")
      .only(objective_key("control"));
  term.add("lambda", &ObjectiveOptions::lambda, number(kNonNegative),
           "weight of the discrepancy between the client's outputs and the received model's")
      .only(objective_key("lambda"));
  term.add("fusion", &ObjectiveOptions::fusion, one_of({"conv", "multi", "single"}),
           "how features are joined: by a 1 x 1 convolution, or by a share per channel or for all")
      .only(objective_key("fusion"));
  term.add("share-smoothing", &ObjectiveOptions::share_smoothing, number(kBelowOne),
           "how much of the shares the server keeps in a round")
      .only(objective_key("share-smoothing"))
      .only(needs("local.fusion = \"multi\" or \"single\"",
                  [](const Recipe& r) { return r.local.objective.fusion != "conv"; }))
      .only(needs("an aggregation.global that merges all groups into one model", merges_into_one));
}

void add_profile(std::vector<Key>& keys) {
  Section<Recipe> run(keys, "profile", [](Recipe& r) -> Recipe& { return r; });
  Section<ProfileOptions> profile(keys, "profile", [](Recipe& r) -> ProfileOptions& { return r.profile; });
  using P = ProfileOptions;
  profile.add("kind", &P::kind, one_of(names_of(profile_kinds())), "what clients tell the server of themselves")
      .only(Condition{
          .holds =
              [](const Recipe& r) {
                return told_by(r) == ProfileGives::kNothing || needed_by_grouper(r) != GroupingNeed::kNothing ||
                       samples_by_cov(r.plan.sampling);
              },
          .found = [](const Recipe& r) { return fmt::format("with grouping.method = \"{}\"", r.grouping.method); },
          .verb = "needs",
          .wants = "a grouping.method or plan.sampling that looks at profiles"});
  run.add("clients", &Recipe::profile_clients, count_or_share(),
          "clients asked before groups are formed; the others are placed as newcomers")
      .only(
          Condition{.holds = [](const Recipe& r) { return told_by(r) != ProfileGives::kNothing; },
                    .found = [](const Recipe& r) { return fmt::format("with profile.kind = \"{}\"", r.profile.kind); },
                    .verb = "needs",
                    .wants = "a profile.kind that clients tell"})
      .only(unless(
          "plan.regroup-on", [](const Recipe& r) { return !r.plan.regroup.on.empty(); },
          [](const Recipe& r) { return fmt::format("plan.regroup-on = \"{}\"", r.plan.regroup.on); }))
      .only(unless("first models that are drawn at random", seeds_models,
                   [](const Recipe& r) { return fmt::format("grouping.method = \"{}\"", r.grouping.method); }));
  profile.add("epsilon", &P::epsilon, number(kPositive), "privacy of the counts: Laplace noise of scale 1/epsilon")
      .otherwise("no noise")
      .only(profile_key("epsilon"));
  profile.add("steps", &P::steps, integer(1, kMostSteps), "mini-batch steps that a client trains for its profile")
      .unit("steps")
      .otherwise("50 for update-direction, else by epochs")
      .only(profile_key("steps"))
      .only(trains_for_profile());
  profile.add("epochs", &P::epochs, number(kEpochs), "instead of steps")
      .unit("epochs")
      .otherwise("10; for update-direction by steps")
      .instead_of("profile.steps")
      .only(profile_key("epochs"))
      .only(trains_for_profile());
  profile.add("layers", &P::layers, one_of({"last", "last-two", "all"}), "dense layers from the end")
      .otherwise("last")
      .only(profile_key("layers"));
  profile.add("bias", &P::bias, true_or_false(), "with the layers' biases")
      .otherwise("false")
      .only(profile_key("bias"));
  profile.add("variance", &P::variance, number({0, 1, true}), "share of variance that principal components keep")
      .otherwise("no reduction")
      .only(profile_key("variance"));
  profile
      .add("form", &P::form, one_of({"shares", "softmax"}),
           "probabilities as shares of their sum, or through a softmax")
      .otherwise("shares")
      .only(profile_key("form"));
}

void add_grouping(std::vector<Key>& keys) {
  Section<GroupingOptions> grouping(keys, "grouping", [](Recipe& r) -> GroupingOptions& { return r.grouping; });
  using G = GroupingOptions;
  grouping.add("method", &G::method, one_of(names_of(groupers())), "how clients are grouped");
  grouping.add("size", &G::size, integer(1, kMostClients), "clients per group")
      .unit("clients")
      .otherwise("5 for mediator; for random by min-samples and max-clients")
      .only(grouping_key("size"));
  grouping
      .add("groups", &G::groups, integer(1, kMostClients), "number of groups; where there are edges, of all together")
      .otherwise("plan.groups")
      .only(grouping_key("groups"));
  grouping.add("max-iterations", &G::max_iterations, integer(1, 1'000'000), "iterations of balanced k-means at most")
      .otherwise("10")
      .only(grouping_key("max-iterations"));
  grouping
      .add("rows", &G::rows, one_of({"all", "exact"}), "as many groups as clusters have members, or exactly `groups`")
      .otherwise("all")
      .only(grouping_key("rows"));
  grouping.add("score", &G::score, one_of(names_of(complement_scores())), "how complementary a client is")
      .otherwise("kl")
      .only(grouping_key("score"));
  grouping.add("min-samples", &G::min_samples, integer(1, kMostSamples), "a group is complete with so many samples")
      .unit("samples")
      .otherwise(fmt::to_string(kDefaultMinSamples).c_str())
      .only(grouping_key("min-samples"));
  grouping.add("max-clients", &G::max_clients, integer(1, kMostClients), "a group takes no more than so many clients")
      .unit("clients")
      .otherwise(fmt::to_string(kDefaultMaxClients).c_str())
      .only(grouping_key("max-clients"));
  grouping
      .add("first", &G::first, one_of({"random", "uniform"}),
           "a group's first client: any, or the best against a uniform mix")
      .otherwise("random")
      .only(grouping_key("first"));
  grouping.add("clusters", &G::clusters, integer(1, 1'000'000), "clusters of like clients; at most the clients")
      .otherwise("the number of classes")
      .only(grouping_key("clusters"));
  grouping.add("min-size", &G::min_size, integer(1, kMostClients), "clients per group at least")
      .unit("clients")
      .otherwise(fmt::to_string(kDefaultMinSize).c_str())
      .only(grouping_key("min-size"));
  grouping.add("max-cov", &G::max_cov, number(kNonNegative), "a group is complete below this coefficient of variation")
      .otherwise("0.5")
      .only(grouping_key("max-cov"));
  grouping.add("tail", &G::tail, one_of({"discard", "keep", "merge"}), "what becomes of groups that stay too small")
      .otherwise("keep for dbscan, else discard")
      .only(grouping_key("tail"));
  grouping.add("lambda", &G::lambda, number(kNonNegative), "weight of rarely selected clients")
      .otherwise("1")
      .only(grouping_key("lambda"))
      .only(needs("groups that are formed again (plan.regroup-every)", groups_again));
  grouping.add("metric", &G::metric, one_of({"l1", "l2", "cosine"}), "distance between vectors")
      .otherwise("l2")
      .only(grouping_key("metric"));
  grouping.add("linkage", &G::linkage, one_of({"single", "complete", "average", "ward"}), "distance between clusters")
      .otherwise("ward for agglomerative, single for bipartition")
      .only(grouping_key("linkage"));
  grouping
      .add("threshold", &G::threshold, number({0, kInfinity}),
           "clusters nearer than this are merged, or clients within it are neighbours")
      .otherwise("until there are `groups`; for dbscan and merge-means the method's own")
      .only(grouping_key("threshold"));
  grouping.add("min-gap", &G::min_gap, number(kBelowOne), "share of the largest distance that a gap must have")
      .otherwise("0.15")
      .only(grouping_key("min-gap"));
  grouping.add("weighted", &G::weighted, true_or_false(), "votes count by samples")
      .otherwise("true")
      .only(grouping_key("weighted"));
  grouping.add("epsilon-mean", &G::epsilon_mean, number(kNonNegative), "split only if the mean update is shorter")
      .otherwise("0.4; 0.1 with plan.calibrate-round")
      .only(grouping_key("epsilon-mean"));
  grouping.add("epsilon-max", &G::epsilon_max, number(kNonNegative), "split only if the longest update is longer")
      .otherwise("1.6; 0.6 with plan.calibrate-round")
      .only(grouping_key("epsilon-max"));
}

void add_plan(std::vector<Key>& keys) {
  Section<PlanOptions> plan(keys, "plan", [](Recipe& r) -> PlanOptions& { return r.plan; });
  Section<RegroupOptions> regroup(keys, "plan", [](Recipe& r) -> RegroupOptions& { return r.plan.regroup; });
  using P = PlanOptions;
  plan.add("groups", &P::groups, group_schedule(), "how many groups are formed, where it may grow from round to round")
      .otherwise("grouping.groups, or what the method finds")
      .instead_of("grouping.groups")
      .only(grouping_key("groups"));
  regroup.add("regroup-every", &RegroupOptions::every, integer(1, kMostRounds), "rounds that groups last")
      .unit("rounds")
      .otherwise("for ever")
      .only(with_groups());
  regroup
      .add("regroup-on", &RegroupOptions::on, one_of(names_of(regroup_events())), "the event after which groups form")
      .otherwise("before the first round")
      .instead_of("plan.regroup-every")
      .only(with_groups());
  regroup
      .add("regroup-round", &RegroupOptions::round, integer(1, kMostRounds),
           "the event's round, or the first in which it can happen")
      .unit("round")
      .otherwise("3 for loss-variance, 20 for bipartition")
      .only(event_key("regroup-round"));
  regroup
      .add("calibrate-round", &RegroupOptions::calibrate, integer(1, kMostRounds),
           "grouping.epsilon-mean and -max are multiples of the mean length of an update in this round")
      .unit("round")
      .otherwise("they are lengths")
      .only(event_key("calibrate-round"));
  plan.add("sample-groups", &P::sample_groups, count_or_share(), "groups per round; whole groups take part")
      .otherwise("clients are drawn")
      .instead_of("plan.sample-clients")
      .only(Condition{
          .holds = [](const Recipe& r) { return sampler_has_key(r, "sample-groups"); },
          .found = [](const Recipe& r) { return fmt::format("with plan.sampling = \"{}\"", r.plan.sampling); },
          .verb = "needs",
          .wants = "a plan.sampling that draws"});
  plan.add("sample-clients", &P::sample_clients, count_or_share(), "clients per round; each takes part in its group")
      .only(Condition{.holds =
                          [](const Recipe& r) {
                            return r.plan.sample_clients == Amount{1.0} ||
                                   (sampler_has_key(r, "sample-clients") && !r.plan.sample_groups);
                          },
                      .found =
                          [](const Recipe& r) {
                            return r.plan.sample_groups ? "with plan.sample-groups: either groups or clients are drawn"
                                                        : fmt::format("with plan.sampling = \"{}\"", r.plan.sampling);
                          },
                      .verb = "needs",
                      .wants = "a plan.sampling that draws clients, and no plan.sample-groups"});
  plan.add("sampling", &P::sampling, one_of(names_of(samplers())), "how participants are drawn");
}

void add_training(std::vector<Key>& keys) {
  Section<TrainingOptions> training(keys, "training", [](Recipe& r) -> TrainingOptions& { return r.training; });
  using T = TrainingOptions;
  training.add("mode", &T::mode, one_of(names_of(training_modes())), "how the members of a group train");
  training.add("group-rounds", &T::group_rounds, integer(1, 1'000'000), "rounds inside a group")
      .unit("rounds")
      .only(with(kTrainingMode, {"parallel"}));
  training.add("passes", &T::passes, integer(1, 1'000'000), "walks along the chain")
      .only(with(kTrainingMode, {"sequential"}));
  training.add("shuffle", &T::shuffle, true_or_false(), "a new order for every pass")
      .only(with(kTrainingMode, {"sequential"}))
      .only(with_groups());
  training
      .add("relay", &T::relay, one_of({"plain", std::string(kSealedRelay)}),
           "how models travel from member to member: as they are, or sealed, so that whoever hosts the chain cannot "
           "read them")
      .only(with(kTrainingMode, {"sequential"}))
      .only(with_groups());
}

void add_aggregation(std::vector<Key>& keys) {
  Section<AggregationOptions> aggregation(keys, "aggregation",
                                          [](Recipe& r) -> AggregationOptions& { return r.aggregation; });
  using A = AggregationOptions;
  aggregation
      .add("in-group", &A::in_group, one_of(names_of(in_group_choices())), "how members are merged in their group")
      .only(with(kTrainingMode, {"parallel"}))
      .only(with_groups());
  aggregation.add("global", &A::global, one_of(names_of(aggregations())), "how groups are merged");
  aggregation.add("server-learning-rate", &A::server_learning_rate, number(kPositive), "learning rate of the server")
      .only(aggregation_key("server-learning-rate"));
  aggregation.add("beta1", &A::beta1, number(kBelowOne), "decay of the server's mean of updates")
      .only(aggregation_key("beta1"));
  aggregation.add("beta2", &A::beta2, number(kBelowOne), "decay of the server's mean of squares")
      .only(aggregation_key("beta2"));
  aggregation.add("tau", &A::tau, number(kPositive), "added to the root of the squares").only(aggregation_key("tau"));
  aggregation.add("norm", &A::norm, one_of({"l1", "l2"}), "how a model's distance from the mean is measured")
      .only(aggregation_key("norm"));
  aggregation
      .add("mixing", &A::mixing, number(kNonNegative),
           "how much the groups' models are drawn to each other after a round")
      .only(aggregation_key("mixing"))
      .only(with_groups());
  aggregation.add("shared", &A::shared, texts(), "parts of the model that are one for all groups: body, a layer, ...")
      .otherwise("none")
      .only(aggregation_key("shared"))
      .only(with_groups());
  aggregation
      .add("mixing-normalize", &A::mixing_normalize, true_or_false(),
           "mixed models are divided by the sum of their weights; false: the formula as printed, under which they grow")
      .only(aggregation_key("mixing-normalize"))
      .only(needs("aggregation.mixing > 0", [](const Recipe& r) { return r.aggregation.mixing > 0; }));
  aggregation
      .add("start", &A::start, one_of({"shared", "members"}),
           "where the models of groups that an event formed begin: as before, or at the mean of their members'")
      .only(aggregation_key("start"))
      .only(with(kEvent, [] {
        std::vector<std::string> names;
        for (const CatalogueEntry& entry : regroup_events()) {
          Recipe probe;
          probe.plan.regroup.on = entry.name;
          if (!event_splits(probe)) names.push_back(entry.name);
        }
        return names;
      }()));
  aggregation.add("window", &A::window, integer(1, kMostRounds), "rounds between averages of the slots")
      .unit("rounds")
      .otherwise("as many as there are groups")
      .only(aggregation_key("window"));
  aggregation
      .add("trim", &A::trim, number({0, 0.5, true, true}),
           "share of the models whose values are taken away at either end of each parameter")
      .only(aggregation_key("trim"));
  aggregation.add("attackers", &A::attackers, count_or_share(), "models that may be wrong on purpose, at most")
      .only(aggregation_key("attackers"));
  aggregation.add("clip", &A::clip, number(kPositive), "longest change that counts in full")
      .otherwise("the median length of the changes")
      .only(aggregation_key("clip"));
  aggregation
      .add("noise", &A::noise, number(kNonNegative),
           "deviation of the noise on the merged model, as a share of the median length of the changes")
      .only(aggregation_key("noise"));
}

void add_secure(std::vector<Key>& keys) {
  Section<SecureOptions> secure(keys, "secure", [](Recipe& r) -> SecureOptions& { return r.training.secure; });
  using S = SecureOptions;
  const auto by_secure_sum = [] { return needs("aggregation.in-group = \"secure-sum\"", sums_securely); };
  secure
      .add("threshold", &S::threshold, number({0.5, 1, true}),
           "share of those who hold a member's secrets without whom nothing is opened; a group that has fewer left is "
           "abandoned")
      .only(by_secure_sum());
  secure
      .add("neighbours", &S::neighbours, integer(0, 65534),
           "members who hold a member's secrets, an even number; 0: all others of its group")
      .only(by_secure_sum());
  secure.add("bits", &S::bits, integer(32, 64), "of the words that are summed: 32 or 64")
      .otherwise("32 where that leaves 16 bits of fraction, else 64")
      .only(by_secure_sum());
  secure
      .add("most-samples", &S::most_samples, integer(1, kMostSamples),
           "of one client, for which words have room; one that has more is left out")
      .unit("samples")
      .otherwise("the largest client's, rounded up to a power of 2")
      .only(by_secure_sum());
  secure
      .add("samples", &S::samples, one_of({std::string(kHiddenSamples), std::string(kToldSamples)}),
           "whether how many samples a client has is counted in the sum alone, or told")
      .otherwise("hidden where nothing else of the recipe tells it, and data are not files; else told")
      .only(by_secure_sum());
}

bool has_validation(const Recipe& r) {
  return r.data.validation_fraction > 0;
}

void add_evaluation(std::vector<Key>& keys) {
  Section<EvaluationOptions> evaluation(keys, "evaluation",
                                        [](Recipe& r) -> EvaluationOptions& { return r.evaluation; });
  Section<LocalOptions> tuned(keys, "evaluation", [](Recipe& r) -> LocalOptions& { return r.local; });
  using E = EvaluationOptions;
  evaluation.add("every", &E::every, integer(1, kMostRounds), "rounds between evaluations").unit("rounds");
  evaluation.add("on", &E::on, one_of(names_of(evaluation_targets())), "which test samples are used");
  evaluation.add("clients", &E::clients, count_or_share(), "clients evaluated on their own test samples")
      .only(with(kEvaluatedOn, [] {
        std::vector<std::string> names;
        for (const EvaluationEntry& entry : evaluation_targets()) {
          if (entry.clients || !entry.global) names.push_back(entry.name);
        }
        return names;
      }()));
  evaluation
      .add("discrepancy", &E::discrepancy, true_or_false(),
           "records how far the models sent are from the merged one; keeps all of a round's models")
      .only(unless("models that stay in their clients", keeps_models_in_clients, own_models));
  evaluation
      .add("distances", &E::distances, true_or_false(),
           "records how far apart the clients' vectors are whenever groups are formed; of at most 200 clients")
      .only(needs("groups that are formed by vectors of the clients", groups_by_vectors));
  evaluation
      .add("metrics", &E::metrics, some_of(names_of(evaluation_metrics())),
           "what every evaluated round is recorded with besides accuracy and loss")
      .otherwise("none; the summary has them all");
  evaluation
      .add("keep", &E::keep, one_of({"last", "best"}),
           "which models the run leaves: the last, or those of the best validation accuracy")
      .only(needs("data.validation-fraction > 0", has_validation))
      .only(unless("models that stay in their clients", keeps_models_in_clients, own_models))
      .only(unless("parts of models that stay in their clients", keeps_parts_in_clients, [](const Recipe& r) {
        return std::string(r.local.own_model ? "local.own-model" : "local.personal");
      }));
  tuned
      .add("fine-tune", &LocalOptions::fine_tune, number(kEpochs),
           "before a client is scored it trains the model on its own samples, so long; nothing of it is kept")
      .unit("epochs")
      .otherwise("models are scored as they are");
}

void add_stop(std::vector<Key>& keys) {
  Section<StopOptions> stop(keys, "stop", [](Recipe& r) -> StopOptions& { return r.stop; });
  using S = StopOptions;
  stop.add("patience", &S::patience, integer(1, kMostRounds),
           "stop after so many evaluations in a row without a better validation accuracy")
      .unit("evaluations")
      .otherwise("do not stop early")
      .only(needs("data.validation-fraction > 0", has_validation));
  stop.add("min-delta", &S::min_delta, number(kBelowOne), "how much higher a better validation accuracy is")
      .only(needs("stop.patience", [](const Recipe& r) { return r.stop.patience.has_value(); }));
}

void add_newcomers(std::vector<Key>& keys) {
  Section<NewcomerOptions> newcomers(keys, "newcomers", [](Recipe& r) -> NewcomerOptions& { return r.newcomers; });
  using N = NewcomerOptions;
  newcomers
      .add("assign", &N::assign, one_of(names_of(newcomer_rules())),
           "where a client in no group goes when it is first drawn")
      .otherwise(
          "the method's own where a run draws the first models; argmin-loss where an event forms the groups; else "
          "next-regroup")
      .only(Condition{
          .holds =
              [](const Recipe& r) { return !newcomer_entry(r).places || (forms_groups(r) && may_need_placing(r)); },
          .found =
              [](const Recipe& r) {
                return forms_groups(r) ? std::string("where every client is in a group from the start")
                                       : fmt::format("with grouping.method = \"{}\"", r.grouping.method);
              },
          .verb = "needs",
          .wants = "groups, and clients outside of them (newcomers.round, profile.clients)"});
  newcomers
      .add("at-once", &N::at_once, true_or_false(),
           "clients in no group are placed as soon as they are there, not when they are first drawn")
      .only(Condition{.holds =
                          [](const Recipe& r) {
                            return !r.newcomers.at_once ||
                                   (forms_groups(r) && newcomer_entry(r).places && may_need_placing(r) && !rejoins(r) &&
                                    !r.plan.sample_groups && r.plan.sample_clients != Amount{1.0});
                          },
                      .found =
                          [](const Recipe& r) {
                            if (r.plan.sample_groups)
                              return std::string("with plan.sample-groups, where they are anyway");
                            if (r.plan.sample_clients == Amount{1.0})
                              return std::string("with plan.sample-clients = 1.0, where everybody is drawn");
                            return fmt::format("with newcomers.assign = \"{}\"", newcomer_rule_of(r));
                          },
                      .verb = "needs",
                      .wants = "a newcomers.assign that places clients, once, and plan.sample-clients < 1.0"});
  newcomers
      .add("rejoin", &N::rejoin, true_or_false(),
           "every client that takes part first chooses its group anew, by the same rule")
      .only(Condition{.holds =
                          [](const Recipe& r) {
                            return !r.newcomers.rejoin || (forms_groups(r) && places_by_models(r) && !seeds_models(r));
                          },
                      .found =
                          [](const Recipe& r) {
                            return seeds_models(r)
                                       ? fmt::format("with grouping.method = \"{}\", whose clients do so anyway",
                                                     r.grouping.method)
                                       : fmt::format("with newcomers.assign = \"{}\"", newcomer_rule_of(r));
                          },
                      .verb = "needs",
                      .wants = "groups, and a newcomers.assign that looks at models"});
  newcomers.add("round", &N::round, integer(2, kMostRounds), "the round in which late clients arrive")
      .unit("round")
      .otherwise("nobody is late");
  newcomers.add("clients", &N::clients, count_or_share(), "late clients")
      .only(needs("newcomers.round", [](const Recipe& r) { return r.newcomers.round.has_value(); }));
}

void add_faults(std::vector<Key>& keys) {
  Section<FaultOptions> faults(keys, "faults", [](Recipe& r) -> FaultOptions& { return r.faults; });
  using F = FaultOptions;
  faults.add("drop", &F::drop, number(kShare), "share of sampled clients that vanish");
  faults.add("straggle", &F::straggle, number(kShare), "share of sampled clients that run out of time");
  faults.add("nan", &F::nan, number(kShare), "share of sampled clients that send a broken update");
  faults.add("stragglers", &F::stragglers, one_of({"drop", "partial"}), "what becomes of stragglers")
      .otherwise("partial with local.objective = \"prox\", else drop")
      .only(needs("faults.straggle > 0", [](const Recipe& r) { return r.faults.straggle > 0; }));
}

void add_attack(std::vector<Key>& keys) {
  Section<AttackOptions> attack(keys, "attack", [](Recipe& r) -> AttackOptions& { return r.attack; });
  using A = AttackOptions;
  attack.add("kind", &A::kind, one_of(names_of(attacks())), "simulated: what malicious clients do");
  attack.add("clients", &A::clients, clients_or_share(), "who is malicious").only(attack_key("clients"));
  attack.add("poison", &A::poison, number({0, 1, true}), "share of a malicious client's samples with the trigger")
      .only(attack_key("poison"));
  attack.add("source", &A::source, integer(0, 1'000'000), "the class whose samples get another label")
      .only(attack_key("source"));
  attack.add("target", &A::target, integer(0, 1'000'000), "the class that samples shall be taken for")
      .only(attack_key("target"));
  attack.add("trigger", &A::trigger, integer(1, 1000), "side of the bright square in the lower right corner")
      .unit("pixels")
      .only(attack_key("trigger"));
  attack.add("scale", &A::scale, number(kPositive), "factor on the change that is sent")
      .otherwise("1 for sign-flip, 10 for replacement")
      .only(attack_key("scale"));
  attack.add("noise", &A::noise, number(kPositive), "deviation of what is sent instead of a change")
      .only(attack_key("noise"));
}

void add_privacy(std::vector<Key>& keys) {
  Section<PrivacyOptions> dp(keys, "dp", [](Recipe& r) -> PrivacyOptions& { return r.dp; });
  using P = PrivacyOptions;
  const auto is_private = [] { return needs("dp.clip", [](const Recipe& r) { return r.dp.on(); }); };
  dp.add("clip", &P::clip, number(kPositive), "client-level privacy: longest change of a client")
      .otherwise("no privacy");
  dp.add("noise-multiplier", &P::noise_multiplier, number(kPositive),
         "deviation of the noise on the sum of changes, as a multiple of dp.clip")
      .only(is_private());
  dp.add("epsilon", &P::epsilon, number(kPositive), "stop before the privacy spent exceeds it")
      .otherwise("no limit")
      .only(is_private());
  dp.add("delta", &P::delta, number({0, 1, true, true}), "at which epsilon is told").only(is_private());
}

void add_deployment(std::vector<Key>& keys) {
  Section<DeploymentOptions> deployment(keys, "deployment",
                                        [](Recipe& r) -> DeploymentOptions& { return r.deployment; });
  using D = DeploymentOptions;
  deployment
      .add("round-deadline-s", &D::round_deadline_s, number({0, 1'000'000, true}),
           "deployed: how long a round waits for its clients; also the first one for them to come")
      .unit("s");
  deployment.add("quorum", &D::quorum, number(kShare),
                 "deployed: share of a group's members, and of a round's groups, without which it does not count");
  deployment.add("wait-clients", &D::wait_clients, count_or_share(),
                 "deployed: clients that must be there before the first round");
  deployment.add("over-select", &D::over_select, number({1, 10}),
                 "deployed: participants asked for each that is needed; a round goes on with those who answer first");
}

void add_cost(std::vector<Key>& keys) {
  Section<CostOptions> cost(keys, "cost", [](Recipe& r) -> CostOptions& { return r.cost; });
  using C = CostOptions;
  cost.add("model", &C::model, one_of(names_of(cost_models())), "how simulated seconds are counted");
  cost.add("device-gflops", &C::device_gflops, number(kPositive), "speed of a client")
      .unit("10^9 operations/s")
      .only(cost_key("device-gflops"));
  cost.add("server-in-mbps", &C::server_in_mbps, number(kPositive), "bandwidth into the server")
      .unit("10^6 bit/s")
      .only(cost_key("server-in-mbps"));
  cost.add("server-out-mbps", &C::server_out_mbps, number(kPositive), "bandwidth out of the server")
      .unit("10^6 bit/s")
      .only(cost_key("server-out-mbps"));
  const auto without_file = [] {
    return unless(
        "cost.file", [](const Recipe& r) { return !r.cost.file.empty(); },
        [](const Recipe& r) { return fmt::format("cost.file = \"{}\"", r.cost.file); });
  };
  cost.add(
          "file", &C::file, any_text(),
          "costs that `muster bench secure --out` measured, in place of the constants of operations; beside the recipe "
          "or in the working folder")
      .otherwise("none")
      .only(cost_key("file"));
  cost.add("task", &C::task, one_of({"cifar", "speech"}), "whose measured constants are used where none are given")
      .otherwise("cifar")
      .only(cost_key("task"))
      .only(without_file());
  cost.add("operation-quadratic", &C::operation_quadratic, number(kFinite),
           "time of a member in an operation of a group of s, per s^2")
      .unit("s")
      .otherwise("measured")
      .only(cost_key("operation-quadratic"))
      .only(without_file());
  cost.add("operation-linear", &C::operation_linear, number(kFinite), "the same, per s")
      .unit("s")
      .otherwise("measured")
      .only(cost_key("operation-linear"))
      .only(without_file());
  cost.add("operation-constant", &C::operation_constant, number(kFinite), "the same, whatever s")
      .unit("s")
      .otherwise("measured")
      .only(cost_key("operation-constant"))
      .only(without_file());
  cost.add("training-slope", &C::training_slope, number(kFinite), "time of an epoch, per sample")
      .unit("s")
      .otherwise("measured")
      .only(cost_key("training-slope"));
  cost.add("training-constant", &C::training_constant, number(kFinite), "time of an epoch, however few samples")
      .unit("s")
      .otherwise("measured")
      .only(cost_key("training-constant"));
  cost.add("sample-mflop", &C::sample_mflop, number(kPositive), "work to train one sample")
      .unit("10^6 operations")
      .otherwise("the network's")
      .only(cost_key("sample-mflop"));
  cost.add("merge-mflop", &C::merge_mflop, number(kPositive), "work to add a model to another")
      .unit("10^6 operations")
      .otherwise("the network's size")
      .only(cost_key("merge-mflop"));
  cost.add("model-mbytes", &C::model_mbytes, number(kPositive), "size of a model that is sent")
      .unit("10^6 bytes")
      .otherwise("the network's")
      .only(cost_key("model-mbytes"));
}

std::vector<Key> declare_keys() {
  std::vector<Key> keys;
  add_top_level(keys);
  add_data(keys);
  add_model(keys);
  add_local(keys);
  add_profile(keys);
  add_grouping(keys);
  add_plan(keys);
  add_training(keys);
  add_aggregation(keys);
  add_secure(keys);
  add_evaluation(keys);
  add_stop(keys);
  add_newcomers(keys);
  add_faults(keys);
  add_attack(keys);
  add_privacy(keys);
  add_cost(keys);
  add_deployment(keys);
  const Recipe fresh;
  for (Key& key : keys) {
    if (key.info.otherwise.empty()) key.info.otherwise = key.get(fresh);
    for (const Condition& condition : key.conditions) {
      key.info.applies += (key.info.applies.empty() ? "" : "; ") + condition.wants;
    }
  }
  return keys;
}

struct KeyTable {
  std::vector<Key> keys;
  std::map<std::string, std::size_t, std::less<>> by_name;
};

const KeyTable& key_table() {
  static FromCatalogues<KeyTable> table([] {
    KeyTable made{.keys = declare_keys(), .by_name = {}};
    for (std::size_t i = 0; i < made.keys.size(); ++i) made.by_name[full_name(made.keys[i].info)] = i;
    return made;
  });
  return table.get();
}

}  // namespace

const std::vector<Key>& recipe_key_table() {
  return key_table().keys;
}

std::string full_name(const RecipeKey& key) {
  return key.section.empty() ? key.key : key.section + "." + key.key;
}

const Key* find_key(std::string_view name) {
  const KeyTable& table = key_table();
  const auto found = table.by_name.find(name);
  return found == table.by_name.end() ? nullptr : &table.keys[found->second];
}

const Condition* failing_condition(const Key& key, const Recipe& recipe) {
  for (const Condition& condition : key.conditions) {
    if (!condition.holds(recipe)) return &condition;
  }
  return nullptr;
}

std::string why_no_effect(const Condition& condition, const Recipe& recipe) {
  const std::string found = condition.found(recipe);
  if (*condition.verb == '\0') return fmt::format("has no effect {}", found);  // it says already what is missing
  return fmt::format("has no effect {}; it {} {}", found, condition.verb, condition.wants);
}

}  // namespace muster
