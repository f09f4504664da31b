#include "solver/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace muster {

std::vector<CatalogueEntry> schedules() {
  return {
      {"decay",
       "times learning-rate-decay after every round: the same in every round where that is 1",
       {"learning-rate-decay"}},
      {"constant", "the same in every round", {}},
      {"steps", "times schedule-factor after every schedule-rounds rounds", {"schedule-rounds", "schedule-factor"}},
      {"cosine",
       "falls towards zero along half a cosine in schedule-rounds rounds, and stays there",
       {"schedule-rounds"}},
  };
}

double learning_rate_in(const LocalOptions& options, std::uint32_t round) {
  const double done = round - 1.0;
  if (options.schedule == "decay") return options.learning_rate * std::pow(options.learning_rate_decay, done);
  if (options.schedule == "steps") {
    return options.learning_rate * std::pow(options.schedule_factor, std::floor(done / *options.schedule_rounds));
  }
  if (options.schedule == "cosine") {
    // Rounds after the last keep its rate: a rate of zero trains nothing, and control variates divide by it.
    const double share = std::min(done, *options.schedule_rounds - 1.0) / *options.schedule_rounds;
    return options.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * share));
  }
  return options.learning_rate;
}

}  // namespace muster
