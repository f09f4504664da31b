#include "data/readers/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/file.h"
#include "data/readers/csv_records.h"

namespace muster {
namespace {

bool is_missing(std::string_view cell) {
  return cell.empty() || cell == "?";
}

// What each column is for.
struct Columns {
  std::vector<std::string> names;
  std::size_t label = 0;
  std::optional<std::size_t> client;
  std::optional<std::size_t> split;
  [[nodiscard]] bool is_feature(std::size_t column) const {
    return column != label && client != column && split != column;
  }
  [[nodiscard]] std::size_t features() const { return names.size() - 1 - (client ? 1 : 0) - (split ? 1 : 0); }
};

std::string list_names(const std::vector<std::string>& names) {
  const std::size_t shown = std::min<std::size_t>(names.size(), 12);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < names.size()) text += fmt::format(", ... ({} columns)", names.size());
  return text;
}

Result<Columns> parse_header(std::span<const std::string> fields, const TableOptions& options) {
  Columns columns;
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::string name(trimmed(fields[i]));
    if (name.empty()) return failure("line 1: column {} has no name (an index column? leave it out)", i + 1);
    if (!seen.insert(name).second) return failure("line 1: column '{}' comes twice", name);
    columns.names.push_back(std::move(name));
  }
  const auto find = [&](const std::string& name) -> std::optional<std::size_t> {
    const auto found = std::find(columns.names.begin(), columns.names.end(), name);
    if (found == columns.names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns.names.begin());
  };
  const TableOptions defaults;
  const auto label = find(options.label);
  if (!label) return usage_error("label: no column '{}', there are {}", options.label, list_names(columns.names));
  columns.label = *label;
  columns.client = find(options.client);
  if (!columns.client && options.client != defaults.client) {
    return usage_error("client: no column '{}', there are {}", options.client, list_names(columns.names));
  }
  columns.split = find(options.split);
  if (!columns.split && options.split != defaults.split) {
    return usage_error("split: no column '{}', there are {}", options.split, list_names(columns.names));
  }
  if (columns.client == columns.label || columns.split == columns.label ||
      (columns.client && columns.client == columns.split)) {
    return usage_error("label, client and split name the same column: '{}', '{}', '{}'", options.label, options.client,
                       options.split);
  }
  if (columns.features() == 0) return failure("no feature columns beside label, client and split");
  return columns;
}

// Cells that were missing, to be filled once all rows are known.
struct Gap {
  std::size_t row;
  std::size_t feature;
  std::size_t line;
};

class TableBuilder {
 public:
  TableBuilder(Columns columns, bool fill_missing) : columns_(std::move(columns)), fill_missing_(fill_missing) {}
  Status add(std::span<const std::string> cells, std::size_t line);
  Result<Table> finish() &&;

 private:
  Status add_feature(std::size_t column, std::string_view cell, std::size_t line);
  Status add_split(std::string_view cell, std::size_t line);
  Status fill_gaps();
  [[nodiscard]] std::string place(std::size_t line, std::size_t column) const {
    return fmt::format("line {}, column '{}'", line, columns_.names[column]);
  }

  Columns columns_;
  bool fill_missing_;
  Table table_;
  std::vector<std::string> labels_;
  std::vector<std::string> clients_;
  std::vector<Gap> gaps_;
};

Status TableBuilder::add_feature(std::size_t column, std::string_view cell, std::size_t line) {
  std::vector<float>& floats = table_.samples.floats;
  if (is_missing(cell)) {
    if (!fill_missing_) {
      return failure("{}: missing value ('{}'); missing = \"mean\" fills such cells", place(line, column), cell);
    }
    gaps_.push_back({labels_.size(), floats.size() - labels_.size() * columns_.features(), line});
    floats.push_back(0.0f);
    return {};
  }
  const std::optional<double> value = parse_number(cell);
  if (!value) {
    return failure("{}: '{}' is not a number; a column of text must be named by label, client or split, or left out",
                   place(line, column), cell.substr(0, 40));
  }
  const auto number = static_cast<float>(*value);
  if (!std::isfinite(number)) {
    return failure("{}: '{}', want a finite number", place(line, column), cell.substr(0, 40));
  }
  floats.push_back(number);
  return {};
}

Status TableBuilder::add_split(std::string_view cell, std::size_t line) {
  const std::optional<double> number = parse_number(cell);
  if (cell == "train" || number == 0.0) {
    table_.is_test.push_back(false);
  } else if (cell == "test" || number == 1.0) {
    table_.is_test.push_back(true);
  } else {
    return failure("{}: '{}', want 0 or train, 1 or test", place(line, *columns_.split), cell.substr(0, 40));
  }
  return {};
}

