// The file of measured costs that `muster bench secure --out` writes and cost.file names: JSON, see docs/files.md.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cost/measured_costs.h"

namespace muster {

// "operations" and "epoch", as they are in the file.
[[nodiscard]] nlohmann::ordered_json to_json(const FittedCurve& curve);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<MeasuredOperation>& operations);

[[nodiscard]] std::string to_text(const MeasuredCosts& costs);
// Fails on whatever to_text() does not write: other JSON, numbers that are missing or not finite, sizes out of order.
[[nodiscard]] Result<MeasuredCosts> parse_cost_file(std::string_view text);

// Errors name the file.
[[nodiscard]] Result<MeasuredCosts> read_cost_file(const std::filesystem::path& path);

}  // namespace muster
