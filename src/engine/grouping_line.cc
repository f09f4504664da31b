#include "engine/grouping_line.h"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "record/json_text.h"
#include "record/quality_json.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

// Groupings with more groups than this are recorded by their number only.
constexpr std::uint32_t kListedGroups = 10000;

Json ids_of(std::span<const ClientId> clients) {
  Json list = Json::array();
  for (const ClientId client : clients) list.push_back(client.value);
  return list;
}

Json in_json(const Agreement& truth) {
  return {{"correct", truth.correct},
          {"clients", truth.clients},
          {"adjusted_rand", truth.adjusted_rand},
          {"mutual_information", truth.mutual_information}};
}

// To six digits: a matrix has many numbers.
Json rounded(double value) {
  return std::isfinite(value) ? Json(std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr)) : Json(nullptr);
}

Json in_json(const ClientDistances& distances) {
  Json rows = Json::array();
  for (std::uint32_t i = 0; i < distances.rows.count(); ++i) {
    Json& row = rows.emplace_back(Json::array());
    for (const double value : distances.rows.row(i)) row.push_back(rounded(value));
  }
  return {{"metric", distances.metric}, {"clients", ids_of(distances.clients)}, {"rows", std::move(rows)}};
}

}  // namespace

std::string grouping_line(const FormedGrouping& formed, const Oracle* oracle) {
  const Grouping& grouping = formed.grouping;
  Json line{{"round", formed.round}, {"method", formed.method}, {"count", grouping.count()}, {"why", formed.why}};
  if (oracle) {
    const Oracle::Judgement judged = oracle->judge(grouping);
    line["quality"] = quality_json(judged.quality, oracle->client_quality());
    if (!grouping.all_alone()) {
      for (std::uint32_t g = 0; g < judged.labels.count(); ++g) {
        const std::span<const std::uint64_t> counts = judged.labels.row(g);
        line["labels"].push_back(std::vector(counts.begin(), counts.end()));
      }
    }
  }
  if (formed.profile && formed.profile->entry().gives != ProfileGives::kNothing) {
    line["profile"] = {{"kind", formed.profile->entry().name},
                       {"bytes_up", formed.bytes_up},
                       {"bytes_down", formed.bytes_down},
                       {"reveals", formed.profile->reveals()}};
    if (const auto epsilon = formed.profile->epsilon()) line["profile"]["epsilon"] = *epsilon;
  }
  if (const auto found = oracle ? oracle->truth(grouping) : std::nullopt) line["truth"] = in_json(*found);
  if (formed.distances) {
    line["distances"] = in_json(*formed.distances);
    if (const auto contrast = oracle ? oracle->contrast(*formed.distances) : std::nullopt) {
      line["truth"]["distance_within"] = rounded(contrast->within);
      line["truth"]["distance_between"] = rounded(contrast->between);
    }
  }
  if (!formed.notes.empty()) line["notes"] = formed.notes;
  line["idle"] = ids_of(grouping.idle());
  if (grouping.count() <= kListedGroups) {
    line["members"] = Json::array();
    for (std::uint32_t g = 0; g < grouping.count(); ++g) line["members"].push_back(ids_of(grouping.members({g})));
  }
  return json_text(line);
}

std::string newcomers_line(std::uint32_t round, std::string_view method, const std::vector<PlacedClient>& placed,
                           const std::optional<Agreement>& truth) {
  Json list = Json::array();
  for (const auto& [client, placement] : placed) {
    list.push_back({{"client", client.value}, {"group", placement.group}, {"dissimilarity", placement.dissimilarity}});
  }
  Json line{{"round", round}, {"method", method}, {"why", "newcomers"}, {"placed", list}};
  if (truth) line["truth"] = in_json(*truth);
  return json_text(line);
}

}  // namespace muster
