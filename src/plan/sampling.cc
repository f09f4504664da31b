// How participants are drawn: the list of samplers, and draws by weight. Weights live as logarithms, because
// e^((1 / CoV)^2) overflows already at CoV = 0.03.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "plan/plan.h"

namespace muster {
namespace {

constexpr double kLargestInverse = 1000;

struct Sampler {
  const char* name;
  const char* summary;
  double (*log_weight)(double inverse_cov);  // null: does not look at the groups
};

constexpr Sampler kSamplers[] = {
    {"uniform", "without replacement, all equally likely", nullptr},
    {"inverse-cov", "groups by 1 / CoV", [](double x) { return std::log(x); }},
    {"inverse-cov-squared", "groups by (1 / CoV)^2", [](double x) { return 2 * std::log(x); }},
    {"exp-inverse-cov", "groups by e^(1 / CoV)", [](double x) { return x; }},
    {"exp-inverse-cov-squared", "groups by e^((1 / CoV)^2)", [](double x) { return x * x; }},
    {"all", "everybody takes part in every round", nullptr},
};

const Sampler* find_sampler(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kSamplers), std::end(kSamplers),
                                         [&](const Sampler& sampler) { return sampler.name == name; });
  return found == std::end(kSamplers) ? nullptr : found;
}

double largest_of(std::span<const double> log_weights) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double weight : log_weights) largest = std::max(largest, weight);
  return largest;
}

// As a share of the largest weight. If all weights are 0, the difference of their logarithms is NaN: all are equal.
double relative_weight(double log_weight, double largest) {
  return std::isinf(largest) ? 1 : std::exp(log_weight - largest);
}

}  // namespace

std::vector<CatalogueEntry> samplers() {
  std::vector<CatalogueEntry> entries;
  for (const Sampler& sampler : kSamplers) {
    std::vector<std::string> keys;
    if (std::string_view(sampler.name) == "uniform") keys = {"sample-groups", "sample-clients"};
    if (sampler.log_weight) keys = {"sample-groups"};
    entries.push_back({sampler.name, sampler.summary, std::move(keys)});
  }
  return entries;
}

bool samples_by_cov(const std::string& sampling) {
  const Sampler* const sampler = find_sampler(sampling);
  return sampler && sampler->log_weight;
}

std::vector<double> log_sampling_weights(const std::string& sampling, std::span<const double> cov) {
  const Sampler* const sampler = find_sampler(sampling);
  MUSTER_CHECK(sampler && sampler->log_weight, "sampler '{}' has no weights", sampling);
  std::vector<double> weights;
  weights.reserve(cov.size());
  for (const double value : cov) {
    const double inverse = value >= 1 / kLargestInverse ? 1 / value : kLargestInverse;
    weights.push_back(sampler->log_weight(std::isnan(value) ? 0 : inverse));
  }
  return weights;
}

std::vector<double> log_sampling_probabilities(std::span<const double> log_weights) {
  std::vector<double> logarithms(log_weights.begin(), log_weights.end());
  const double largest = largest_of(log_weights);
  if (std::isinf(largest)) std::ranges::fill(logarithms, 0.0);
  double sum = 0;
  for (const double log_weight : log_weights) sum += relative_weight(log_weight, largest);
  const double total = std::isinf(largest) ? std::log(sum) : largest + std::log(sum);
  for (double& logarithm : logarithms) logarithm -= total;
  return logarithms;
}

std::vector<std::uint32_t> sample_by_weight(std::span<const double> log_weights, std::uint32_t count, Stream& stream) {
  struct Draw {
    double key;
    std::uint32_t index;
  };
  std::vector<Draw> draws;
  draws.reserve(log_weights.size());
  for (std::uint32_t i = 0; i < log_weights.size(); ++i) {
    // -ln of an exponential draw is a Gumbel draw. The bound keeps it finite when the uniform draw is exactly 0.
    const double exponential = std::max(-std::log1p(-stream.uniform()), 0x1.0p-54);
    draws.push_back({log_weights[i] - std::log(exponential), i});
  }
  // Equal keys happen among weights of 0: the lowest index wins.
  std::sort(draws.begin(), draws.end(),
            [](const Draw& a, const Draw& b) { return a.key != b.key ? a.key > b.key : a.index < b.index; });
  if (count < draws.size()) draws.resize(count);
  std::vector<std::uint32_t> chosen;
  chosen.reserve(draws.size());
  for (const Draw& draw : draws) chosen.push_back(draw.index);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace muster
