// The methods behind form_groups(), one file each. Internal to the stage.
//
// A method sees one edge's clients, all of which have samples, numbered from 0. Rows of `input` that are not empty have
// been checked to fit, and what the catalogue says the method needs is there; vectors are finite unless the catalogue
// says that the method takes others. It returns its groups, in any order and with members in any order; clients that
// are in none become idle. Where there are too few clients for a single group, a note says so and there is no group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "grouping/grouping.h"

namespace muster {

struct Draft {
  std::vector<std::vector<std::uint32_t>> groups;  // none empty, no client twice
  std::vector<std::string> notes;
};

// A method's randomness: its own for every edge and round. `part` tells apart what must not share draws.
[[nodiscard]] inline Stream grouping_stream(const GroupingCall& call, std::uint32_t part = 0) {
  return Stream({.seed = call.seed, .purpose = Purpose::kGrouping, .round = call.round, .id = call.edge, .part = part});
}

// The number of groups wanted of this edge; an error if it was not said. Never more than there are clients.
[[nodiscard]] Result<std::uint32_t> wanted_groups(const GroupingOptions& options, const GroupingCall& call);

// The word, or `fallback` if it is "". An error naming `key` if it is none of `accepted`.
[[nodiscard]] Result<std::string> chosen_word(const char* key, const std::string& word, const char* fallback,
                                              std::initializer_list<const char*> accepted);

// The number, or `fallback` if it is not set. An error naming `key` if it is 0.
template <typename T>
[[nodiscard]] Result<T> chosen_number(const char* key, const std::optional<T>& number, T fallback) {
  if (number == T{0}) return usage_error("grouping.{}: 0, want >= 1", key);
  return number.value_or(fallback);
}

// The note for when not even one group can have as many clients as `key` wants.
[[nodiscard]] inline std::string too_few_clients(const char* key, std::uint32_t wanted, std::uint32_t clients) {
  return fmt::format("grouping.{}: {}, but there are {} clients with samples", key, wanted, clients);
}

// What the user calls the method's client `k`.
[[nodiscard]] inline std::uint32_t client_name(const GroupingCall& call, std::uint32_t k) {
  return call.clients.empty() ? k : call.clients[k];
}

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
[[nodiscard]] Result<Draft> group_gap_voting(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_bipartition(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_nearest_centre(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_argmin_loss(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_inter_cluster(const GroupingOptions&, const GroupingInput&, const GroupingCall&);
[[nodiscard]] Result<Draft> group_by_coefficient_of_variation(const GroupingOptions&, const GroupingInput&,
                                                              const GroupingCall&);
[[nodiscard]] Result<Draft> group_by_qcid(const GroupingOptions&, const GroupingInput&, const GroupingCall&);

}  // namespace muster
