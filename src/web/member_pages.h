// What is shown of one client and of one group of a run, in the form that charts.js draws: docs/report.md.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "report/run_records.h"

namespace muster {

// Fails if the run knows no such client.
[[nodiscard]] Result<nlohmann::json> describe_client(const RunRecords& run, std::uint32_t client);

// A group of the last grouping, and its members as rows (see client_rows). Fails if there is no such group.
[[nodiscard]] Result<nlohmann::json> describe_group(const RunRecords& run, std::uint32_t group);

enum class ClientOrder { kNumber, kName, kSamples, kGroup, kTrained, kDropped, kAccuracy };

struct ClientQuery {
  ClientOrder order = ClientOrder::kNumber;
  bool down = false;
  std::string filter = {};  // a part of the name, or the number; upper and lower case count the same
  std::size_t from = 0;
  std::size_t count = 100;  // at most 1,000 are given
};
[[nodiscard]] Result<ClientOrder> parse_client_order(const std::string& word);

// {total, found, rows: [{client, name, samples, group, trained, dropped, accuracy}]}
[[nodiscard]] nlohmann::json client_rows(const RunRecords& run, const ClientQuery& query);

}  // namespace muster
