#include "data/readers/npz.h"

#include <cmath>
#include <limits>
#include <optional>

#include "base/file.h"
#include "data/readers/npy.h"
#include "data/readers/table_notes.h"
#include "data/readers/zip.h"

namespace muster {
namespace {

constexpr std::uint64_t kLimit = std::uint64_t{16} << 30;

class Archive {
 public:
  explicit Archive(std::vector<ZipMember> members) : members_(std::move(members)) {}

  [[nodiscard]] bool has(const std::string& name) const { return find(name) != nullptr; }
  // Precondition: has(name). The array lives as long as the archive.
  [[nodiscard]] Result<NpyArray> array(const std::string& name) const {
    auto parsed = parse_npy(find(name)->bytes);
    if (!parsed) return std::move(parsed).error().within(fmt::format("array '{}'", name));
    return parsed;
  }
  [[nodiscard]] std::string names() const {
    std::string list;
    for (const ZipMember& member : members_) {
      if (list.size() > 200) return list + ", ...";
      list += (list.empty() ? "" : ", ") + member.name;
    }
    return list.empty() ? "none" : list;
  }

 private:
  [[nodiscard]] const ZipMember* find(const std::string& name) const {
    for (const ZipMember& member : members_) {
      if (member.name == name + ".npy") return &member;
    }
    return nullptr;
  }

