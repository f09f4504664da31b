#include "solver/training_flops.h"

namespace muster {

double training_flops(const Network& network, bool matches_outputs) {
  const auto macs = static_cast<double>(network.forward_macs());
  const double frozen = matches_outputs ? macs : static_cast<double>(network.fused_macs());
  return 6 * macs + 2 * frozen;
}

}  // namespace muster
