#include "grouping/updates.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "grouping/gram.h"

namespace muster {
namespace {

std::string counted(std::size_t count, const char* things) {
  return fmt::format("{} {}{}", count, things, count == 1 ? "" : "s");
}

void find_leaders(Directed& directed) {
  const auto count = static_cast<std::uint32_t>(directed.clients.size());
  std::vector<double> squares;
  for (std::uint32_t i = 0; i < count; ++i) squares.push_back(directed.gram.row(i)[i]);
  std::vector<std::uint32_t> leaders;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::span<const double> products = directed.gram.row(i);
    std::uint32_t leader = i;
    for (const std::uint32_t j : leaders) {
      if (products[j] < (1 - kSameDirection) * std::sqrt(squares[i] * squares[j])) continue;
      leader = j;
      break;
    }
    if (leader == i) leaders.push_back(i);
    directed.leader.push_back(leader);
  }
  directed.directions = static_cast<std::uint32_t>(leaders.size());
}

}  // namespace

Directed directed_updates(const RowsView<float>& updates) {
  Directed directed;
  directed.gram = gram(updates);
  const std::uint32_t count = updates.count();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (directed.gram.row(i)[i] > 0) directed.clients.push_back(i);
  }
  if (directed.clients.size() < count) {
    const auto kept = static_cast<std::uint32_t>(directed.clients.size());
    Rows<double> smaller(kept, kept);
    for (std::uint32_t i = 0; i < kept; ++i) {
      const std::span<const double> row = directed.gram.row(directed.clients[i]);
      for (std::uint32_t j = 0; j < kept; ++j) smaller.row(i)[j] = row[directed.clients[j]];
    }
    directed.gram = std::move(smaller);
  }
  find_leaders(directed);
  return directed;
}

Rows<double> cosine_distances(Rows<double> gram) {
  const std::uint32_t count = gram.count();
  std::vector<std::uint32_t> zeros;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (gram.row(i)[i] == 0) zeros.push_back(i);
  }
  normalize_gram(gram);
  for (double& value : gram.values) value = 1 - value;
  for (const std::uint32_t i : zeros) {
    for (const std::uint32_t j : zeros) gram.row(i)[j] = 0;
  }
  return gram;
}

Rows<double> distances_by(const std::string& metric, const RowsView<float>& vectors) {
  if (metric == "l1") return l1_distances(vectors);
  if (metric == "l2") return l2_distances(vectors);
  return cosine_distances(gram(vectors));
}

std::vector<std::uint32_t> first_equal_rows(const RowsView<float>& rows) {
  std::vector<std::uint32_t> order(rows.count());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&](std::uint32_t i, std::uint32_t j) {
    return std::ranges::lexicographical_compare(rows.row(i), rows.row(j));
  });
  std::vector<std::uint32_t> first(rows.count());
  for (std::size_t at = 0; at < order.size(); ++at) {
    const bool equal = at > 0 && std::ranges::equal(rows.row(order[at]), rows.row(order[at - 1]));
    first[order[at]] = equal ? first[order[at - 1]] : order[at];
  }
  return first;
}

std::string too_few_distinct(std::uint32_t wanted, std::uint32_t distinct, const char* things, std::size_t formed) {
  return fmt::format("grouping.groups: {}, but the clients have only {}; {} formed", wanted,
                     counted(distinct, fmt::format("distinct {}", things).c_str()), counted(formed, "group"));
}

Draft with_zero_updates(std::vector<std::vector<std::uint32_t>> groups, const Directed& directed, std::uint32_t clients,
                        std::uint32_t wanted) {
  Draft draft{.groups = std::move(groups), .notes = {}};
  if (directed.clients.empty()) {
    std::vector<std::uint32_t>& all = draft.groups.emplace_back(clients);
    std::iota(all.begin(), all.end(), 0u);
    draft.notes.emplace_back("all updates are zero and have no direction; all clients are in one group");
    return draft;
  }
  if (draft.groups.size() < wanted) {
    draft.notes.push_back(directed.directions < wanted
                              ? too_few_distinct(wanted, directed.directions, "update direction", draft.groups.size())
                              : fmt::format("grouping.groups: {}, but {} formed: some of the {} distinct update "
                                            "directions have the same cosines with the {} leading ones",
                                            wanted, counted(draft.groups.size(), "group"), directed.directions,
                                            wanted));
  }
  for (auto& group : draft.groups) {
    for (std::uint32_t& member : group) member = directed.clients[member];
    std::ranges::sort(group);
  }
  if (directed.clients.size() == clients) return draft;
  std::ranges::sort(draft.groups);
  auto& largest = *std::ranges::max_element(draft.groups, {}, [](const auto& group) { return group.size(); });
  for (std::uint32_t k = 0; k < clients; ++k) {
    if (!std::ranges::binary_search(directed.clients, k)) largest.push_back(k);
  }
  const std::size_t zeros = clients - directed.clients.size();
  draft.notes.push_back(
      zeros == 1
          ? std::string("1 client has a zero update, which has no direction; it is in the largest group")
          : fmt::format("{} clients have zero updates, which have no direction; they are in the largest group", zeros));
  return draft;
}

std::vector<std::vector<std::uint32_t>> sets_of(const std::vector<std::uint32_t>& set_of_item, std::uint32_t count) {
  std::vector<std::vector<std::uint32_t>> sets(count);
  for (std::uint32_t item = 0; item < set_of_item.size(); ++item) sets[set_of_item[item]].push_back(item);
  std::erase_if(sets, [](const auto& set) { return set.empty(); });
  return sets;
}

}  // namespace muster
