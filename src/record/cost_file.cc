#include "record/cost_file.h"

#include <cmath>
#include <map>

#include "base/file.h"
#include "record/json_text.h"

namespace muster {
namespace {

constexpr const char* kFormat = "muster-costs-1";
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostParameters = std::uint64_t{1} << 40;
constexpr std::size_t kMostName = 64;

Result<FittedCurve> curve_in(const nlohmann::json& json) {
  FittedCurve curve;
  for (const auto& [name, value] : {std::pair("quadratic", &curve.quadratic), std::pair("linear", &curve.linear),
                                    std::pair("constant", &curve.constant), std::pair("r2", &curve.r2)}) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    if (found == json.end() || !found->is_number()) return failure("no number \"{}\"", name);
    *value = found->get<double>();
    if (!std::isfinite(*value)) return failure("\"{}\" is not finite", name);
  }
  return curve;
}

Result<MeasuredOperation> operation_in(const nlohmann::json& json) {
  const auto name = json.is_object() ? json.find("operation") : json.end();
  const auto parameters = json.is_object() ? json.find("parameters") : json.end();
  if (name == json.end() || !name->is_string() || parameters == json.end() || !parameters->is_number_unsigned()) {
    return failure("want \"operation\" and \"parameters\"");
  }
  MeasuredOperation read{
      .operation = name->get<std::string>(), .parameters = parameters->get<std::uint64_t>(), .by_size = {}};
  if (read.operation.empty() || read.operation.size() > kMostName)
    return failure("a name of {} bytes", read.operation.size());
  if (read.parameters == 0 || read.parameters > kMostParameters) return failure("{} parameters", read.parameters);
  MUSTER_ASSIGN(read.by_size, curve_in(json));
  return read;
}

}  // namespace

nlohmann::ordered_json to_json(const FittedCurve& curve) {
  return {{"quadratic", curve.quadratic}, {"linear", curve.linear}, {"constant", curve.constant}, {"r2", curve.r2}};
}

nlohmann::ordered_json to_json(const std::vector<MeasuredOperation>& operations) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const MeasuredOperation& one : operations) {
    nlohmann::ordered_json row{{"operation", one.operation}, {"parameters", one.parameters}};
    row.update(to_json(one.by_size));
    list.push_back(std::move(row));
  }
  return list;
}

std::string to_text(const MeasuredCosts& costs) {
  return json_text(nlohmann::ordered_json{
             {"format", kFormat}, {"operations", to_json(costs.operations)}, {"epoch", to_json(costs.epoch)}}) +
         '\n';
}

Result<MeasuredCosts> parse_cost_file(std::string_view text) {
  MUSTER_ASSIGN(const nlohmann::json json, parse_json(text));
  const auto format = json.is_object() ? json.find("format") : json.end();
  if (format == json.end() || *format != kFormat) return failure("no file of costs: \"format\" is not \"{}\"", kFormat);
  MeasuredCosts costs;
  const auto operations = json.find("operations");
  if (operations == json.end() || !operations->is_array() || operations->empty()) {
    return failure("\"operations\": want a list");
  }
  std::map<std::string, std::uint64_t> largest;
  for (const nlohmann::json& row : *operations) {
    Result<MeasuredOperation> read = operation_in(row);
    if (!read) {
      return std::move(read).error().within(fmt::format("\"operations\", entry {}", costs.operations.size() + 1));
    }
    std::uint64_t& before = largest[read->operation];
    if (read->parameters <= before) {
      return failure("\"operations\", entry {}: {} parameters after {}, want ascending sizes",
                     costs.operations.size() + 1, read->parameters, before);
    }
    before = read->parameters;
    costs.operations.push_back(*std::move(read));
  }
  const auto epoch = json.find("epoch");
  Result<FittedCurve> curve = curve_in(epoch == json.end() ? nlohmann::json() : *epoch);
  if (!curve) return std::move(curve).error().within("\"epoch\"");
  if (curve->quadratic != 0) return failure("\"epoch\": \"quadratic\" is {}, want 0", curve->quadratic);
  costs.epoch = *curve;
  return costs;
}

Result<MeasuredCosts> read_cost_file(const std::filesystem::path& path) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, kMostBytes));
  Result<MeasuredCosts> costs = parse_cost_file({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!costs) return std::move(costs).error().within(path.string());
  return costs;
}

}  // namespace muster
