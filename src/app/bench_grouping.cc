#include "app/bench_grouping.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/bench_clock.h"
#include "base/peak_memory.h"
#include "base/random.h"
#include "grouping/grouping.h"
#include "grouping/quality.h"

namespace muster {
namespace {

// Clients of one edge, made up.
struct Population {
  Rows<std::uint32_t> labels;
  Rows<float> vectors;
  std::vector<std::uint32_t> samples;
  std::vector<std::uint32_t> truth;

  [[nodiscard]] GroupingInput input() const { return {.samples = samples, .labels = labels, .vectors = vectors}; }
};

// 20 to 200 samples each, classes by Dirichlet(0.1): the label skew of Group-FEL's experiments.
Population skewed_labels(std::uint32_t clients, std::uint32_t classes) {
  Population population{.labels = {clients, classes}, .samples = std::vector<std::uint32_t>(clients)};
  const std::vector<double> concentration(classes, 0.1);
  std::vector<double> shares(classes);
  for (std::uint32_t k = 0; k < clients; ++k) {
    Stream stream({.seed = 1, .purpose = Purpose::kBench, .id = k});
    const std::uint32_t wanted = 20 + stream.below(181);
    stream.dirichlet(concentration, shares);
    for (std::uint32_t c = 0; c < classes; ++c) {
      population.labels.row(k)[c] = static_cast<std::uint32_t>(shares[c] * wanted);
      population.samples[k] += population.labels.row(k)[c];
    }
    if (population.samples[k] == 0) population.samples[k] = population.labels.row(k)[0] = 1;
  }
  return population;
}

// Updates in `clusters` directions with as much noise as signal.
Population planted_vectors(std::uint32_t clients, std::uint32_t width, std::uint32_t clusters) {
  Population population{.vectors = {clients, width},
                        .samples = std::vector<std::uint32_t>(clients, 100),
                        .truth = std::vector<std::uint32_t>(clients)};
  Rows<float> centres(clusters, width);
  Stream centre_stream({.seed = 2, .purpose = Purpose::kBench});
  // Sums of four uniform draws are normal enough, and quick to make for 40 million numbers.
  const auto draw = [](Stream& stream) {
    const std::uint64_t bits = stream.next64();
    const double sum =
        static_cast<double>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
    return static_cast<float>((sum / 65536.0 - 2) * 1.7320508);
  };
  for (float& value : centres.values) value = draw(centre_stream);
  for (std::uint32_t k = 0; k < clients; ++k) {
    Stream stream({.seed = 2, .purpose = Purpose::kBench, .id = k + 1});
    population.truth[k] = k % clusters;
    const std::span<const float> centre = std::as_const(centres).row(k % clusters);
    const std::span<float> row = population.vectors.row(k);
    for (std::uint32_t j = 0; j < width; ++j) row[j] = centre[j] + draw(stream);
  }
  return population;
}

double mean_cpd_ratio(const Population& population, const Grouping& grouping, std::uint32_t size) {
  const auto random = form_groups({.method = "random", .size = size}, population.input(), {});
  if (!random) return 0;
  return judge_groups(group_counts(grouping, population.labels)).cpd_mean /
         judge_groups(group_counts(random->grouping, population.labels)).cpd_mean;
}

double mean_cov_ratio(const Population& population, const Grouping& grouping, std::uint32_t size) {
  const auto random = form_groups({.method = "random", .size = size}, population.input(), {});
  if (!random) return 0;
  return judge_groups(group_counts(grouping, population.labels)).cov_mean /
         judge_groups(group_counts(random->grouping, population.labels)).cov_mean;
}

struct Plan {
  std::string name;
  std::vector<std::uint32_t> sizes;  // clients, ascending; the last is the one the limit is for
  double at_most;
  std::function<Population(std::uint32_t clients)> make;
  std::function<GroupingOptions(std::uint32_t clients)> options;
  std::string checked;
  std::function<Status(const Population&, const Grouping&)> check;
  bool large = false;
};

Status better_mixed(double ratio, double at_most, const char* figure) {
  if (ratio <= at_most) return {};
  return failure("{} is {:.3f} of random groups', want at most {}", figure, ratio, at_most);
}

Status all_found(const Population& population, const Grouping& grouping) {
  const Agreement found = agreement(grouping, population.truth);
  if (found.correct == found.clients) return {};
  return failure("{} of {} clients are in their planted cluster, want all", found.correct, found.clients);
}

std::vector<Plan> plans() {
  const auto labels = [](std::uint32_t classes) {
    return [classes](std::uint32_t clients) { return skewed_labels(clients, classes); };
  };
  const auto by_cov = [](std::uint32_t) {
    return GroupingOptions{.method = "coefficient-of-variation", .min_size = 5, .max_cov = 0.5};
  };
  const auto cov_falls = [](const Population& p, const Grouping& g) {
    return better_mixed(mean_cov_ratio(p, g, 5), 0.8, "the mean coefficient of variation");
  };
  const auto inter_cluster = [](std::uint32_t clients) {
    return GroupingOptions{.method = "inter-cluster", .groups = std::max(1u, clients / 7), .max_iterations = 10};
  };
  // Little can be gained on 62 Dirichlet classes with seven clusters: what must hold is the size of every group.
  const auto sevens = [](const Population& p, const Grouping& g) -> Status {
    MUSTER_TRY(better_mixed(mean_cpd_ratio(p, g, 7), 1.05, "the mean class probability distance"));
    for (std::uint32_t i = 0; i < g.count(); ++i) {
      if (g.members({i}).size() != 7) return failure("group {} has {} clients, want 7", i, g.members({i}).size());
    }
    return {};
  };
  const auto planted = [](std::uint32_t width, std::uint32_t clusters) {
    return [=](std::uint32_t clients) { return planted_vectors(clients, width, clusters); };
  };
  const auto with_groups = [](const char* method, std::uint32_t groups) {
    return [=](std::uint32_t) { return GroupingOptions{.method = method, .groups = groups}; };
  };
  const char* mixed = "mean CoV at most 0.8 of random groups'";
  const char* one_of_each = "groups of 7, mean CPD at most 1.05 of random groups'";
  const char* found = "every client in its planted cluster";
  return {
      {"coefficient-of-variation, 1000 clients, 10 classes",
       {250, 500, 1000},
       0.010,
       labels(10),
       by_cov,
       mixed,
       cov_falls},
      {"coefficient-of-variation, 10000 clients, 35 classes",
       {2500, 5000, 10000},
       1.5,
       labels(35),
       by_cov,
       mixed,
       cov_falls},
      {"coefficient-of-variation, 100000 clients, 10 classes",
       {25000, 50000, 100000},
       180,
       labels(10),
       by_cov,
       mixed,
       cov_falls,
       true},
      {"inter-cluster, 364 clients into 52 groups, 62 classes",
       {91, 182, 364},
       0.005,
       labels(62),
       inter_cluster,
       one_of_each,
       sevens},
      {"inter-cluster, 3550 clients into 507 groups, 62 classes",
       {889, 1778, 3550},
       0.250,
       labels(62),
       inter_cluster,
       one_of_each,
       sevens},
      {"kl-greedy, 400 clients, 10 classes",
       {100, 200, 400},
       0.010,
       labels(10),
       [](std::uint32_t) { return GroupingOptions{.method = "kl-greedy", .min_size = 5}; },
       mixed,
       cov_falls},
      {"decomposed-cosine, 100 updates x 415258",
       {25, 50, 100},
       0.15,
       planted(415258, 5),
       with_groups("decomposed-cosine", 5),
       found,
       all_found},
      {"mean-absolute-cosine, 1000 updates x 7850",
       {250, 500, 1000},
       0.6,
       planted(7850, 5),
       with_groups("mean-absolute-cosine", 5),
       found,
       all_found},
      {"gap-voting, 1000 clients x 5130 weights",
       {250, 500, 1000},
       0.4,
       planted(5130, 4),
       [](std::uint32_t) { return GroupingOptions{.method = "gap-voting"}; },
       found,
       all_found},
  };
}

Result<Grouping> grouping_of(const Population& population, const GroupingOptions& options) {
  MUSTER_ASSIGN(FormedGroups formed, form_groups(options, population.input(), {.seed = 1}));
  return std::move(formed.grouping);
}

double peak_mb() {
  return static_cast<double>(peak_rss_bytes()) / (1 << 20);
}

// Slope of log seconds over log clients, by least squares.
double growth(std::span<const std::uint32_t> clients, std::span<const double> seconds) {
  const auto n = static_cast<double>(clients.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const double a = std::log(clients[i]);
    const double b = std::log(seconds[i]);
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

Result<GroupingCase> run_plan(const Plan& plan, double scale) {
  GroupingCase result{.name = plan.name, .at_most = plan.at_most, .checked = plan.checked};
  const double before_mb = peak_mb();
  std::vector<std::uint32_t> sizes;
  std::vector<double> seconds;
  for (const std::uint32_t full : plan.sizes) {
    const auto clients = static_cast<std::uint32_t>(std::max(20.0, std::round(full * scale)));
    const Population population = plan.make(clients);
    const GroupingOptions options = plan.options(clients);
    double fastest = 0;
    // Short ones are repeated until their time is well above the clock's grain and one undisturbed repeat is likely.
    double spent = 0;
    for (int repeat = 0; repeat < (plan.large ? 1 : 20) && (repeat < 2 || spent < 1); ++repeat) {
      const double begun = cpu_seconds();
      Result<Grouping> formed = grouping_of(population, options);
      const double took = std::max(cpu_seconds() - begun, 1e-7);
      if (!formed) return std::move(formed).error().within(plan.name);
      if (repeat == 0) {
        if (Status checked = plan.check(population, *formed); !checked) {
          return std::move(checked).error().within(fmt::format("{}, {} clients", plan.name, clients));
        }
      }
      fastest = repeat == 0 ? took : std::min(fastest, took);
      spent += took;
    }
    sizes.push_back(clients);
    seconds.push_back(fastest);
    result.sizes += fmt::format("{}{}: {:.3g} s", result.sizes.empty() ? "" : ", ", clients, fastest);
  }
  result.seconds = seconds.back();
  result.exponent = growth(sizes, seconds);
  result.peak_mb = peak_mb() - before_mb;
  return result;
}

}  // namespace

Result<std::vector<GroupingCase>> run_grouping_bench(const GroupingBenchOptions& options) {
  std::vector<GroupingCase> cases;
  for (const Plan& plan : plans()) {
    if (plan.large && !options.large) continue;
    if (plan.name.find(options.only) == std::string::npos) continue;
    if (options.say) options.say(plan.name);
    MUSTER_ASSIGN(GroupingCase result, run_plan(plan, options.scale));
    cases.push_back(std::move(result));
  }
  if (cases.empty()) return usage_error("--case: no case has '{}' in its name", options.only);
  return cases;
}

}  // namespace muster
