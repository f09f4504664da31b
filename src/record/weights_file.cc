#include "record/weights_file.h"

#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "model/tensor_file.h"
#include "record/json_text.h"

namespace muster {
namespace {

static_assert(std::endian::native == std::endian::little, "both formats hold little-endian numbers");

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kLayout =
    "dense [in][out]; convolution [kernel height][kernel width][in channels][out channels]; "
    "lstm [in][4*hidden] and [hidden][4*hidden], gates i, f, g, o";

std::uint64_t bytes_of(const ParameterTensor& tensor) {
  return std::uint64_t{tensor.range.size} * sizeof(float);
}

void check_tiling(std::span<const ParameterTensor> tensors, std::size_t values) {
  std::size_t next = 0;
  for (const ParameterTensor& tensor : tensors) {
    const std::size_t elements =
        std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::size_t{1}, std::multiplies<>());
    MUSTER_CHECK(tensor.range.offset == next && tensor.range.size == elements, "{}: {} values at {}, want {} at {}",
                 tensor.name, tensor.range.size, tensor.range.offset, elements, next);
    next += elements;
  }
  MUSTER_CHECK(next == values, "tensors of {} values for a flat vector of {}", next, values);
}

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

template <typename T>
void append_value(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// What a NumPy array file holds before the values; a multiple of 64 bytes, so that they can be mapped.
std::string npy_header(std::span<const std::uint32_t> shape) {
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}{}), }}",
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::size_t kFixedBytes = 10;
  text.append(63 - (kFixedBytes + text.size()) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  append_value(header, static_cast<std::uint16_t>(text.size()));
  return header + text;
}

// The fields that a zip file's local and central records share, from "version needed" to "name length".
std::string zip_fields(std::uint32_t crc, std::uint32_t bytes, std::size_t name_bytes) {
  constexpr std::uint16_t kVersionNeeded = 20;
  constexpr std::uint16_t kFirstDay = 0x21;  // 1980-01-01: equal weights give equal files
  std::string out;
  append_value(out, kVersionNeeded);
  append_value(out, std::uint16_t{0});  // flags
  append_value(out, std::uint16_t{0});  // stored
  append_value(out, std::uint16_t{0});  // time
  append_value(out, kFirstDay);
  append_value(out, crc);
  append_value(out, bytes);
  append_value(out, bytes);
  append_value(out, static_cast<std::uint16_t>(name_bytes));
  return out;
}

// A zip file of stored members, as parts to be written one after the other. The contents are borrowed.
class ZipParts {
 public:
  // The member's bytes are `head`, then `content`.
  void add(const std::string& name, const std::string& head, std::string_view content) {
    const std::uint64_t bytes = head.size() + content.size();
    uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(head.data()), head.size());
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(content.data()), content.size());
    const std::string fields =
        zip_fields(static_cast<std::uint32_t>(crc), static_cast<std::uint32_t>(bytes), name.size());

    std::string& record = records_.emplace_back("PK\x03\x04");
    record += fields;
    append_value(record, std::uint16_t{0});  // extra field
    record += name + head;
    parts_.push_back(record);
    parts_.push_back(content);

    directory_ += "PK\x01\x02";
    append_value(directory_, std::uint16_t{20});  // version made by
    directory_ += fields;
    directory_.append(12, '\0');  // no extra field, no comment, disk 0, no attributes
    append_value(directory_, static_cast<std::uint32_t>(offset_));
    directory_ += name;
    offset_ += record.size() + content.size();
  }

  // Fails if there is more than the format holds. Call it once.
  Result<std::vector<std::string_view>> finish() {
    const std::size_t members = records_.size();
    if (members >= UINT16_MAX) {
      return failure("{} arrays, but an npz file holds less than {}; write safetensors", members, UINT16_MAX);
    }
    if (offset_ >= UINT32_MAX) {
      return failure("an npz file holds less than 4 GiB, the model has more; write safetensors");
    }
    const auto directory_bytes = static_cast<std::uint32_t>(directory_.size());
    directory_ += "PK\x05\x06";
    append_value(directory_, std::uint32_t{0});  // disks
    append_value(directory_, static_cast<std::uint16_t>(members));
    append_value(directory_, static_cast<std::uint16_t>(members));
    append_value(directory_, directory_bytes);
    append_value(directory_, static_cast<std::uint32_t>(offset_));
    append_value(directory_, std::uint16_t{0});  // comment
    parts_.push_back(directory_);
    return parts_;
  }

 private:
  std::deque<std::string> records_;  // whose addresses stay: each a local record, a name and what precedes the content
  std::vector<std::string_view> parts_;
  std::string directory_;
  std::uint64_t offset_ = 0;
};

}  // namespace

