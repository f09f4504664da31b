#include "grouping/updates.h"

#include <algorithm>

#include "grouping/gram.h"

namespace muster {

Directed directed_updates(const RowsView<float>& updates) {
  Directed directed{.clients = {}, .gram = gram(updates)};
  const std::uint32_t count = updates.count();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (directed.gram.row(i)[i] > 0) directed.clients.push_back(i);
  }
  if (directed.clients.size() == count) return directed;
  const auto kept = static_cast<std::uint32_t>(directed.clients.size());
  Rows<double> smaller(kept, kept);
  for (std::uint32_t i = 0; i < kept; ++i) {
    const std::span<const double> row = directed.gram.row(directed.clients[i]);
    for (std::uint32_t j = 0; j < kept; ++j) smaller.row(i)[j] = row[directed.clients[j]];
  }
  directed.gram = std::move(smaller);
  return directed;
}

Draft with_zero_updates(std::vector<std::vector<std::uint32_t>> groups, const Directed& directed, std::uint32_t clients,
                        std::uint32_t wanted) {
  Draft draft{.groups = std::move(groups), .notes = {}};
  if (draft.groups.empty()) draft.groups.emplace_back();
  if (draft.groups.size() < wanted) {
    draft.notes.push_back(fmt::format("grouping.groups: {}, but the updates have only {} distinct direction{}", wanted,
                                      draft.groups.size(), draft.groups.size() == 1 ? "" : "s"));
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