  std::vector<ZipMember> members_;
};

// (N), (N, n), (N, h, w) or (N, h, w, c).
Result<Shape> row_shape(const NpyArray& x) {
  const std::vector<std::uint64_t>& dims = x.dims;
  if (dims.empty() || dims.size() > 4) {
    return failure("array 'x': {} dimensions, want (N), (N, n), (N, h, w) or (N, h, w, c)", dims.size());
  }
  if (x.count == 0) return failure("array 'x': ({}) is empty", fmt::join(dims, ", "));
  for (const std::uint64_t size : dims) {
    if (size > std::numeric_limits<std::uint32_t>::max()) return failure("array 'x': dimension {} is too large", size);
  }
  const auto dim = [&](std::size_t i) { return static_cast<std::uint32_t>(dims[i]); };
  switch (dims.size()) {
    case 1:
      return Shape{1, 1, 1};
    case 2:
      return Shape{1, 1, dim(1)};
    case 3:
      return Shape{dim(1), dim(2), 1};
    default:
      return Shape{dim(1), dim(2), dim(3)};
  }
}

// One finite number per row.
Result<std::vector<double>> column(const Archive& archive, const std::string& name, std::size_t rows) {
  MUSTER_ASSIGN(const NpyArray array, archive.array(name));
  const bool flat = array.dims.size() == 1 || (array.dims.size() == 2 && array.dims[1] == 1);
  if (!flat || array.count != rows) {
    return failure("array '{}': ({}), want one number for each of the {} rows of x", name, fmt::join(array.dims, ", "),
                   rows);
  }
  std::vector<double> values(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    values[row] = array.at(row);
    if (!std::isfinite(values[row]))
      return failure("array '{}': row {} is {}, want a finite number", name, row, values[row]);
  }
  return values;
}

// Under its default name an array may be absent.
Status check_there(const Archive& archive, const char* key, const std::string& name, const std::string& default_name) {
  if (archive.has(name) || name == default_name) return {};
  return usage_error("{}: no array '{}', there are {}", key, name, archive.names());
}

// Which rows the array `name` marks as tests; empty if there is no such array.
Result<std::vector<bool>> test_rows(const Archive& archive, const std::string& name, std::size_t rows) {
  std::vector<bool> is_test;
  if (!archive.has(name)) return is_test;
  MUSTER_ASSIGN(const std::vector<double> split, column(archive, name, rows));
  for (std::size_t row = 0; row < rows; ++row) {
    if (split[row] != 0 && split[row] != 1) {
      return failure("array '{}': row {} is {}, want 0 (train) or 1 (test)", name, row, split[row]);
    }
    is_test.push_back(split[row] == 1);
  }
  return is_test;
}

Status fill_samples(const NpyArray& x, Samples& samples) {
  MUSTER_ASSIGN(samples.shape, row_shape(x));
  if (x.type == NpyArray::Type::kU8) {
    samples.storage = Samples::Storage::kBytes;
    samples.bytes.assign(x.payload.begin(), x.payload.end());
    return {};
  }
  samples.storage = Samples::Storage::kFloats;
  samples.floats.resize(x.count);
  for (std::size_t i = 0; i < x.count; ++i) {
    samples.floats[i] = static_cast<float>(x.at(i));
    if (!std::isfinite(samples.floats[i])) {
      return failure("array 'x': row {}: {} is not a finite float", i / samples.shape.size(), x.at(i));
    }
  }
  return {};
}

}  // namespace

Result<RawData> parse_npz(std::span<const std::uint8_t> bytes, const TableOptions& options) {
  MUSTER_ASSIGN(std::vector<ZipMember> members, unzip(bytes, kLimit));
  const Archive archive(std::move(members));
  if (!archive.has("x")) return failure("no array 'x', there are {}", archive.names());
  const TableOptions defaults;
  const bool as_y = options.label == defaults.label && !archive.has(options.label);
  const std::string label = as_y ? std::string("y") : options.label;
  if (!archive.has(label)) return usage_error("label: no array '{}', there are {}", label, archive.names());

  Table table;
  MUSTER_ASSIGN(const NpyArray x, archive.array("x"));
  MUSTER_TRY(fill_samples(x, table.samples));
  const auto rows = static_cast<std::size_t>(x.dims[0]);
  MUSTER_ASSIGN(std::vector<double> labels, column(archive, label, rows));
  table.labels = number_categories({.numbers = std::move(labels), .words = {}});
  MUSTER_TRY(check_there(archive, "client", options.client, options.one_client ? options.client : defaults.client));
  if (archive.has(options.client)) {
    MUSTER_ASSIGN(std::vector<double> clients, column(archive, options.client, rows));
    table.clients = number_categories({.numbers = std::move(clients), .words = {}});
  }
  MUSTER_TRY(check_there(archive, "split", options.split, defaults.split));
  MUSTER_ASSIGN(table.is_test, test_rows(archive, options.split, rows));
  MUSTER_TRY(reshape(table.samples, options.shape));
  MUSTER_ASSIGN(RawData data, divide(std::move(table)));
  data.preparation.label = label;
  if (!data.client_names.empty()) data.preparation.client = options.client;
  note_many_labels(label, data);
  return data;
}

Result<NpzRows> parse_npz_rows(std::span<const std::uint8_t> bytes, const std::string& label, const std::string& client,
                               const std::string& split) {
  MUSTER_ASSIGN(std::vector<ZipMember> members, unzip(bytes, kLimit));
  const Archive archive(std::move(members));
  if (!archive.has("x")) return failure("no array 'x', there are {}", archive.names());
  NpzRows rows;
  MUSTER_ASSIGN(const NpyArray x, archive.array("x"));
  MUSTER_TRY(fill_samples(x, rows.samples));
  rows.rows = static_cast<std::size_t>(x.dims[0]);
  const std::string labels = !label.empty() && archive.has(label) ? label : "y";
  if (archive.has(labels)) {
    MUSTER_ASSIGN(rows.labels, column(archive, labels, rows.rows));
  }
  if (!client.empty() && archive.has(client)) {
    MUSTER_ASSIGN(rows.clients, column(archive, client, rows.rows));
  }
  if (!split.empty()) {
    MUSTER_ASSIGN(rows.is_test, test_rows(archive, split, rows.rows));
  }
  return rows;
}

Result<RawData> read_npz(const std::filesystem::path& path, const TableOptions& options) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
  auto data = parse_npz(bytes, options);
  if (!data) return std::move(data).error().within(path.string());
  return data;
}

}  // namespace muster
