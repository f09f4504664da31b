// Groups of clients that complement each other, filled one after the other: a first client at random (or the one that
// complements the uniform mix best), then whoever complements the mean of the members best, until there are enough
// samples or clients. The mean is weighted by samples. Ties go to the lowest client.
//
// The greedy grouping of FedSeq (Zaccone et al. 2022, Algorithm 3), with the scores and the mean of its published code.
#include "grouping/greedy_complement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "grouping/groupers.h"
#include "grouping/representers.h"
#include "grouping/sample_quota.h"

namespace muster {
namespace {

// In four sums that a vector unit adds side by side, and always in this order.
template <typename Term>
double sum_of(std::size_t count, Term term) {
  double lanes[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) lanes[lane] += term(i + lane);
  }
  for (; i < count; ++i) lanes[0] += term(i);
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

double length(std::span<const double> a) {
  return std::sqrt(sum_of(a.size(), [&](std::size_t i) { return a[i] * a[i]; }));
}

double kl_score(std::span<const double> a, std::span<const double> b) {
  const auto classes = static_cast<double>(a.size());
  return 1 - sum_of(a.size(), [&](std::size_t i) {
           const double q = (a[i] + b[i]) / 2;
           return q > 0 ? q * std::log(q * classes) : 0.0;
         });
}

double gini_score(std::span<const double> a, std::span<const double> b) {
  return 1 - sum_of(a.size(), [&](std::size_t i) { return (a[i] + b[i]) * (a[i] + b[i]); }) / 4;
}

double cosine_score(std::span<const double> a, std::span<const double> b, double lengths) {
  if (lengths == 0) return 1;
  return 1 - sum_of(a.size(), [&](std::size_t i) { return a[i] * b[i]; }) / lengths;
}

// Of components that are sorted.
double wasserstein_score(std::span<const double> a, std::span<const double> b) {
  return sum_of(a.size(), [&](std::size_t i) { return std::abs(a[i] - b[i]); }) / static_cast<double>(a.size());
}

Result<ComplementScore> chosen_score(const GroupingOptions& options) {
  MUSTER_ASSIGN(const std::string word, chosen_word("score", options.score, {"kl", "gini", "cosine", "wasserstein"}));
  if (word == "kl") return ComplementScore::kKl;
  if (word == "gini") return ComplementScore::kGini;
  if (word == "cosine") return ComplementScore::kCosine;
  return ComplementScore::kWasserstein;
}

Status check_probabilities(const Rows<double>& rows, const GroupingCall& call) {
  constexpr const char* kWant =
      "grouping.score = kl | gini needs probabilities, which are never negative and sum to 1; cosine | wasserstein "
      "take any vector";
  for (std::uint32_t k = 0; k < rows.count(); ++k) {
    const auto row = rows.row(k);
    if (const auto least = std::ranges::min(row); least < 0) {
      return usage_error("vectors: client {} has {:.6g}, but {}", client_name(call, k), least, kWant);
    }
    if (const double sum = std::accumulate(row.begin(), row.end(), 0.0); std::abs(sum - 1) > 1e-3) {
      return usage_error("vectors: client {} sums to {:.6g}, but {}", client_name(call, k), sum, kWant);
    }
  }
  return {};
}

// Says who comes next. Scores within rounding of each other are ties.
class Complements {
 public:
  Complements(ComplementScore score, Rows<double> rows, std::span<const std::uint32_t> samples)
      : score_(score), rows_(std::move(rows)), samples_(samples), mean_(rows_.width), waiting_(rows_.count()) {
    std::iota(waiting_.begin(), waiting_.end(), 0u);
    if (score_ == ComplementScore::kCosine) {
      for (const std::uint32_t k : waiting_) lengths_.push_back(length(rows_.row(k)));
    } else if (score_ == ComplementScore::kWasserstein) {
      sorted_ = rows_;
      for (const std::uint32_t k : waiting_) std::ranges::sort(sorted_.row(k));
    }
  }

