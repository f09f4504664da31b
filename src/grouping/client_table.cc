#include "grouping/client_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/file.h"
#include "data/readers/csv_records.h"
#include "data/readers/npy.h"
#include "data/readers/table.h"

namespace muster {
namespace {

bool is_header(std::span<const std::string> fields) {
  for (const std::string& field : fields) {
    if (!parse_number(trimmed(field))) return true;
  }
  return false;
}

// Reads a table of numbers; a first column whose header says `client` or `name` holds names and is passed over:
// `convert` turns a cell's number into a value, or says what is wanted instead.
template <typename T, typename Convert>
Result<Rows<T>> parse_table(std::string_view text, const Convert& convert) {
  CsvRecords records(text);
  Rows<T> rows;
  std::size_t names = 0;
  for (bool first = true;; first = false) {
    MUSTER_ASSIGN(const bool more, records.next());
    if (!more) break;
    if (first && records.fields().size() > 1) {
      const std::string_view head = trimmed(records.fields()[0]);
      names = head == "client" || head == "name" ? 1 : 0;
    }
    const std::span<const std::string> fields = records.fields().subspan(std::min(names, records.fields().size()));
    if (first) {
      rows.width = fields.size();
      if (names > 0 || is_header(fields)) continue;
    }
    if (fields.size() != rows.width) {
      return failure("line {}: {} columns, want {} as in the first line", records.line(), fields.size(), rows.width);
    }
    for (std::size_t column = 0; column < fields.size(); ++column) {
      const std::string_view cell = trimmed(fields[column]);
      const std::optional<double> number = parse_number(cell);
      const Result<T> value = number ? convert(*number) : Result<T>(failure("not a number"));
      if (!value) {
        return failure("line {}, column {}: '{}', {}", records.line(), column + 1, cell, value.error().message);
      }
      rows.values.push_back(*value);
    }
  }
  if (rows.values.empty()) return failure("no clients: want a row of numbers for each");
  return rows;
}

Result<std::uint32_t> to_count(double number) {
  if (!(number >= 0 && number <= std::numeric_limits<std::uint32_t>::max() && number == std::floor(number))) {
    return failure("want a whole number from 0 to {}", std::numeric_limits<std::uint32_t>::max());
  }
  return static_cast<std::uint32_t>(number);
}

// One cell per row, as text.
Result<std::vector<std::string>> parse_column(std::string_view text) {
  CsvRecords records(text);
  std::vector<std::string> cells;
  for (;;) {
    MUSTER_ASSIGN(const bool more, records.next());
    if (!more) return cells;
    if (records.fields().size() != 1) {
      return failure("line {}: {} columns, want 1", records.line(), records.fields().size());
    }
    cells.emplace_back(trimmed(records.fields()[0]));
    if (cells.back().empty()) return failure("line {}: empty, want a name or a number", records.line());
  }
}

template <typename Parse>
auto read_text(const std::filesystem::path& path, const Parse& parse) -> decltype(parse(std::string_view())) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
  auto parsed = parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (!parsed) return std::move(parsed).error().within(path.string());
  return parsed;
}

}  // namespace

Result<Rows<std::uint32_t>> parse_label_counts(std::string_view text) {
  MUSTER_ASSIGN(Rows<std::uint32_t> rows, parse_table<std::uint32_t>(text, to_count));
  for (std::uint32_t k = 0; k < rows.count(); ++k) {
    std::uint64_t total = 0;
    for (const std::uint32_t count : std::as_const(rows).row(k)) total += count;
    if (total > std::numeric_limits<std::uint32_t>::max()) {
      return failure("client {}: {} samples, want at most {}", k, total, std::numeric_limits<std::uint32_t>::max());
    }
  }
  return rows;
}

Result<Rows<float>> parse_vectors(std::string_view text) {
  return parse_table<float>(text, [](double number) -> Result<float> { return static_cast<float>(number); });
}

Result<Rows<float>> parse_vectors_npy(std::span<const std::uint8_t> bytes) {
  MUSTER_ASSIGN(const NpyArray array, parse_npy(bytes));
  if (array.dims.empty() || array.dims.size() > 2) {
    return failure("an array of {} dimensions, want 2: clients x values", array.dims.size());
  }
  if (array.count == 0) return failure("no clients: want a row of numbers for each");
  if (array.dims[0] > std::numeric_limits<std::uint32_t>::max()) {
    return failure("{} rows, want fewer than 2^32", array.dims[0]);
  }
  Rows<float> rows(static_cast<std::uint32_t>(array.dims[0]), array.dims.size() == 2 ? array.dims[1] : 1);
  for (std::size_t i = 0; i < array.count; ++i) rows.values[i] = static_cast<float>(array.at(i));
  return rows;
}

Result<std::vector<std::uint32_t>> parse_sizes(std::string_view text) {
  MUSTER_ASSIGN(Rows<std::uint32_t> rows, parse_table<std::uint32_t>(text, to_count));
  if (rows.width != 1) return failure("{} columns, want 1: the samples of each client", rows.width);
  return std::move(rows.values);
}

Result<std::vector<std::uint32_t>> parse_names(std::string_view text, std::uint32_t clients) {
  MUSTER_ASSIGN(std::vector<std::string> cells, parse_column(text));
  if (cells.size() == std::size_t{clients} + 1) cells.erase(cells.begin());
  if (cells.size() != clients) return failure("{} rows, want one for each of the {} clients", cells.size(), clients);
  Category names;
  for (const std::string& cell : cells) {
    const std::optional<double> number = parse_number(cell);
    if (!number || !std::isfinite(*number)) {
      names.numbers.clear();
      names.words = std::move(cells);
      break;
    }
    names.numbers.push_back(*number);
  }
  return number_categories(names).ids;
}

Result<Rows<std::uint32_t>> read_label_counts(const std::filesystem::path& path) {
  return read_text(path, parse_label_counts);
}

Result<Rows<float>> read_vectors(const std::filesystem::path& path) {
  if (!path.string().ends_with(".npy")) return read_text(path, parse_vectors);
  return read_text(path, [](std::string_view text) {
    return parse_vectors_npy({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  });
}

Result<std::vector<std::uint32_t>> read_sizes(const std::filesystem::path& path) {
  return read_text(path, parse_sizes);
}

Result<std::vector<std::uint32_t>> read_names(const std::filesystem::path& path, std::uint32_t clients) {
  return read_text(path, [clients](std::string_view text) { return parse_names(text, clients); });
}

}  // namespace muster