Status TableBuilder::add(std::span<const std::string> cells, std::size_t line) {
  if (cells.size() != columns_.names.size()) {
    return failure("line {}: {} cells, the header has {} columns", line, cells.size(), columns_.names.size());
  }
  for (std::size_t column = 0; column < cells.size(); ++column) {
    const std::string_view cell = trimmed(cells[column]);
    if (columns_.is_feature(column)) {
      MUSTER_TRY(add_feature(column, cell, line));
    } else if (is_missing(cell)) {
      return failure("{}: missing value ('{}')", place(line, column), cell);
    } else if (columns_.split == column) {
      MUSTER_TRY(add_split(cell, line));
    } else if (columns_.client == column) {
      clients_.emplace_back(cell);
    }
  }
  // Last, because its size is the index of the row that is being added.
  labels_.emplace_back(trimmed(cells[columns_.label]));
  return {};
}

Status TableBuilder::fill_gaps() {
  const std::size_t width = columns_.features();
  std::vector<float>& floats = table_.samples.floats;
  std::sort(gaps_.begin(), gaps_.end(),
            [](const Gap& a, const Gap& b) { return std::pair(a.feature, a.row) < std::pair(b.feature, b.row); });
  for (std::size_t first = 0; first < gaps_.size();) {
    const std::size_t feature = gaps_[first].feature;
    std::size_t last = first;
    while (last < gaps_.size() && gaps_[last].feature == feature) ++last;
    double sum = 0;
    std::size_t count = 0;
    std::size_t gap = first;
    for (std::size_t row = 0; row < labels_.size(); ++row) {
      if (gap < last && gaps_[gap].row == row) {
        ++gap;
      } else if (table_.is_test.empty() || !table_.is_test[row]) {
        sum += floats[row * width + feature];
        ++count;
      }
    }
    if (count == 0) {
      return failure("line {}: no training row has a value to take the mean of for feature {}", gaps_[first].line,
                     feature + 1);
    }
    for (; first < last; ++first) {
      floats[gaps_[first].row * width + feature] = static_cast<float>(sum / static_cast<double>(count));
    }
  }
  return {};
}

// Numbers only if every cell is one: "inf" among words is a word, among numbers an error.
Result<Category> to_category(std::vector<std::string> cells, const char* what) {
  Category category;
  for (const std::string& cell : cells) {
    const std::optional<double> number = parse_number(cell);
    if (!number) {
      category.numbers.clear();
      category.words = std::move(cells);
      return category;
    }
    category.numbers.push_back(*number);
  }
  for (std::size_t row = 0; row < cells.size(); ++row) {
    if (!std::isfinite(category.numbers[row])) {
      return failure("row {}: {} '{}', want a finite number or text", row + 1, what, cells[row].substr(0, 40));
    }
  }
  return category;
}

Result<Table> TableBuilder::finish() && {
  if (labels_.empty()) return failure("no rows after the header");
  MUSTER_TRY(fill_gaps());
  table_.samples.storage = Samples::Storage::kFloats;
  table_.samples.shape = {1, 1, static_cast<std::uint32_t>(columns_.features())};
  MUSTER_ASSIGN(table_.labels, to_category(std::move(labels_), "label"));
  MUSTER_ASSIGN(table_.clients, to_category(std::move(clients_), "client"));
  return std::move(table_);
}

}  // namespace

Result<RawData> parse_csv(std::string_view text, const TableOptions& options) {
  CsvRecords records(text);
  MUSTER_ASSIGN(const bool has_header, records.next());
  if (!has_header) return failure("empty file, want a header row");
  MUSTER_ASSIGN(Columns columns, parse_header(records.fields(), options));
  TableBuilder builder(std::move(columns), options.fill_missing);
  for (;;) {
    MUSTER_ASSIGN(const bool has_record, records.next());
    if (!has_record) break;
    MUSTER_TRY(builder.add(records.fields(), records.line()));
  }
  MUSTER_ASSIGN(Table table, std::move(builder).finish());
  MUSTER_TRY(reshape(table.samples, options.shape));
  return divide(std::move(table));
}

Result<RawData> read_csv(const std::filesystem::path& path, const TableOptions& options) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
  auto data = parse_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options);
  if (!data) return std::move(data).error().within(path.string());
  return data;
}

}  // namespace muster
