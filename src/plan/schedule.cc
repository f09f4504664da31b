#include "plan/schedule.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/names.h"

namespace muster {
namespace {

// Products like 0.29 * 100 fall a hair short of the integer they stand for.
double whole(double value) {
  return std::floor(value + 1e-9);
}

struct Growth {
  const char* name;
  const char* summary;
  // What beta is multiplied by (FedGSP, Eq. 1 to 3); may be infinite.
  double (*factor)(double alpha, double round);
};

constexpr Growth kGrowths[] = {
    {"constant", "beta groups in every round", [](double, double) { return 1.0; }},
    {"linear", "beta * floor(alpha * (r - 1) + 1) groups in round r",
     [](double alpha, double round) { return whole(alpha * (round - 1) + 1); }},
    {"log", "beta * floor(alpha * ln r + 1) groups in round r",
     [](double alpha, double round) { return whole(alpha * std::log(round) + 1); }},
    {"exp", "beta * floor((1 + alpha)^(r - 1)) groups in round r",
     [](double alpha, double round) { return whole(std::pow(1 + alpha, round - 1)); }},
};

const Growth* find_growth(const std::string& name) {
  const auto* const found =
      std::find_if(std::begin(kGrowths), std::end(kGrowths), [&](const Growth& growth) { return growth.name == name; });
  return found == std::end(kGrowths) ? nullptr : found;
}

}  // namespace

std::vector<CatalogueEntry> growths() {
  std::vector<CatalogueEntry> entries;
  for (const Growth& growth : kGrowths) entries.push_back({growth.name, growth.summary, {}});
  return entries;
}

Status check_schedule(const GroupSchedule& schedule) {
  if (!find_growth(schedule.growth)) {
    std::vector<std::string> names;
    for (const Growth& growth : kGrowths) names.emplace_back(growth.name);
    return Error{ErrorCode::kUsage, unknown_name("growth", schedule.growth, names)};
  }
  if (!(schedule.alpha >= 0 && std::isfinite(schedule.alpha))) {
    return usage_error("alpha = {}, want a number >= 0", schedule.alpha);
  }
  if (schedule.beta < 1) return usage_error("{} groups, want >= 1", schedule.beta);
  return {};
}

std::uint32_t scheduled_groups(const GroupSchedule& schedule, std::uint32_t round, std::uint32_t clients) {
  const Growth* const growth = find_growth(schedule.growth);
  MUSTER_CHECK(growth && round >= 1, "growth '{}', round {}", schedule.growth, round);
  // Clamped as a double, infinity included: the integer may not exist.
  return static_cast<std::uint32_t>(
      std::min(schedule.beta * growth->factor(schedule.alpha, round), static_cast<double>(clients)));
}

}  // namespace muster
