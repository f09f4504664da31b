#include "app/bench_secure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "aggregate/aggregator.h"
#include "aggregate/member_merge.h"
#include "aggregate/merge_rule.h"
#include "app/bench_clock.h"
#include "app/bench_federation.h"
#include "app/bench_sum.h"
#include "base/names.h"
#include "solver/training_flops.h"

namespace muster {
namespace {

constexpr double kM5 = 25'000;
constexpr double kResNet20 = 272'000;
constexpr const char* kDistances = "flame";  // what it takes is the distances of all pairs

std::string sum_name(const BenchSum& sum) {
  return fmt::format("secure sum, {} x {} parameters, {}-bit words", counted(sum.members, "client"), sum.parameters,
                     sum.bits);
}

// How many times as long as making so many masks by the cipher alone.
std::string against_cipher(double seconds, std::uint64_t masks, const BenchSum& sum) {
  const std::size_t bytes = std::size_t{sum.parameters} * sum.bits / 8;
  const double alone = cipher_seconds(bytes * masks);
  return fmt::format("{:.2f} times making {} masks by AES alone", seconds / std::max(alone, 1e-9), masks);
}

Result<BenchSumTimes> timed(const BenchSum& sum, const SecureBenchOptions& options) {
  options.say(fmt::format("{}, {:g} % drop", sum_name(sum), 100 * sum.drops));
  Result<BenchSumTimes> times = time_sum(sum);
  if (!times) return std::move(times).error().within(sum_name(sum));
  return times;
}

Status measure_sums(const SecureBenchOptions& options, std::vector<ScaleCase>& cases) {
  for (const std::uint32_t bits : {32u, 64u}) {
    const BenchSum sum{.members = options.members, .parameters = options.parameters, .bits = bits, .drops = 0.3};
    MUSTER_ASSIGN(const BenchSumTimes times, timed(sum, options));
    const std::string name = sum_name(sum);
    if (bits == 32) {
      cases.push_back({name + ": the slowest client", times.slowest_client_s, "s", 0.2,
                       against_cipher(times.slowest_client_s, times.client_masks, sum)});
      cases.push_back({name + ": the server when 30 % drop", times.server_s, "s", 2,
                       against_cipher(times.server_s, times.server_masks, sum)});
    }
    cases.push_back(
        {name + ": traffic of a client against a plain update", times.traffic, "times", bits == 32 ? 1.2 : 2.2, ""});
  }
  const BenchSum sum{.members = options.many,
                     .parameters = options.many_parameters,
                     .bits = 32,
                     .neighbours = options.neighbours,
                     .drops = 0.1};
  MUSTER_ASSIGN(const BenchSumTimes times, timed(sum, options));
  cases.push_back(
      {fmt::format("{}, {} neighbours: the server when 10 % drop", sum_name(sum), options.neighbours), times.server_s,
       "s", 30,
       fmt::format("{}; a client {:.3f} s, traffic {:.2f} times",
                   against_cipher(times.server_s, times.server_masks, sum), times.slowest_client_s, times.traffic)});
  return {};
}

bool went_elsewhere(std::uint32_t model) {
  return model % 5 == 4;
}

// Around 1, but every fifth around -1.
Rows<float> models_to_judge(std::uint32_t count, std::uint32_t parameters) {
  Rows<float> models(count, parameters);
  for (std::uint32_t k = 0; k < count; ++k) {
    Stream stream({.seed = 6, .purpose = Purpose::kBench, .id = k});
    for (float& value : models.row(k)) {
      value = (went_elsewhere(k) ? -1.0f : 1.0f) + static_cast<float>(stream.next64() >> 40) * 0x1p-27f;
    }
  }
  return models;
}

// Repeats what is short until `seconds` have passed; the fastest counts.
template <typename Work>
Result<double> fastest(double seconds, const Work& work) {
  double best = 0;
  double spent = 0;
  for (int repeat = 0; repeat < 2 || (spent < seconds && repeat < 20); ++repeat) {
    MUSTER_ASSIGN(const double took, work());
    best = repeat == 0 ? took : std::min(best, took);
    spent += took;
  }
  return best;
}

using CheckReport = std::function<Status(const MergeReport&)>;

Result<double> rule_seconds(const MergeRule& rule, const RowsView<float>& models, double seconds,
                            const CheckReport& check = {}) {
  const std::vector<float> start(models.width);
  std::vector<float> merged(start.size());
  return fastest(seconds, [&]() -> Result<double> {
    const double begun = cpu_seconds();
    const MergeReport report = rule.merge({.start = start, .models = models}, merged);
    const double took = cpu_seconds() - begun;
    double mean = 0;  // noise is lost in it
    for (const float value : merged) mean += value / static_cast<double>(merged.size());
    if (!(std::abs(mean) < 1.2)) return failure("models around 1 and -1 are merged around {}", mean);
    if (check) MUSTER_TRY(check(report));
    return took;
  });
}

// A majority is all that is looked for, so some of the honest may be left out, too.
Status measure_flame(const SecureBenchOptions& options, std::vector<ScaleCase>& cases) {
  const std::string name = fmt::format("flame, {} models x {} parameters", options.judged, options.parameters);
  options.say(name);
  const Rows<float> models = models_to_judge(options.judged, options.parameters);
  const CheckReport none_elsewhere = [&](const MergeReport& report) -> Status {
    std::uint32_t found = 0;
    for (const MergeReport::Filtered& one : report.filtered) found += went_elsewhere(one.place) ? 1 : 0;
    if (found == options.judged / 5 && 2 * report.filtered.size() < options.judged) return {};
    return failure("{} of {} models that went elsewhere are left out, {} in all", found, options.judged / 5,
                   report.filtered.size());
  };
  Result<double> seconds = rule_seconds(*make_majority_cluster({}), models, options.seconds, none_elsewhere);
  if (!seconds) return std::move(seconds).error().within(name);
  MUSTER_ASSIGN(const double mean_s, rule_seconds(*make_norm_clip({.clip = 1e9}), models, options.seconds));
  cases.push_back({name, *seconds, "s", 3, fmt::format("{:.1f} times their mean", *seconds / mean_s)});
  return {};
}

Result<double> sum_seconds(std::uint32_t members, std::uint32_t parameters, double seconds) {
  return fastest(seconds, [&]() -> Result<double> {
    MUSTER_ASSIGN(const BenchSumTimes times, time_sum({.members = members, .parameters = parameters}));
    return times.mean_client_s + times.server_s;
  });
}

Result<FittedCurve> measure_epoch(const SecureBenchOptions& options) {
  MUSTER_ASSIGN(const std::vector<Workload> chosen, choose_workloads("e3-10"));
  std::vector<double> gflop;
  std::vector<double> seconds;
  for (const std::uint32_t samples : options.epochs_of) {
    Workload workload = chosen.front();
    workload.samples = samples;
    workload.epochs = 1;
    MUSTER_ASSIGN(const auto network, make_network(workload.model, workload.shape, workload.classes));
    MUSTER_ASSIGN(const auto data, make_workload_data(workload));
    MUSTER_ASSIGN(const auto federation, BenchFederation::create(workload, network, *data, 1));
    MUSTER_TRY(federation->train_for(0));  // warms up
    MUSTER_ASSIGN(const double rate, federation->train_for(options.seconds));
    gflop.push_back(samples * training_flops(*network) / 1e9);
    seconds.push_back(samples / rate);
  }
  return fit_line(gflop, seconds);
}

}  // namespace

Result<std::vector<ScaleCase>> run_secure_bench(const SecureBenchOptions& options) {
  std::vector<ScaleCase> cases;
  MUSTER_TRY(measure_sums(options, cases));
  MUSTER_TRY(measure_flame(options, cases));
  return cases;
}

Result<MeasuredCosts> measure_costs(const SecureBenchOptions& options) {
  MeasuredCosts costs;
  std::vector<double> sizes(options.group_sizes.begin(), options.group_sizes.end());
  const auto add = [&](std::string_view operation, std::uint32_t parameters, const std::vector<double>& seconds) {
    costs.operations.push_back({std::string(operation), parameters, fit_quadratic(sizes, seconds)});
  };
  for (const std::uint32_t parameters : options.model_sizes) {
    options.say(fmt::format("group operations on {} parameters", parameters));
    std::vector<double> of_sum;
    std::map<std::string, std::vector<double>> of_rules;
    for (const std::uint32_t size : options.group_sizes) {
      MUSTER_ASSIGN(const double seconds, sum_seconds(size, parameters, options.seconds));
      of_sum.push_back(seconds);
      const Rows<float> models = models_to_judge(size, parameters);
      for (const MergeRuleEntry& rule : merge_rules()) {
        Result<double> took = rule_seconds(*rule.make({}), models, options.seconds);
        if (!took) return std::move(took).error().within(rule.name);
        of_rules[rule.name].push_back(*took);
      }
    }
    add(kSecureSum, parameters, of_sum);
    for (const MergeRuleEntry& rule : merge_rules()) add(rule.name, parameters, of_rules[rule.name]);
  }
  options.say("epochs of training");
  MUSTER_ASSIGN(costs.epoch, measure_epoch(options));
  return costs;
}

std::vector<PaperCurve> paper_curves(std::string_view operation) {
  if (operation == kDistances) {
    return {{"distances for backdoor detection, speech", kM5, {0.00079432, -0.00142096, 0.02028448}},
            {"distances for backdoor detection, CIFAR", kResNet20, {0.00548707, 0.0038231, -0.06900253}}};
  }
  if (operation != kSecureSum) return {};
  std::vector<PaperCurve> curves;
  // Control variates are sent and summed as models are.
  for (const auto& [what, task, objective, parameters] :
       {std::tuple("secure aggregation, speech", "speech", "plain", kM5),
        std::tuple("the same with control variates", "speech", "control-variate", 2 * kM5),
        std::tuple("secure aggregation, CIFAR", "cifar", "plain", kResNet20),
        std::tuple("the same with control variates", "cifar", "control-variate", 2 * kResNet20)}) {
    const OperationCoefficients known = operation_coefficients({.model = "group-operations", .task = task}, objective);
    curves.push_back({what, parameters, {known.quadratic, known.linear, known.constant}});
  }
  return curves;
}

}  // namespace muster