Status write_safetensors(const std::filesystem::path& path, std::span<const ParameterTensor> tensors,
                         std::span<const float> flat, const std::map<std::string, std::string>& metadata) {
  check_tiling(tensors, flat.size());
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  auto& notes = header[std::string(kMetadata)] = metadata;
  if (!notes.contains("layout")) notes["layout"] = kLayout;
  for (const ParameterTensor& tensor : tensors) {
    const std::uint64_t begin = std::uint64_t{tensor.range.offset} * sizeof(float);
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, begin + bytes_of(tensor)}}};
  }
  std::string text = json_text(header);
  text.append((8 - text.size() % 8) % 8, ' ');  // the values begin at a multiple of 8
  std::string length;
  append_value(length, std::uint64_t{text.size()});
  return write_file(path, std::vector<std::string_view>{length, text, bytes_of(flat)});
}

Status write_npz(const std::filesystem::path& path, std::span<const ParameterTensor> tensors,
                 std::span<const float> flat, const std::map<std::string, std::string>& texts) {
  check_tiling(tensors, flat.size());
  ZipParts zip;
  for (const ParameterTensor& tensor : tensors) {
    zip.add(tensor.name + ".npy", npy_header(tensor.shape),
            bytes_of(flat.subspan(tensor.range.offset, tensor.range.size)));
  }
  for (const auto& [name, text] : texts) zip.add(name, {}, text);
  auto parts = zip.finish();
  if (!parts) return std::move(parts).error().within(path.string());
  return write_file(path, *parts);
}

namespace {

Result<std::vector<float>> in_order_of(std::span<const ParameterTensor> tensors, const TensorFile& file) {
  for (const ParameterTensor& held : file.tensors) {
    if (std::ranges::find(tensors, held.name, &ParameterTensor::name) == tensors.end()) {
      return failure("holds a tensor '{}' that the network does not have", held.name);
    }
  }
  std::vector<float> flat(file.values.size());
  for (const ParameterTensor& tensor : tensors) {
    const auto held = std::ranges::find(file.tensors, tensor.name, &ParameterTensor::name);
    if (held == file.tensors.end()) return failure("holds no tensor '{}'", tensor.name);
    if (held->shape != tensor.shape) {
      return failure("tensor '{}' has the shape [{}], the network wants [{}]", tensor.name, fmt::join(held->shape, ","),
                     fmt::join(tensor.shape, ","));
    }
    std::ranges::copy(std::span(file.values).subspan(held->range.offset, held->range.size),
                      flat.begin() + static_cast<std::ptrdiff_t>(tensor.range.offset));
  }
  return flat;
}

}  // namespace

Result<std::vector<float>> parse_safetensors(std::span<const std::uint8_t> bytes,
                                             std::span<const ParameterTensor> tensors) {
  MUSTER_ASSIGN(const TensorFile file, parse_tensor_file(bytes));
  return in_order_of(tensors, file);
}

Status write_safetensors(const std::filesystem::path& path, const Network& network, std::span<const float> flat,
                         const std::map<std::string, std::string>& metadata) {
  return write_safetensors(path, network.tensors(), flat, metadata);
}

Status write_npz(const std::filesystem::path& path, const Network& network, std::span<const float> flat,
                 const std::map<std::string, std::string>& texts) {
  return write_npz(path, network.tensors(), flat, texts);
}

Result<std::vector<float>> read_safetensors(const std::filesystem::path& path, const Network& network) {
  MUSTER_ASSIGN(const TensorFile file, read_tensor_file(path, network.size()));
  auto flat = in_order_of(network.tensors(), file);
  if (!flat) return std::move(flat).error().within(path.string());
  return flat;
}

}  // namespace muster
