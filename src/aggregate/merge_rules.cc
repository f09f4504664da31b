// The catalogue of rules that see all models at once, and what they have in common.
#include <algorithm>
#include <cmath>

#include "aggregate/aggregator.h"
#include "aggregate/merge_rule.h"
#include "base/check.h"

namespace muster {

std::string_view name(FilterReason reason) {
  switch (reason) {
    case FilterReason::kNone:
      return "";
    case FilterReason::kFar:
      return "far";
    case FilterReason::kMinority:
      return "minority";
  }
  return "?";
}

const std::vector<MergeRuleEntry>& merge_rules() {
  static const std::vector<MergeRuleEntry> rules{
      {"median", "of each parameter the median of the models", {}, [](const auto&) { return make_median(); }},
      {"trimmed-mean",
       "of each parameter the mean without the largest and smallest values",
       {"trim"},
       make_trimmed_mean},
      {"krum", "the one model whose neighbours are nearest (Blanchard et al.)", {"attackers"}, make_krum},
      {"multi-krum",
       "mean of all models but the assumed attackers, by the scores of krum",
       {"attackers"},
       make_multi_krum},
      {"norm-clip", "mean of the changes, none longer than a given length", {"clip"}, make_norm_clip},
      {"flame",
       "mean of the majority's cluster by cosine, changes clipped to the median length, noise added (FLAME)",
       {"noise"},
       make_majority_cluster},
  };
  return rules;
}

const MergeRuleEntry* find_merge_rule(std::string_view name) {
  const auto found = std::ranges::find(merge_rules(), name, &MergeRuleEntry::name);
  return found == merge_rules().end() ? nullptr : &*found;
}

void HeldModels::begin(std::size_t parameters) {
  parameters_ = parameters;
  count_ = 0;
  trained_.values.clear();
  statistics_.values.clear();
}

void HeldModels::add(std::span<const float> model) {
  MUSTER_CHECK(model.size() >= parameters_, "{} < {}", model.size(), parameters_);
  const auto cut = model.begin() + static_cast<std::ptrdiff_t>(parameters_);
  trained_.width = parameters_;
  statistics_.width = model.size() - parameters_;
  trained_.values.insert(trained_.values.end(), model.begin(), cut);
  statistics_.values.insert(statistics_.values.end(), cut, model.end());
  ++count_;
}

MergeReport HeldModels::merge(const MergeRule& rule, std::span<const float> start, const StreamKey& noise,
                              std::span<float> merged) {
  MUSTER_CHECK(count_ > 0, "nothing to merge");
  // Nothing to train: a rule has nothing to judge by, and takes all.
  MergeReport report;
  if (parameters_ > 0) {
    report =
        rule.merge({.start = start.first(parameters_), .models = trained_, .noise = noise}, merged.first(parameters_));
  }
  if (statistics_.width > 0) {
    std::vector<bool> taken(count_, true);
    for (const MergeReport::Filtered& filtered : report.filtered) taken[filtered.place] = false;
    std::vector<double> sum(statistics_.width);
    double models = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (!taken[i]) continue;
      const std::span<const float> row = statistics_.view().row(i);
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += row[c];
      ++models;
    }
    for (std::size_t c = 0; c < sum.size(); ++c) merged[parameters_ + c] = static_cast<float>(sum[c] / models);
  }
  begin(parameters_);
  return report;
}

std::vector<double> change_lengths(const MergeInput& input) {
  std::vector<double> lengths;
  for (std::uint32_t i = 0; i < input.models.count(); ++i) {
    const std::span<const float> model = input.models.row(i);
    double squares = 0;
    for (std::size_t c = 0; c < model.size(); ++c) {
      const double change = double{model[c]} - input.start[c];
      squares += change * change;
    }
    lengths.push_back(std::sqrt(squares));
  }
  return lengths;
}

double median_of(std::vector<double> numbers) {
  MUSTER_CHECK(!numbers.empty(), "the median of nothing");
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::ranges::nth_element(numbers, middle);
  if (numbers.size() % 2 == 1) return *middle;
  return (*std::max_element(numbers.begin(), middle) + *middle) / 2;
}

void add_mean_change(const MergeInput& input, std::span<const double> factors, std::span<float> merged) {
  std::vector<double> sum(input.start.size());
  double models = 0;
  for (std::uint32_t i = 0; i < input.models.count(); ++i) {
    if (factors[i] == 0) continue;
    const std::span<const float> model = input.models.row(i);
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += factors[i] * (double{model[c]} - input.start[c]);
    ++models;
  }
  for (std::size_t c = 0; c < sum.size(); ++c) merged[c] = static_cast<float>(input.start[c] + sum[c] / models);
}

}  // namespace muster
