// What the files of the built-in methods share, and their functions. Internal to the stage; grouping_method.h says what
// a method may rely on.
#pragma once

#include <cstdint>
#include <string>

#include "base/check.h"
#include "grouping/grouping_method.h"

namespace muster {

// Knows added methods too. The pointer stays valid: methods are never removed.
[[nodiscard]] Result<const GroupingMethod*> find_grouping_method(const std::string& name);

// The refusal of a method that has to be told how many groups to form.
[[nodiscard]] Error groups_not_set(const std::string& method);

// The word. An error naming `key` if it is none of `accepted`.
[[nodiscard]] Result<std::string> chosen_word(const char* key, const std::string& word,
                                              std::initializer_list<const char*> accepted);

// The number, which is set: by the user, or with the method's default. An error naming `key` if it is 0.
template <typename T>
[[nodiscard]] Result<T> chosen_number(const char* key, const std::optional<T>& number) {
  MUSTER_CHECK(number.has_value(), "grouping.{} has no default", key);
  if (*number == T{0}) return usage_error("grouping.{}: 0, want >= 1", key);
  return *number;
}

// The note for when not even one group can have as many clients as `key` wants.
[[nodiscard]] inline std::string too_few_clients(const char* key, std::uint32_t wanted, std::uint32_t clients) {
  return fmt::format("grouping.{}: {}, but only {} clients have samples", key, wanted, clients);
}

// What the user calls the method's client `k`.
[[nodiscard]] inline std::uint32_t client_name(const GroupingCall& call, std::uint32_t k) {
  return call.clients.empty() ? k : call.clients[k];
}

[[nodiscard]] Status check_random(const GroupingOptions&, const KnownAhead&);
[[nodiscard]] Status check_kmeans_deal(const GroupingOptions&, const KnownAhead&);
[[nodiscard]] Status check_agglomerative(const GroupingOptions&, const KnownAhead&);
[[nodiscard]] Status check_nearest_centre(const GroupingOptions&, const KnownAhead&);
[[nodiscard]] Status check_dbscan(const GroupingOptions&, const KnownAhead&);
[[nodiscard]] Status check_merge_means(const GroupingOptions&, const KnownAhead&);
[[nodiscard]] Status check_bipartition(const GroupingOptions&, const KnownAhead&);

[[nodiscard]] Result<Draft> group_random(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_greedy_complement(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_kmeans_deal(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_kl_greedy(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_cluster_deal(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_mediator(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_decomposed_cosine(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_mean_absolute_cosine(const GroupingOptions&, const GroupingInput&,
                                                       const GroupingCall&);
[[nodiscard]] Result<Draft> group_agglomerative(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_dbscan(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_merge_means(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_gap_voting(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_bipartition(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_nearest_centre(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_argmin_loss(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_inter_cluster(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_by_coefficient_of_variation(const GroupingOptions&, const GroupingInput&,
                                                              const GroupingCall&);
[[nodiscard]] Result<Draft> group_by_qcid(const GroupingOptions&, const GroupingInput&, const GroupingCall&);

}  // namespace muster
