#include "model/tensor_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/file.h"

namespace muster {
namespace {

static_assert(std::endian::native == std::endian::little, "the format holds little-endian numbers");

using nlohmann::json;

constexpr int kHeaderLevels = 3;  // the header, a tensor, its shape
constexpr char kMetadata[] = "__metadata__";

std::string shown(const json& value, std::size_t most) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, most);
}

// A name may hold any bytes, and is shown on one line.
std::string shown_name(const std::string& name) {
  const std::string text = shown(name, 200);
  return fmt::format("'{}'", std::string_view(text).substr(1, text.size() - (text.ends_with('"') ? 2 : 1)));
}

// JSON objects may name a key twice, and parsers keep one of the two: which is not for them to choose.
Result<json> parse_header(std::span<const std::uint8_t> text) {
  bool deep = false;
  std::set<std::string> names;
  std::string twice;
  const auto look = [&](int depth, json::parse_event_t event, json& parsed) {
    const bool opens = event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= kHeaderLevels) deep = true;
    if (event == json::parse_event_t::key && depth == 1 && twice.empty()) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!names.insert(name).second) twice = name;
    }
    return !deep;
  };
  json header = json::parse(text.begin(), text.end(), look, false);
  if (deep) return failure("the header: JSON nested more than {} levels deep", kHeaderLevels);
  if (header.is_discarded()) return failure("the header: not JSON");
  if (!header.is_object()) return failure("the header is not a JSON object");
  if (!twice.empty()) return failure("two tensors are named {}", shown_name(twice));
  return header;
}

// Number of values of the shape, which is filled in; nothing if it is no shape, or of more values than any file has.
std::optional<std::uint64_t> take_shape(const json& value, std::vector<std::uint32_t>& shape) {
  if (!value.is_array()) return std::nullopt;
  std::uint64_t count = 1;
  for (const json& side : value) {
    if (!side.is_number_unsigned() || side.get<std::uint64_t>() > UINT32_MAX) return std::nullopt;
    shape.push_back(side.get<std::uint32_t>());
    if (count > UINT32_MAX) return std::nullopt;
    count *= shape.back();
  }
  return count;
}

// The two numbers of "data_offsets", if they are that.
bool take_offsets(const json& value, std::uint64_t& begin, std::uint64_t& end) {
  if (!value.is_array() || value.size() != 2 || !value[0].is_number_unsigned() || !value[1].is_number_unsigned()) {
    return false;
  }
  begin = value[0].get<std::uint64_t>();
  end = value[1].get<std::uint64_t>();
  return begin <= end;
}

struct Placed {
  ParameterTensor tensor;
  std::uint64_t begin = 0;  // bytes
  std::uint64_t end = 0;
};

Result<Placed> take_tensor(const std::string& name, const json& entry, std::uint64_t bytes) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets")) {
    return failure("tensor {} has no dtype, shape or data_offsets", shown_name(name));
  }
  if (entry["dtype"] != "F32") {
    return failure("tensor {} has the type {}, want \"F32\"", shown_name(name), shown(entry["dtype"], 20));
  }
  Placed placed{.tensor = {.name = name, .shape = {}, .range = {}}};
  const std::optional<std::uint64_t> values = take_shape(entry["shape"], placed.tensor.shape);
  if (!values) {
    return failure("tensor {} has the shape {}, want a list of sizes", shown_name(name), shown(entry["shape"], 60));
  }
  if (!take_offsets(entry["data_offsets"], placed.begin, placed.end) || placed.end > bytes ||
      placed.end - placed.begin != *values * sizeof(float)) {
    return failure("tensor {} has data_offsets that do not cover {} of the {} bytes of values", shown_name(name),
                   *values * sizeof(float), bytes);
  }
  placed.tensor.range.size = *values;
  return placed;
}

}  // namespace

Result<TensorFile> parse_tensor_file(std::span<const std::uint8_t> bytes) {
  std::uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes) return failure("truncated: {} bytes are no safetensors file", bytes.size());
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  bytes = bytes.subspan(sizeof header_bytes);
  if (header_bytes > kMostTensorHeaderBytes) {
    return failure("a header of {} bytes, want <= {}: no safetensors file", header_bytes, kMostTensorHeaderBytes);
  }
  if (header_bytes > bytes.size()) {
    return failure("truncated: a header of {} bytes, {} left", header_bytes, bytes.size());
  }
  MUSTER_ASSIGN(const json header, parse_header(bytes.first(header_bytes)));
  const auto data = bytes.subspan(header_bytes);

  std::vector<Placed> placed;
  for (auto entry = header.begin(); entry != header.end(); ++entry) {
    if (entry.key() == kMetadata) continue;
    MUSTER_ASSIGN(Placed one, take_tensor(entry.key(), entry.value(), data.size()));
    placed.push_back(std::move(one));
  }
  std::ranges::stable_sort(
      placed, [](const Placed& a, const Placed& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::uint64_t next = 0;
  for (const Placed& one : placed) {
    if (one.begin < next) return failure("two tensors overlap at byte {}", one.begin);
    next = one.end;
  }
  TensorFile file;
  next = 0;
  for (Placed& one : placed) {
    if (one.begin != next) break;
    one.tensor.range.offset = next / sizeof(float);
    next = one.end;
    file.tensors.push_back(std::move(one.tensor));
  }
  if (next != data.size()) {
    return failure("byte {} of the {} bytes of values belongs to no tensor", next, data.size());
  }
  file.values.resize(data.size() / sizeof(float));
  if (!file.values.empty()) std::memcpy(file.values.data(), data.data(), data.size());
  return file;
}

Result<TensorFile> read_tensor_file(const std::filesystem::path& path, std::uint64_t most_values) {
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown)) {
    return failure("{}: not a file", path.string());
  }
  const std::uint64_t limit = sizeof(std::uint64_t) + kMostTensorHeaderBytes + most_values * sizeof(float);
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, limit));
  auto file = parse_tensor_file(bytes);
  if (!file) return std::move(file).error().within(path.string());
  if (file->values.size() > most_values) {
    return failure("{}: {} values, want at most {}", path.string(), file->values.size(), most_values);
  }
  return file;
}

}  // namespace muster
