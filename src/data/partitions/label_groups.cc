// label-groups: AutoCFL. Equal blocks of clients; the clients of a block hold equally many samples of each class of
// their block, and all clients hold equally many samples. Default for 10 classes: {0-2}, {3-6}, {4-9}, {0-9}.
#include <algorithm>
#include <charconv>
#include <limits>

#include "data/partitions/laws.h"

namespace muster {
namespace {

using LabelSet = std::vector<std::uint32_t>;

// "0-2,3-6,4+7+9": groups apart by commas, classes and ranges of a group apart by plus signs.
Result<std::vector<LabelSet>> parse_groups(std::string_view text, std::uint32_t classes) {
  const auto bad = [&](std::string_view part) {
    return usage_error("data.label-groups: '{}' in '{}', want groups of classes below {} like 0-2,3-6,4+7+9", part,
                       text, classes);
  };
  const auto next_part = [](std::string_view& rest, char separator) {
    const std::string_view part = rest.substr(0, rest.find(separator));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    return part;
  };
  const auto number = [&](std::string_view digits) {
    std::uint32_t value = classes;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() ? value : classes;
  };
  std::vector<LabelSet> groups;
  while (!text.empty()) {
    std::string_view group = next_part(text, ',');
    LabelSet& set = groups.emplace_back();
    if (group.empty()) return bad(group);
    while (!group.empty()) {
      const std::string_view item = next_part(group, '+');
      const std::size_t dash = item.find('-');
      const std::uint32_t first = number(item.substr(0, dash));
      const std::uint32_t last = dash == std::string_view::npos ? first : number(item.substr(dash + 1));
      if (first >= classes || last >= classes || first > last) return bad(item);
      for (std::uint32_t c = first; c <= last; ++c) set.push_back(c);
    }
    std::ranges::sort(set);
    set.erase(std::unique(set.begin(), set.end()), set.end());
  }
  return groups;
}

}  // namespace

std::string label_groups_of(const DataOptions& options, std::uint32_t classes) {
  if (!options.label_groups.empty()) return options.label_groups;
  std::string text;
  for (const auto& [from_tenths, to_tenths] : {std::pair(0u, 3u), {3u, 7u}, {4u, 10u}, {0u, 10u}}) {
    const std::uint32_t first = std::min(classes * from_tenths / 10, classes - 1);
    const std::uint32_t end = std::max(classes * to_tenths / 10, first + 1);
    text += text.empty() ? "" : ",";
    text += end - first == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, end - 1);
  }
  return text;
}

Result<Division> divide_label_groups(const PartitionTask& task, const DataOptions& options, Stream& stream) {
  const std::string text = label_groups_of(options, task.classes);
  MUSTER_ASSIGN(const std::vector<LabelSet> groups, parse_groups(text, task.classes));
  if (task.clients < groups.size()) {
    return usage_error("data.clients: {}, want at least {} (one per label group)", task.clients, groups.size());
  }
  ClassPools pools(task.labels, task.classes, stream);
  const auto group_of = [&](std::uint32_t k) {
    return static_cast<std::uint32_t>(std::uint64_t{k} * groups.size() / task.clients);
  };
  // What client k takes of the i-th class of its group when it holds `size` samples: the odd ones go to classes that
  // differ from client to client.
  const auto share = [&](std::uint32_t k, std::size_t i, std::uint32_t size) {
    const auto width = static_cast<std::uint32_t>(groups[group_of(k)].size());
    return size / width + ((static_cast<std::uint32_t>(i) + k) % width < size % width ? 1 : 0);
  };
  // The largest size that every class can serve, found by bisection: demand grows with it.
  std::vector<std::uint64_t> demand(task.classes);
  const auto fits = [&](std::uint32_t size) {
    std::ranges::fill(demand, 0);
    for (std::uint32_t k = 0; k < task.clients; ++k) {
      const LabelSet& set = groups[group_of(k)];
      for (std::size_t i = 0; i < set.size(); ++i) demand[set[i]] += share(k, i, size);
    }
    for (std::uint32_t c = 0; c < task.classes; ++c) {
      if (demand[c] > pools.left(c)) return false;
    }
    return true;
  };
  std::uint32_t size = 0;
  std::uint32_t too_large = static_cast<std::uint32_t>(task.labels.size()) / task.clients + 1;
  while (size + 1 < too_large) {
    const std::uint32_t middle = size + (too_large - size) / 2;
    (fits(middle) ? size : too_large) = middle;
  }
  size = std::min(size, options.samples_max.value_or(std::numeric_limits<std::uint32_t>::max()));

  Division division;
  division.rows.reserve(std::size_t{size} * task.clients);
  for (std::uint32_t k = 0; k < task.clients; ++k) {
    const LabelSet& set = groups[group_of(k)];
    for (std::size_t i = 0; i < set.size(); ++i) pools.take(set[i], share(k, i, size), division.rows);
    division.close_client();
    division.planted.push_back(group_of(k));
  }
  if (const std::size_t unused = task.labels.size() - division.rows.size(); unused > 0) {
    division.note = fmt::format("{} samples unused to keep clients equal", unused);
  }
  return division;
}

}  // namespace muster
