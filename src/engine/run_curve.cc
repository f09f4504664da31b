#include "engine/run_curve.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "record/json_text.h"

namespace muster {
namespace {

using ParsedJson = nlohmann::json;

// Whatever is missing or of another type is none.
template <typename T>
std::optional<T> get(const ParsedJson& json, const char* pointer) {
  const ParsedJson::json_pointer place(pointer);
  if (!json.contains(place)) return std::nullopt;
  const ParsedJson& value = json.at(place);
  if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string()) return std::nullopt;
  } else if constexpr (std::is_integral_v<T>) {
    if (!value.is_number_unsigned()) return std::nullopt;
  } else {
    if (!value.is_number()) return std::nullopt;
  }
  return value.get<T>();
}

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

Result<ParsedJson> read_summary(const std::filesystem::path& file) {
  MUSTER_ASSIGN(const auto bytes, read_file(file, kMostSummaryBytes));
  Result<ParsedJson> json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!json || !json->is_object()) return failure("{}: not the summary of a run", file.string());
  return json;
}

Status read_rounds(const std::filesystem::path& file, std::uint32_t kept_round, RunCurve& curve) {
  if (!is_file(file)) return failure("{}: missing", file.string());
  std::ifstream in(file);
  std::uint64_t bytes = 0;
  std::uint32_t last = 0;
  for (std::string line; std::getline(in, line);) {
    const Result<ParsedJson> record = parse_json(line);
    const auto round = record && record->is_object() ? get<std::uint32_t>(*record, "/round") : std::nullopt;
    if (!round || *round != last + 1) {
      return failure("{}:{}: not the record of round {}", file.string(), last + 1, last + 1);
    }
    last = *round;
    bytes +=
        get<std::uint64_t>(*record, "/bytes_up").value_or(0) + get<std::uint64_t>(*record, "/bytes_down").value_or(0);
    if (last == kept_round) curve.validation = get<double>(*record, "/validation_accuracy");
    const std::optional<double> accuracy = get<double>(*record, "/accuracy");
    if (!accuracy) continue;
    curve.evaluations.push_back({.round = last,
                                 .accuracy = *accuracy,
                                 .of_all = get<double>(*record, "/covered").value_or(1) >= 1,
                                 .bytes = bytes,
                                 .cost_s = get<double>(*record, "/cost_total_s").value_or(0)});
  }
  if (last != curve.rounds) return failure("{}: ends with round {} of {}", file.string(), last, curve.rounds);
  return {};
}

}  // namespace

Result<std::optional<RunCurve>> read_run_curve(const std::filesystem::path& folder) {
  if (!is_file(folder / "summary.json")) return std::optional<RunCurve>();
  MUSTER_ASSIGN(const ParsedJson summary, read_summary(folder / "summary.json"));
  RunCurve curve{.run = folder.filename().string(), .dir = folder};
  curve.stopped = get<std::string>(summary, "/stopped").value_or("");
  if (curve.stopped == "interrupted") return std::optional<RunCurve>();
  curve.seed = get<std::uint64_t>(summary, "/seed").value_or(0);
  curve.signature = get<std::string>(summary, "/signature").value_or("");
  curve.initial_model = get<std::string>(summary, "/initial_model").value_or("");
  curve.rounds = get<std::uint32_t>(summary, "/rounds").value_or(0);
  curve.accuracy_last = get<double>(summary, "/accuracy/last");
  curve.accuracy_best = get<double>(summary, "/accuracy/best");
  curve.wall_s = get<double>(summary, "/time/wall_s").value_or(0);
  if (curve.stopped.empty() || curve.signature.empty()) {
    return failure("{}: not the summary of a run", (folder / "summary.json").string());
  }
  const std::uint32_t kept = get<std::uint32_t>(summary, "/kept_round").value_or(curve.rounds);
  MUSTER_TRY(read_rounds(folder / "rounds.jsonl", kept, curve));
  return std::optional(std::move(curve));
}

}  // namespace muster
