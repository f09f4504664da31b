// The list of methods: the built-in ones in the order of the documentation, then those that the program added.
#include "grouping/grouping_method.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <type_traits>

#include "base/catalogue_version.h"
#include "base/names.h"
#include "grouping/group_defaults.h"
#include "grouping/groupers.h"

namespace muster {
namespace {

std::deque<GroupingMethod> built_in_methods() {
  using enum GroupingNeed;
  return {
      {.entry = {.name = "singletons", .summary = "every client is its own group", .keys = {}, .alone = true},
       .group = {}},
      {.entry = {.name = "random",
                 .summary = "drawn at random: groups of `size`, or up to `min-samples` or `max-clients`",
                 .keys = {"size", "min-samples", "max-clients"}},
       .group = group_random,
       .check = check_random,
       .defaults = {.min_samples = kDefaultMinSamples, .max_clients = kDefaultMaxClients}},
      {.entry = {.name = "inter-cluster",
                 .summary = "one client from each cluster of like clients in every group",
                 .keys = {"groups", "max-iterations", "rows"},
                 .need = kLabels,
                 .needs_groups = true},
       .group = group_inter_cluster,
       .defaults = {.max_iterations = 10, .rows = "all"}},
      {.entry = {.name = "greedy-complement",
                 .summary = "each group takes whoever complements its members best, up to `min-samples` or "
                            "`max-clients`",
                 .keys = {"score", "min-samples", "max-clients", "first"},
                 .need = kLabelsOrVectors},
       .group = group_greedy_complement,
       .defaults =
           {.score = "kl", .min_samples = kDefaultMinSamples, .max_clients = kDefaultMaxClients, .first = "random"}},
      {.entry = {.name = "kmeans-deal",
                 .summary = "each group draws from clusters of like clients in turn, up to `min-samples` or "
                            "`max-clients`",
                 .keys = {"min-samples", "max-clients", "clusters"},
                 .need = kLabelsOrVectors},
       .group = group_kmeans_deal,
       .check = check_kmeans_deal,
       .defaults = {.min_samples = kDefaultMinSamples, .max_clients = kDefaultMaxClients}},
      {.entry = {.name = "coefficient-of-variation",
                 .summary = "each group takes the client that evens out its labels most",
                 .keys = {"min-size", "max-cov", "tail"},
                 .need = kLabels},
       .group = group_by_coefficient_of_variation,
       .defaults = {.min_size = kDefaultMinSize, .max_cov = 0.5, .tail = "discard"}},
      {.entry = {.name = "kl-greedy",
                 .summary = "all groups grow together, by the client and group that lower the divergence from uniform "
                            "most",
                 .keys = {"min-size"},
                 .need = kLabels},
       .group = group_kl_greedy,
       .defaults = {.min_size = kDefaultMinSize}},
      {.entry = {.name = "cluster-deal",
                 .summary = "clusters of like clients are dealt out to groups of at least `min-size`",
                 .keys = {"min-size"},
                 .need = kLabels},
       .group = group_cluster_deal,
       .defaults = {.min_size = kDefaultMinSize}},
      {.entry = {.name = "qcid",
                 .summary = "clients are drawn at random, the likelier the more they even out the group's labels",
                 .keys = {"min-size", "lambda"},
                 .need = kLabels},
       .group = group_by_qcid,
       .defaults = {.min_size = kDefaultMinSize, .lambda = 1}},
      {.entry = {.name = "mediator",
                 .summary = "groups of `size`; each takes whoever brings its labels nearest to uniform",
                 .keys = {"size"},
                 .need = kLabels},
       .group = group_mediator,
       .defaults = {.size = 5}},
      {.entry = {.name = "decomposed-cosine",
                 .summary = "updates are described by their cosines with the leading singular directions and clustered "
                            "by k-means",
                 .keys = {"groups"},
                 .need = kVectors,
                 .needs_groups = true},
       .group = group_decomposed_cosine},
      {.entry = {.name = "mean-absolute-cosine",
                 .summary = "updates are described by their cosines with all others and clustered by complete linkage",
                 .keys = {"groups"},
                 .need = kVectors,
                 .needs_groups = true},
       .group = group_mean_absolute_cosine},
      {.entry = {.name = "agglomerative",
                 .summary = "the nearest clusters are merged until `groups` are left or none are within `threshold`",
                 .keys = {"metric", "linkage", "threshold", "groups"},
                 .need = kVectors},
       .group = group_agglomerative,
       .check = check_agglomerative,
       .defaults = {.metric = "l2", .linkage = "ward"}},
      {.entry = {.name = "dbscan",
                 .summary = "clients connected through dense places, with `min-size` neighbours within `threshold`",
                 .keys = {"metric", "threshold", "min-size", "tail"},
                 .need = kVectors},
       .group = group_dbscan,
       .check = check_dbscan,
       .defaults = {.min_size = kDefaultMinSize, .tail = "keep", .metric = "l2"}},
      {.entry = {.name = "merge-means",
                 .summary = "clusters whose mean vectors are most alike are merged, up to `max-clients`",
                 .keys = {"threshold", "max-clients", "tail"},
                 .need = kVectors},
       .group = group_merge_means,
       .check = check_merge_means,
       .defaults = {.max_clients = kDefaultMergedClients, .tail = "discard", .threshold = kDefaultMergedDistance}},
      {.entry = {.name = "gap-voting",
                 .summary = "finds the number of groups itself, from the largest gap in each client's distances",
                 .keys = {"min-gap", "weighted"},
                 .need = kVectors,
                 .takes_broken_vectors = true},
       .group = group_gap_voting,
       .defaults = {.min_gap = 0.15, .weighted = true}},
      {.entry = {.name = "bipartition",
                 .summary = "splits the clients in two if their updates disagree",
                 .keys = {"epsilon-mean", "epsilon-max", "linkage"},
                 .need = kVectors},
       .group = group_bipartition,
       .check = check_bipartition,
       .defaults = {.linkage = "single", .epsilon_mean = 0.4, .epsilon_max = 1.6}},
      {.entry = {.name = "nearest-centre",
                 .summary = "each client joins the nearest centre; centres are given or found by k-means",
                 .keys = {"groups"},
                 .need = kVectors,
                 .joined_by = "nearest-model"},
       .group = group_nearest_centre,
       .check = check_nearest_centre},
      {.entry = {.name = "argmin-loss",
                 .summary = "each client joins the model that has the smallest loss on its data",
                 .keys = {"groups"},
                 .need = kVectors,
                 .takes_broken_vectors = true,
                 .by_losses = true,
                 .joined_by = "argmin-loss"},
       .group = group_argmin_loss},
  };
}

// Grows at the end only, so that pointers to methods stay valid.
struct Methods {
  std::mutex mutex;
  std::deque<GroupingMethod> list = built_in_methods();
};
Methods& methods() {
  static Methods all;
  return all;
}

struct Key {
  const char* name;  // as the user types it
  bool is_set;
};

std::vector<Key> keys_of(const GroupingOptions& o) {
  return {{"size", o.size.has_value()},
          {"groups", o.groups.has_value()},
          {"max-iterations", o.max_iterations.has_value()},
          {"rows", !o.rows.empty()},
          {"score", !o.score.empty()},
          {"min-samples", o.min_samples.has_value()},
          {"max-clients", o.max_clients.has_value()},
          {"first", !o.first.empty()},
          {"clusters", o.clusters.has_value()},
          {"min-size", o.min_size.has_value()},
          {"max-cov", o.max_cov.has_value()},
          {"tail", !o.tail.empty()},
          {"lambda", o.lambda.has_value()},
          {"metric", !o.metric.empty()},
          {"linkage", !o.linkage.empty()},
          {"threshold", o.threshold.has_value()},
          {"min-gap", o.min_gap.has_value()},
          {"weighted", o.weighted.has_value()},
          {"epsilon-mean", o.epsilon_mean.has_value()},
          {"epsilon-max", o.epsilon_max.has_value()}};
}

Status check_entry(const GroupingMethod& method) {
  const GrouperEntry& entry = method.entry;
  if (entry.name.empty()) return usage_error("a grouping method without a name cannot be added");
  if (!method.group) return usage_error("grouping method '{}' has no function that groups", entry.name);
  std::vector<std::string> known;
  for (const Key& key : keys_of({})) known.emplace_back(key.name);
  for (const std::string& key : entry.keys) {
    if (std::ranges::find(known, key) != known.end()) continue;
    return usage_error("grouping method '{}': no such key '{}', want some of {}", entry.name, key,
                       fmt::join(known, ", "));
  }
  return {};
}

}  // namespace

Status add_grouping_method(GroupingMethod method) {
  MUSTER_TRY(check_entry(method));
  Methods& all = methods();
  const std::lock_guard lock(all.mutex);
  for (const GroupingMethod& other : all.list) {
    if (other.entry.name == method.entry.name) {
      return usage_error("there is a grouping method '{}' already", method.entry.name);
    }
  }
  all.list.push_back(std::move(method));
  note_added_choice();
  return {};
}

GroupingOptions with_defaults(GroupingOptions options, std::uint32_t classes) {
  const auto method = find_grouping_method(options.method);
  if (!method) return options;
  const GroupingOptions& own = (*method)->defaults;
  const auto fill = [](auto& value, const auto& otherwise) {
    if (value == std::remove_reference_t<decltype(value)>{}) value = otherwise;
  };
  // Groups of a given size have no quota.
  if (!options.size) fill(options.min_samples, own.min_samples);
  if (!options.size) fill(options.max_clients, own.max_clients);
  fill(options.size, own.size);
  fill(options.groups, own.groups);
  fill(options.max_iterations, own.max_iterations);
  fill(options.rows, own.rows);
  fill(options.score, own.score);
  fill(options.first, own.first);
  fill(options.clusters, own.clusters);
  fill(options.min_size, own.min_size);
  fill(options.max_cov, own.max_cov);
  fill(options.tail, own.tail);
  fill(options.lambda, own.lambda);
  fill(options.metric, own.metric);
  fill(options.linkage, own.linkage);
  fill(options.threshold, own.threshold);
  fill(options.min_gap, own.min_gap);
  fill(options.weighted, own.weighted);
  fill(options.epsilon_mean, own.epsilon_mean);
  fill(options.epsilon_max, own.epsilon_max);
  const std::vector<std::string>& keys = (*method)->entry.keys;
  const bool clusters = std::ranges::find(keys, "clusters") != keys.end();
  if (clusters && !options.clusters && classes > 0) options.clusters = classes;
  return options;
}

Result<const GroupingMethod*> find_grouping_method(const std::string& name) {
  Methods& all = methods();
  const std::lock_guard lock(all.mutex);
  std::vector<std::string> names;
  for (const GroupingMethod& method : all.list) {
    if (method.entry.name == name) return &method;
    names.push_back(method.entry.name);
  }
  return Error{ErrorCode::kUsage, unknown_name("grouping method", name, names)};
}

std::vector<GrouperEntry> groupers() {
  Methods& all = methods();
  const std::lock_guard lock(all.mutex);
  std::vector<GrouperEntry> entries;
  for (const GroupingMethod& method : all.list) entries.push_back(method.entry);
  return entries;
}

Error groups_not_set(const std::string& method) {
  return usage_error("grouping.groups: not set, but {} has to be told how many groups to form", method);
}

Status check_grouping(const GroupingOptions& options, const KnownAhead& ahead) {
  MUSTER_ASSIGN(const GroupingMethod* const method, find_grouping_method(options.method));
  const std::vector<std::string>& own = method->entry.keys;
  for (const Key& key : keys_of(options)) {
    if (!key.is_set || std::ranges::find(own, key.name) != own.end()) continue;
    if (own.empty()) return usage_error("grouping.{}: not a key of {}, which has none", key.name, options.method);
    return usage_error("grouping.{}: not a key of {}, whose keys are {}", key.name, options.method,
                       fmt::join(own, ", "));
  }
  if (method->entry.needs_groups && !options.groups && !ahead.groups_in_call) {
    return groups_not_set(options.method);
  }
  return method->check ? method->check(options, ahead) : Status();
}

}  // namespace muster
