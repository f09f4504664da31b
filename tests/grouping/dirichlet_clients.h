// Clients with skewed labels, as the papers simulate them, and small readers of groupings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "grouping/grouping.h"

namespace muster {

struct LabelledClients {
  Rows<std::uint32_t> labels;
  std::vector<std::uint32_t> samples;

  [[nodiscard]] GroupingInput input() const { return {.samples = samples, .labels = labels}; }
};

// Each client has `least` to `most` samples (evenly drawn), shared out to classes by a Dirichlet draw; what a share
// leaves over when it is rounded down is lost.
inline LabelledClients dirichlet_clients(std::uint32_t clients, std::uint32_t classes, double alpha,
                                         std::uint32_t least, std::uint32_t most, std::uint64_t seed) {
  LabelledClients made{.labels = Rows<std::uint32_t>(clients, classes), .samples = {}};
  const std::vector<double> concentration(classes, alpha);
  std::vector<double> shares(classes);
  Stream stream({.seed = seed, .part = 7});
  for (std::uint32_t k = 0; k < clients; ++k) {
    const std::uint32_t samples = least + stream.below(most - least + 1);
    stream.dirichlet(concentration, shares);
    std::uint32_t total = 0;
    for (std::uint32_t c = 0; c < classes; ++c) {
      total += made.labels.row(k)[c] = static_cast<std::uint32_t>(samples * shares[c]);
    }
    made.samples.push_back(total);
  }
  return made;
}

// Each client has 10 or 20 samples of a single class.
inline LabelledClients one_class_clients(std::uint32_t clients, std::uint32_t classes, std::uint64_t seed) {
  LabelledClients made{.labels = Rows<std::uint32_t>(clients, classes), .samples = {}};
  Stream stream({.seed = seed, .part = 8});
  for (std::uint32_t k = 0; k < clients; ++k) {
    made.labels.row(k)[stream.below(classes)] = made.samples.emplace_back(10 * (1 + stream.below(2)));
  }
  return made;
}

// One row of counts after the other.
inline LabelledClients clients_of(std::size_t classes, std::vector<std::uint32_t> counts) {
  LabelledClients made;
  made.labels.width = classes;
  made.labels.values = std::move(counts);
  for (std::uint32_t k = 0; k < made.labels.count(); ++k) {
    made.samples.push_back(0);
    for (const std::uint32_t count : made.labels.row(k)) made.samples.back() += count;
  }
  return made;
}

// A row of counts per client, all of the same length.
inline LabelledClients clients_of(const std::vector<std::vector<std::uint32_t>>& rows) {
  std::vector<std::uint32_t> counts;
  for (const auto& row : rows) counts.insert(counts.end(), row.begin(), row.end());
  return clients_of(rows.at(0).size(), std::move(counts));
}

inline std::vector<std::vector<std::uint32_t>> member_lists(const Grouping& grouping) {
  std::vector<std::vector<std::uint32_t>> lists;
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    lists.emplace_back();
    for (const ClientId client : grouping.members({g})) lists.back().push_back(client.value);
  }
  return lists;
}

// Who is with whom, or a failure of the test.
inline std::vector<std::vector<std::uint32_t>> grouped(const GroupingOptions& options, const GroupingInput& input,
                                                       std::uint64_t seed = 1) {
  const auto formed = form_groups(options, input, {.seed = seed});
  EXPECT_TRUE(formed) << formed.error().message;
  if (!formed) return {};
  return member_lists(formed->grouping);
}

// The clients in another order: client i is what client order[i] was.
inline LabelledClients reordered(const LabelledClients& clients, std::span<const std::uint32_t> order) {
  LabelledClients made{.labels = Rows<std::uint32_t>(clients.labels.count(), clients.labels.width), .samples = {}};
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    for (std::size_t c = 0; c < clients.labels.width; ++c) made.labels.row(i)[c] = clients.labels.row(order[i])[c];
    made.samples.push_back(clients.samples[order[i]]);
  }
  return made;
}

// The lists with the numbers that the clients had before reordered(), in canonical order.
inline std::vector<std::vector<std::uint32_t>> renamed(std::vector<std::vector<std::uint32_t>> lists,
                                                       std::span<const std::uint32_t> order) {
  for (auto& list : lists) {
    for (std::uint32_t& client : list) client = order[client];
    std::ranges::sort(list);
  }
  std::ranges::sort(lists);
  return lists;
}

}  // namespace muster
