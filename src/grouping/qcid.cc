// Groups of `min-size` clients drawn one by one, the likelier the more even the group's labels become (Fed-CBS, as
// Group-FEL uses it): QCID = sum over classes of (b / n - 1 / m)^2. The first client of a group is drawn by 1 / QCID
// plus `lambda` sqrt(3 ln t / (2 T)), which favours those that were selected in few (T) of the t rounds so far; the
// j-th by 1 / QCID^j of the group with it. As many groups as fill up; everyone else stays idle.
#include <algorithm>
#include <cmath>

#include "grouping/groupers.h"
#include "grouping/label_pool.h"
#include "grouping/label_spread.h"

namespace muster {
namespace {

constexpr double kLowestQcid = 1e-12;

// x^j for 0 <= x <= 1. Multiplications alone, so that it rounds alike everywhere.
double power(double x, std::uint32_t j) {
  double result = 1;
  for (; j != 0; j >>= 1) {
    if (j & 1) result *= x;
    x *= x;
  }
  return result;
}

// A place drawn by weight. Vacant places have weight 0; one weight at least is positive.
Place draw(std::span<const double> weights, Stream& stream) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  double rest = stream.uniform() * sum;
  Place last = 0;
  for (Place i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    last = i;
    rest -= weights[i];
    if (rest < 0) break;
  }
  return last;
}

}  // namespace

Result<Draft> group_by_qcid(const GroupingOptions& options, const GroupingInput& input, const GroupingCall& call) {
  MUSTER_ASSIGN(const std::uint32_t size, chosen_number("min-size", options.min_size));
  const double lambda = *options.lambda;
  if (!(lambda >= 0) || std::isinf(lambda)) return usage_error("grouping.lambda: {}, want >= 0 and finite", lambda);
  MUSTER_TRY(check_label_totals(input.labels));

  Draft draft;
  const std::vector<std::uint32_t> clients = clients_with_labels(input.labels);
  if (size > clients.size()) {
    draft.notes.push_back(
        fmt::format("grouping.min-size: {}, but only {} clients have label counts", size, clients.size()));
    return draft;
  }

  Stream stream = grouping_stream(call);
  LabelPool<double> pool(input.labels, clients);
  const auto classes = static_cast<double>(input.labels.width);
  const double exploration = 1.5 * std::log(static_cast<double>(std::max(call.round, 1u)));
  std::vector<double> weights;
  for (std::size_t g = 0; g < clients.size() / size; ++g) {
    std::vector<std::uint32_t> members;
    std::vector<std::uint64_t> counts(input.labels.width);
    double squares = 0, total = 0;  // of the group
    pool.begin_group();
    while (members.size() < size) {
      weights.resize(pool.places());
      for (Place i = 0; i < pool.places(); ++i) {
        const double n = total + pool.totals()[i];
        const double joined = squares + 2 * pool.dots()[i] + pool.squares()[i];
        weights[i] = std::max((classes * joined - n * n) / (classes * n * n), kLowestQcid);
      }
      const auto j = static_cast<std::uint32_t>(members.size()) + 1;
      if (j == 1) {
        for (Place i = 0; i < pool.places(); ++i) {
          const bool vacant = std::isinf(weights[i]);
          // Counted from 1: who was never selected has been met once, as it were.
          const double times = 1.0 + (input.selected.empty() ? 0 : input.selected[pool.client(i)]);
          weights[i] = vacant ? 0 : 1 / weights[i] + lambda * std::sqrt(exploration / times);
        }
      } else {
        // Relative to the best, nothing overflows and what underflows would never be drawn.
        const double best = *std::ranges::min_element(weights);
        for (double& weight : weights) weight = power(best / weight, j);
      }
      const Place place = draw(weights, stream);
      const std::uint32_t client = pool.client(place);
      const auto row = input.labels.row(client);
      squares += 2 * pool.dots()[place] + pool.squares()[place];
      total += pool.totals()[place];
      for (std::size_t y = 0; y < counts.size(); ++y) counts[y] += row[y];
      members.push_back(client);
      pool.remove(place);
      pool.join(row, counts);
    }
    draft.groups.push_back(std::move(members));
  }
  return draft;
}

}  // namespace muster
