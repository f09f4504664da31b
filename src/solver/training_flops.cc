#include "solver/training_flops.h"

namespace muster {

double training_flops(const Network& network, const Objective& objective) {
  const auto macs = static_cast<double>(network.forward_macs());
  const double frozen = objective.output_match() > 0 ? macs : 0;
  return 6 * macs + 2 * frozen;
}

}  // namespace muster
