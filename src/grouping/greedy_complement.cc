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

// Scores are taken of rows in a form that is worked out once: sorted, or of length 1.
void bring_to_form(ComplementScore score, std::span<double> row) {
  if (score == ComplementScore::kWasserstein) std::ranges::sort(row);
  if (score != ComplementScore::kCosine) return;
  double squares = 0;
  for (const double value : row) squares += value * value;
  if (squares == 0) return;
  const double length = std::sqrt(squares);
  for (double& value : row) value /= length;
}

double kl_of_formed(std::span<const double> a, std::span<const double> b) {
  const auto classes = static_cast<double>(a.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double q = (a[i] + b[i]) / 2;
    if (q > 0) sum += q * std::log(q * classes);
  }
  return 1 - sum;
}

double gini_of_formed(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] + b[i]) * (a[i] + b[i]);
  return 1 - sum / 4;
}

double cosine_of_formed(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return 1 - sum;
}

double wasserstein_of_formed(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

using FormedScore = double (*)(std::span<const double>, std::span<const double>);

FormedScore formed_score(ComplementScore score) {
  switch (score) {
    case ComplementScore::kKl:
      return kl_of_formed;
    case ComplementScore::kGini:
      return gini_of_formed;
    case ComplementScore::kCosine:
      return cosine_of_formed;
    case ComplementScore::kWasserstein:
      return wasserstein_of_formed;
  }
  return nullptr;
}

Result<ComplementScore> chosen_score(const GroupingOptions& options) {
  MUSTER_ASSIGN(const std::string word,
                chosen_word("score", options.score, "kl", {"kl", "gini", "cosine", "wasserstein"}));
  if (word == "kl") return ComplementScore::kKl;
  if (word == "gini") return ComplementScore::kGini;
  if (word == "cosine") return ComplementScore::kCosine;
  return ComplementScore::kWasserstein;
}

Status check_probabilities(const Rows<double>& rows, const GroupingCall& call) {
  constexpr const char* kWant =
      "grouping.score = kl | gini want probabilities, which are not negative and sum to 1; cosine | wasserstein take "
      "any vectors";
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
      : score_(score), score_of_(formed_score(score)), rows_(std::move(rows)), samples_(samples), mean_(rows_.width) {
    formed_ = rows_;
    for (std::uint32_t k = 0; k < rows_.count(); ++k) bring_to_form(score_, formed_.row(k));
    waiting_.resize(rows_.count());
    std::iota(waiting_.begin(), waiting_.end(), 0u);
  }

  std::uint32_t take_any(Stream& stream) { return take(stream.below(static_cast<std::uint32_t>(waiting_.size()))); }

  std::uint32_t take_best_to_uniform() {
    std::ranges::fill(mean_, 1 / static_cast<double>(mean_.size()));
    return take_best();
  }

  std::uint32_t take_best_to(std::span<const std::uint32_t> members) {
    std::ranges::fill(mean_, 0.0);
    double total = 0;
    for (const std::uint32_t member : members) total += samples_[member];
    for (const std::uint32_t member : members) {
      const auto row = rows_.row(member);
      for (std::size_t i = 0; i < row.size(); ++i) mean_[i] += row[i] * samples_[member];
    }
    for (double& value : mean_) value /= total;
    return take_best();
  }

 private:
  std::uint32_t take_best() {
    bring_to_form(score_, mean_);
    std::size_t best = 0;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const double score = score_of_(mean_, formed_.row(waiting_[i]));
      if (score <= most + margin(most)) continue;
      most = score;
      best = i;
    }
    return take(best);
  }

  // Equal scores whose sums run over other orders of the same terms differ by less. Wasserstein has the vectors' scale,
  // the others are of the order of 1.
  [[nodiscard]] double margin(double most) const {
    if (std::isinf(most)) return 0;
    return 1e-12 * (score_ == ComplementScore::kWasserstein ? most : 1.0);
  }

  std::uint32_t take(std::size_t position) {
    const std::uint32_t client = waiting_[position];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(position));
    return client;
  }

  ComplementScore score_;
  FormedScore score_of_;
  Rows<double> rows_;
  Rows<double> formed_;
  std::span<const std::uint32_t> samples_;
  std::vector<double> mean_;            // scratch: of the open group's members
  std::vector<std::uint32_t> waiting_;  // ascending
};

}  // namespace

double complement(ComplementScore score, std::span<const double> a, std::span<const double> b) {
  std::vector<double> formed_a(a.begin(), a.end());
  std::vector<double> formed_b(b.begin(), b.end());
  bring_to_form(score, formed_a);
  bring_to_form(score, formed_b);
  return formed_score(score)(formed_a, formed_b);
}

Result<Draft> group_greedy_complement(const GroupingOptions& options, const GroupingInput& input,
                                      const GroupingCall& call) {
  MUSTER_ASSIGN(const SampleQuota quota, chosen_quota(options));
  MUSTER_ASSIGN(const ComplementScore score, chosen_score(options));
  MUSTER_ASSIGN(const std::string first, chosen_word("first", options.first, "random", {"random", "uniform"}));
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
