#include "data/partition.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/names.h"
#include "data/partitions/laws.h"

namespace muster {

std::span<const PartitionLaw> partition_laws() {
  static const std::vector<PartitionLaw> laws = {
      {.name = "natural",
       .summary = "the source's own clients (writers, users, speakers, the client column)",
       .keys = {"clients", "samples-min", "samples-max"},
       .divide = divide_natural},
      {.name = "iid",
       .summary = "shuffled and cut into equal parts",
       .keys = {"clients", "samples-min", "samples-max", "imbalance"},
       .divide = divide_iid},
      {.name = "dirichlet",
       .summary =
           "each client draws its class mix from Dirichlet(alpha); 0 = one class each, inf = uniform (Hsu et al.)",
       .keys = {"clients", "alpha", "samples-min", "samples-max"},
       .divide = divide_dirichlet},
      {.name = "dirichlet-classes",
       .summary =
           "each class is spread over the clients by Dirichlet(alpha); the most even of 100 draws (FedSeq's code)",
       .keys = {"clients", "alpha"},
       .divide = divide_dirichlet_classes},
      {.name = "dirichlet-truncated",
       .summary = "drawn sizes times a Dirichlet(alpha) mix, rounded down; the rest stays unused (Group-FEL)",
       .keys = {"clients", "alpha", "samples-min", "samples-max"},
       .divide = divide_dirichlet_truncated},
      {.name = "classes-per-client",
       .summary = "client u owns classes u, u+1, ...; sizes follow a power law (FedProx's MNIST)",
       .keys = {"clients", "classes-per-client"},
       .divide = divide_classes_per_client},
      {.name = "shards",
       .summary = "sorted by class, cut into classes-per-client shards per client, dealt at random (FedAvg's MNIST)",
       .keys = {"clients", "classes-per-client"},
       .divide = divide_shards},
      {.name = "label-groups",
       .summary = "blocks of clients that share a set of classes; local tests follow it (AutoCFL)",
       .keys = {"clients", "label-groups", "samples-max", "imbalance"},
       .default_clients = 20,
       .plants = true,
       .divide = divide_label_groups},
      {.name = "rotations",
       .summary = "iid, but blocks of clients see their images turned; local tests too (AutoCFL)",
       .keys = {"clients", "rotations", "samples-min", "samples-max", "imbalance"},
       .default_clients = 20,
       .plants = true,
       .divide = divide_rotations},
      {.name = "rotated-copies",
       .summary = "the whole data set once per rotation, each copy cut into equal parts (IFCA)",
       .keys = {"clients", "rotations"},
       .plants = true,
       .replicates = true,
       .divide = divide_rotated_copies},
  };
  return laws;
}

Result<const PartitionLaw*> find_partition_law(std::string_view name) {
  std::vector<std::string> names;
  for (const PartitionLaw& law : partition_laws()) {
    if (law.name == name) return &law;
    names.emplace_back(law.name);
  }
  return usage_error("data.partition: {}", unknown_name("partition", name, names));
}

std::vector<CatalogueEntry> partitions() {
  std::vector<CatalogueEntry> entries;
  for (const PartitionLaw& law : partition_laws()) {
    entries.push_back({std::string(law.name), std::string(law.summary), law.keys});
  }
  return entries;
}

void reduce_shares(std::span<const std::int32_t> labels, Stream& stream, Division& division) {
  constexpr double kKept[] = {0.1, 0.3, 0.6};
  const std::uint32_t clients = division.clients();
  const auto per_level = static_cast<std::uint32_t>(std::lround(clients * 3.0 / 20.0));
  std::vector<std::uint32_t> order(clients);
  std::iota(order.begin(), order.end(), 0u);
  stream.shuffle(std::span(order));
  std::vector<double> keep(clients, 1.0);
  for (std::uint32_t i = 0; i < 3 * per_level && i < clients; ++i) keep[order[i]] = kKept[i / per_level];

  std::uint32_t out = 0;
  for (std::uint32_t k = 0; k < clients; ++k) {
    const std::uint32_t begin = division.offsets[k];
    const std::uint32_t end = division.offsets[k + 1];
    const auto rows = division.rows.begin();
    if (keep[k] < 1) {
      std::stable_sort(rows + begin, rows + end, [&](auto a, auto b) { return labels[a] < labels[b]; });
    }
    division.offsets[k] = out;
    // Systematic sampling over rows sorted by class: any run of m equal labels keeps m * keep, to within one. The half
    // keeps a client with few rows from always losing its first ones.
    for (std::uint32_t i = begin; i < end; ++i) {
      const double position = i - begin;
      if (std::floor((position + 1) * keep[k] + 0.5) > std::floor(position * keep[k] + 0.5)) {
        division.rows[out++] = division.rows[i];
      }
    }
  }
  division.offsets[clients] = out;
  division.rows.resize(out);
}

ClassPools::ClassPools(std::span<const std::int32_t> labels, std::uint32_t classes, Stream& stream)
    : rows_(labels.size()), next_(classes), ends_(classes) {
  for (const std::int32_t label : labels) ++ends_[static_cast<std::size_t>(label)];
  std::uint32_t begin = 0;
  for (std::uint32_t c = 0; c < classes; ++c) {
    next_[c] = begin;
    begin += ends_[c];
    ends_[c] = next_[c];
  }
  for (std::uint32_t row = 0; row < labels.size(); ++row) rows_[ends_[static_cast<std::size_t>(labels[row])]++] = row;
  for (std::uint32_t c = 0; c < classes; ++c) stream.shuffle(std::span(rows_).subspan(next_[c], left(c)));
}

std::uint32_t ClassPools::take(std::uint32_t label, std::uint32_t count, std::vector<std::uint32_t>& out) {
  const std::uint32_t taken = std::min(count, left(label));
  const auto first = rows_.begin() + next_[label];
  out.insert(out.end(), first, first + taken);
  next_[label] += taken;
  return taken;
}

Result<std::vector<std::uint32_t>> client_sizes(const PartitionTask& task, const DataOptions& options, Stream& stream,
                                                std::string& note) {
  const auto rows = static_cast<std::uint32_t>(task.labels.size());
  const std::uint32_t clients = task.clients;
  std::vector<std::uint32_t> sizes(clients);
  if (!options.samples_min && !options.samples_max) {
    for (std::uint32_t k = 0; k < clients; ++k) sizes[k] = rows / clients + (k < rows % clients ? 1 : 0);
    return sizes;
  }
  if (!options.samples_min || !options.samples_max) {
    return usage_error("data.{} needs data.{} beside it: sizes are drawn between the two",
                       options.samples_min ? "samples-min" : "samples-max",
                       options.samples_min ? "samples-max" : "samples-min");
  }
  const std::uint32_t low = *options.samples_min;
  const std::uint32_t high = *options.samples_max;
  if (low > high) return usage_error("data.samples-min: {}, want at most samples-max = {}", low, high);
  if (std::uint64_t{low} * clients > rows) {
    return usage_error("data.samples-min: {} for each of {} clients, but there are only {} training samples", low,
                       clients, rows);
  }
  std::uint64_t total = 0;
  for (std::uint32_t& size : sizes) {
    // high - low + 1 would overflow for the full range of 32 bits, which no data set has.
    size = low + stream.below(std::max(1u, high - low + 1));
    total += size;
  }
  if (total > rows) {
    const std::uint64_t floor = std::uint64_t{low} * clients;
    for (std::uint32_t& size : sizes) {
      size = low + static_cast<std::uint32_t>(std::uint64_t{size - low} * (rows - floor) / (total - floor));
    }
    note = fmt::format("drawn sizes shrunk from {} samples in all to the {} there are", total, rows);
  }
  return sizes;
}

Result<double> dirichlet_alpha(const DataOptions& options) {
  const double alpha = alpha_of(options);
  if (!(alpha >= 0)) return usage_error("data.alpha: {}, want a number >= 0 or inf", alpha);
  return alpha;
}

}  // namespace muster
