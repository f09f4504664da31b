// natural: one client per writer, user or speaker of the source that has training samples.
#include <algorithm>

#include "data/partitions/laws.h"

namespace muster {

Result<Division> divide_natural(const PartitionTask& task, const DataOptions& options, Stream& stream) {
  if (task.owners.empty()) {
    return usage_error(
        "data.partition: natural needs a source with clients of its own; this one has none, want e.g. iid "
        "or dirichlet");
  }
  std::vector<std::uint32_t> begin(task.owner_count + 1, 0);
  for (const std::uint32_t owner : task.owners) ++begin[owner + 1];
  for (std::uint32_t o = 0; o < task.owner_count; ++o) begin[o + 1] += begin[o];
  std::vector<std::uint32_t> rows(task.owners.size());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::uint32_t row = 0; row < rows.size(); ++row) rows[next[task.owners[row]]++] = row;

  const std::uint32_t least = std::max(1u, options.samples_min.value_or(1));
  std::vector<std::uint32_t> eligible;
  for (std::uint32_t o = 0; o < task.owner_count; ++o) {
    if (begin[o + 1] - begin[o] >= least) eligible.push_back(o);
  }
  if (eligible.empty()) {
    return usage_error("data.samples-min: {}, but no client of the source has that many training samples", least);
  }
  if (options.clients) {
    if (*options.clients > eligible.size()) {
      return usage_error("data.clients: {}, but the source has only {} clients with {} or more training samples",
                         *options.clients, eligible.size(), least);
    }
  }
  if (options.clients && *options.clients < eligible.size()) {
    const auto picked = stream.sample(static_cast<std::uint32_t>(eligible.size()), *options.clients);
    for (std::size_t i = 0; i < picked.size(); ++i) eligible[i] = eligible[picked[i]];
    eligible.resize(picked.size());
  }

  Division division;
  division.rows.reserve(rows.size());
  for (const std::uint32_t o : eligible) {
    const std::span own = std::span(rows).subspan(begin[o], begin[o + 1] - begin[o]);
    if (options.samples_max && own.size() > *options.samples_max) {
      for (const std::uint32_t i : stream.sample(static_cast<std::uint32_t>(own.size()), *options.samples_max)) {
        division.rows.push_back(own[i]);
      }
    } else {
      division.rows.insert(division.rows.end(), own.begin(), own.end());
    }
    division.close_client();
  }
  division.owners = std::move(eligible);
  return division;
}

}  // namespace muster
