#include "record/quality_json.h"

#include <cmath>

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace

Json quality_json(const GroupQuality& groups, const GroupQuality& clients) {
  return {{"cov_mean", number(groups.cov_mean)},
          {"cpd_median", number(groups.cpd_median)},
          {"cpd_low", number(groups.cpd_low)},
          {"cpd_high", number(groups.cpd_high)},
          {"client_cpd_median", number(clients.cpd_median)},
          {"client_cpd_low", number(clients.cpd_low)},
          {"client_cpd_high", number(clients.cpd_high)},
          {"balance_ratio", number(groups.balance_ratio)},
          {"covered_classes", number(groups.covered_classes)}};
}

}  // namespace muster