  std::uint32_t take_any(Stream& stream) { return take(stream.below(static_cast<std::uint32_t>(waiting_.size()))); }

  std::uint32_t take_best_to_uniform() {
    std::ranges::fill(mean_, 1 / static_cast<double>(mean_.size()));
    return take_best();
  }

  std::uint32_t take_best_to(std::span<const std::uint32_t> members) {
    std::ranges::fill(mean_, 0.0);
    double total = 0;
    for (const std::uint32_t member : members) {
      const auto row = rows_.row(member);
      for (std::size_t i = 0; i < row.size(); ++i) mean_[i] += row[i] * samples_[member];
      total += samples_[member];
    }
    for (double& value : mean_) value /= total;
    return take_best();
  }

 private:
  std::uint32_t take_best() {
    const double mean_length = length(mean_);
    if (score_ == ComplementScore::kWasserstein) std::ranges::sort(mean_);
    std::size_t best = 0;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const double score = score_of(waiting_[i], mean_length);
      if (i > 0 && score <= most + margin(most)) continue;
      most = score;
      best = i;
    }
    return take(best);
  }

  [[nodiscard]] double score_of(std::uint32_t client, double mean_length) const {
    switch (score_) {
      case ComplementScore::kKl:
        return kl_score(mean_, rows_.row(client));
      case ComplementScore::kGini:
        return gini_score(mean_, rows_.row(client));
      case ComplementScore::kCosine:
        return cosine_score(mean_, rows_.row(client), mean_length * lengths_[client]);
      case ComplementScore::kWasserstein:
        return wasserstein_score(mean_, sorted_.row(client));
    }
    return 0;
  }

  // Equal scores whose sums run over other orders of the same terms differ by less. Wasserstein has the vectors' scale,
  // the others are of the order of 1.
  [[nodiscard]] double margin(double most) const {
    return 1e-12 * (score_ == ComplementScore::kWasserstein ? most : 1.0);
  }

  std::uint32_t take(std::size_t position) {
    const std::uint32_t client = waiting_[position];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(position));
    return client;
  }

  ComplementScore score_;
  Rows<double> rows_;
  std::span<const std::uint32_t> samples_;
  std::vector<double> lengths_;         // of the rows, for kCosine
  Rows<double> sorted_;                 // each row by size, for kWasserstein
  std::vector<double> mean_;            // scratch: of the open group's members
  std::vector<std::uint32_t> waiting_;  // ascending
};

}  // namespace

double complement(ComplementScore score, std::span<const double> a, std::span<const double> b) {
  switch (score) {
    case ComplementScore::kKl:
      return kl_score(a, b);
    case ComplementScore::kGini:
      return gini_score(a, b);
    case ComplementScore::kCosine:
      return cosine_score(a, b, length(a) * length(b));
    case ComplementScore::kWasserstein:
      break;
  }
  std::vector<double> sorted_a(a.begin(), a.end());
  std::vector<double> sorted_b(b.begin(), b.end());
  std::ranges::sort(sorted_a);
  std::ranges::sort(sorted_b);
  return wasserstein_score(sorted_a, sorted_b);
}

Result<Draft> group_greedy_complement(const GroupingOptions& options, const GroupingInput& input,
                                      const GroupingCall& call) {
  MUSTER_ASSIGN(const SampleQuota quota, chosen_quota(options));
  MUSTER_ASSIGN(const ComplementScore score, chosen_score(options));
  MUSTER_ASSIGN(const std::string first, chosen_word("first", options.first, {"random", "uniform"}));
  Rows<double> rows = representers(input);
  if (score == ComplementScore::kKl || score == ComplementScore::kGini) MUSTER_TRY(check_probabilities(rows, call));
  Complements clients(score, std::move(rows), input.samples);
  Stream stream = grouping_stream(call);
  return fill_groups(quota, input.samples, [&](std::span<const std::uint32_t> members) {
    if (!members.empty()) return clients.take_best_to(members);
    return first == "random" ? clients.take_any(stream) : clients.take_best_to_uniform();
  });
}

}  // namespace muster
