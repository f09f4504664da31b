#include "record/quality_json.h"

#include "record/json_text.h"

namespace muster {

nlohmann::ordered_json quality_json(const GroupQuality& groups, const GroupQuality& clients) {
  return {{"cov_mean", json_number(groups.cov_mean)},
          {"cpd_median", json_number(groups.cpd_median)},
          {"cpd_low", json_number(groups.cpd_low)},
          {"cpd_high", json_number(groups.cpd_high)},
          {"client_cpd_median", json_number(clients.cpd_median)},
          {"client_cpd_low", json_number(clients.cpd_low)},
          {"client_cpd_high", json_number(clients.cpd_high)},
          {"balance_ratio", json_number(groups.balance_ratio)},
          {"covered_classes", json_number(groups.covered_classes)}};
}

}  // namespace muster
