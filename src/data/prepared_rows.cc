#include "data/prepared_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/file.h"
#include "base/names.h"
#include "data/readers/csv_dialect.h"
#include "data/readers/csv_scan.h"
#include "data/readers/missing_rows.h"
#include "data/readers/npz.h"
#include "data/readers/number_text.h"
#include "data/readers/table_columns.h"
#include "data/readers/table_features.h"
#include "data/readers/table_notes.h"
#include "data/readers/text_encoding.h"
#include "data/shown_text.h"

namespace muster {
namespace {

// The samples of `preparation`, without rows.
Samples empty_samples(const Preparation& preparation) {
  Samples samples;
  samples.storage = preparation.storage;
  samples.shape = preparation.shape;
  samples.classes = static_cast<std::uint32_t>(preparation.classes.size());
  samples.scale = preparation.scale;
  samples.offset = preparation.offset;
  return samples;
}

// What is wrong with a cell. Of several wrong cells the one in the first line is reported.
class FirstFault {
 public:
  void add(std::size_t line, const std::string& column, std::string what) {
    if (error_ && line_ <= line) return;
    line_ = line;
    error_ = failure("line {}, column '{}': {}", line, shown_text(column), what);
  }
  [[nodiscard]] Status status() const { return error_ ? Status(*error_) : Status(); }

 private:
  std::size_t line_ = 0;
  std::optional<Error> error_;
};

class TableReading {
 public:
  TableReading(std::string_view text, const Preparation& preparation, RowsFor use)
      : text_(text), preparation_(preparation), trains_(use == RowsFor::kTraining) {}

  Result<PreparedRows> read() {
    MUSTER_TRY(find_columns());
    MUSTER_TRY(scan());
    if (preparation_.drops_missing) MUSTER_TRY(drop_rows());
    std::vector<std::vector<std::uint32_t>> categories;
    for (std::size_t i = 0; i < preparation_.columns.size(); ++i) {
      const PreparedColumn& column = preparation_.columns[i];
      if (column.kind == PreparedColumn::Kind::kNumber) {
        check_numbers(column, scan_.number_columns[slot(positions_[i])]);
      } else if (column.kind == PreparedColumn::Kind::kText) {
        MUSTER_TRY(cut_texts(column, scan_.text_columns[slot(positions_[i])]));
      } else {
        categories.push_back(category_ids(column, scan_.text_columns[slot(positions_[i])]));
      }
    }
    read_labels();
    read_split();
    MUSTER_TRY(faults_.status());
    if (trains_ && !rows_.has_labels) return failure("no labels in column '{}'", shown_text(preparation_.label));
    if (preparation_.storage != Samples::Storage::kTokens) {
      MUSTER_ASSIGN(rows_.samples.floats,
                    feature_rows(numbers_in_order(), scan_.rows, preparation_.columns, categories));
    }
    read_clients();
    rows_.lines = std::move(scan_.lines);
    return std::move(rows_);
  }

 private:
  // The run's delimiter if it gives all columns, else the one found; the decimal mark that the file shows, the run's
  // where it shows none or both.
  Status choose_dialect() {
    CsvWalk walk(text_, preparation_.delimiter);
    const auto has_header = walk.next();
    const bool fits =
        has_header && *has_header && std::ranges::all_of(preparation_.columns, [&](const PreparedColumn& column) {
          return std::ranges::find(walk.cells(), column.name) != walk.cells().end();
        });
    const std::string delimiter = preparation_.delimiter == '\t' ? "tab" : std::string(1, preparation_.delimiter);
    MUSTER_ASSIGN(found_, find_dialect(text_, {.delimiter = fits ? delimiter : "", .decimal = ""}));
    if (found_.dialect.delimiter != ',' && (!found_.decimal_known || !found_.notes.empty())) {
      found_.dialect.decimal = preparation_.decimal;
      found_.notes.clear();
    }
    return {};
  }

  Status find_columns() {
    MUSTER_TRY(choose_dialect());
    CsvWalk walk(text_, found_.dialect.delimiter);
    MUSTER_ASSIGN(const bool has_header, walk.next());
    if (!has_header) return failure("empty file, want a header row");
    MUSTER_ASSIGN(const std::vector<std::string> names, column_names(walk.cells()));
    uses_.assign(names.size(), ColumnUse::kSkip);
    std::unordered_map<std::string_view, std::size_t> position_of;
    for (std::size_t i = 0; i < names.size(); ++i) position_of.emplace(names[i], i);
    const auto find = [&](const std::string& name) -> std::optional<std::size_t> {
      const auto at = position_of.find(name);
      if (name.empty() || at == position_of.end()) return std::nullopt;
      return at->second;
    };
    for (const PreparedColumn& column : preparation_.columns) {
      const auto position = find(column.name);
      if (!position) return missing_column(column.name, names);
      positions_.push_back(*position);
      uses_[*position] = column.kind == PreparedColumn::Kind::kNumber ? ColumnUse::kNumber : ColumnUse::kText;
    }
    label_ = find(preparation_.label);
    client_ = find(preparation_.client);
    if (trains_) split_ = find(preparation_.split);
    if (label_) uses_[*label_] = ColumnUse::kText;
    if (split_) uses_[*split_] = ColumnUse::kText;
    if (client_) uses_[*client_] = ColumnUse::kText;
    slots_ = slots_of(uses_);
    note_others(names);
    return {};
  }

  static Error missing_column(const std::string& name, const std::vector<std::string>& names) {
    const std::string near = name.size() < 100 ? nearest_name(name, names) : "";
    return failure("line 1: no column '{}', which the model was trained with{}", shown_text(name),
                   near.empty() ? "" : fmt::format("; is '{}' meant?", shown_text(near)));
  }

  void note_others(const std::vector<std::string>& names) {
    std::vector<std::string> others;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (uses_[i] == ColumnUse::kSkip && names[i] != preparation_.split) others.push_back(names[i]);
    }
    if (others.empty()) return;
    rows_.notes.push_back(fmt::format("{} {} not used: the model was not trained with {}", quoted_names(others),
                                      others.size() == 1 ? "is" : "are", others.size() == 1 ? "it" : "them"));
  }

  Status scan() {
    for (;;) {
      MUSTER_ASSIGN(scan_, scan_csv(text_, found_.dialect, uses_));
      // A comma where the file had not shown its decimal mark yet.
      const bool comma = std::ranges::any_of(scan_.number_columns, [](const ScannedNumbers& column) {
        return column.not_a_number && has_decimal(column.not_a_number->cell, DecimalMark::kComma);
      });
      if (found_.decimal_known || !comma || found_.dialect.decimal == DecimalMark::kComma) break;
      found_.dialect.decimal = DecimalMark::kComma;
    }
    if (scan_.rows == 0) return failure("no rows after the header");
    rows_.samples = empty_samples(preparation_);
    return {};
  }

  // As in training, where a row without its label or client was left out too. A column of either without any value is
  // as good as none.
  Status drop_rows() {
    const std::size_t rows = scan_.rows;
    const auto empty_label_or_client = [&](const ScannedTexts& texts) {
      const auto is = [&](const std::optional<std::size_t>& column) {
        return column && &texts == &scan_.text_columns[slot(*column)];
      };
      return texts.values.size() == 0 && (is(label_) || is(client_));
    };
    const DroppedRows dropped = drop_missing_rows(scan_, empty_label_or_client);
    if (dropped.rows == 0) return {};
    if (dropped.rows == rows) {
      // A cell that is no number is as good as missing here, and the better thing to say.
      for (std::size_t i = 0; i < preparation_.columns.size(); ++i) {
        const PreparedColumn& column = preparation_.columns[i];
        if (column.kind != PreparedColumn::Kind::kNumber) continue;
        check_numbers(column, scan_.number_columns[slot(positions_[i])]);
      }
      MUSTER_TRY(faults_.status());
      return failure("each of the {} rows has a missing value, and the model was trained with data.missing = \"drop\"",
                     rows);
    }
    rows_.notes.push_back(
        fmt::format("{} of {} rows have missing values and are left out, the first in line {}: the model was trained "
                    "with data.missing = \"drop\"",
                    dropped.rows, rows, dropped.first_line));
    return {};
  }

  [[nodiscard]] std::size_t slot(std::size_t column) const { return slots_[column]; }

  void check_numbers(const PreparedColumn& column, const ScannedNumbers& numbers) {
    if (const auto& cell = numbers.not_a_number) {
      faults_.add(cell->line, column.name, fmt::format("'{}' is not a number", shown_text(cell->cell.substr(0, 40))));
    }
    if (const auto& cell = numbers.not_finite) {
      faults_.add(cell->line, column.name,
                  fmt::format("'{}', want a number from -3.4e38 to 3.4e38", shown_text(cell->cell.substr(0, 40))));
    }
    if (!column.fill) check_missing(column.name, numbers.first_missing);
  }

  void check_missing(const std::string& column, const std::optional<CellPlace>& cell) {
    if (!cell) return;
    faults_.add(cell->line, column,
                fmt::format("missing value ('{}'), and the model was trained without data.missing = \"mean\"",
                            shown_text(cell->cell)));
  }

  Status cut_texts(const PreparedColumn& column, const ScannedTexts& texts) {
    if (!column.fill) check_missing(column.name, texts.first_missing);
    MUSTER_ASSIGN(const Vocabulary vocabulary, Vocabulary::from(preparation_.vocabulary));
    rows_.samples.tokens = token_rows(texts, vocabulary, *preparation_.tokens, preparation_.shape.width);
    return {};
  }

  // Ids of `texts` -> ids of `names`; the first row with an unknown text is a fault.
  std::vector<std::uint32_t> translated(const std::vector<std::string>& names, const std::string& column,
                                        const char* what, ScannedTexts& texts) {
    static constexpr std::uint32_t kUnknown = ScannedTexts::kMissing - 1;
    const CategoryNames index(names);
    std::vector<std::uint32_t> known(texts.values.size());
    for (std::uint32_t id = 0; id < known.size(); ++id) {
      known[id] = index.find(texts.values.text(id), found_.dialect.decimal).value_or(kUnknown);
    }
    bool all_known = true;
    for (std::size_t row = 0; row < texts.ids.size(); ++row) {
      std::uint32_t& id = texts.ids[row];
      if (id == ScannedTexts::kMissing) continue;
      if (known[id] == kUnknown && std::exchange(all_known, false)) {
        faults_.add(scan_.lines[row], column, unknown_text(texts.values.text(id), names, what));
      }
      id = known[id];
    }
    return std::move(texts.ids);
  }

  static std::string unknown_text(const std::string& text, const std::vector<std::string>& names, const char* what) {
    const std::string near = text.size() < 100 && names.size() <= 1000 ? nearest_name(text, names) : "";
    return fmt::format("'{}' is not among the {} {} of the training rows{}", shown_text(text.substr(0, 40)),
                       names.size(), what, near.empty() ? "" : fmt::format("; is '{}' meant?", shown_text(near)));
  }

  std::vector<std::uint32_t> category_ids(const PreparedColumn& column, ScannedTexts& texts) {
    if (!column.fill) check_missing(column.name, texts.first_missing);
    return translated(column.categories, column.name, "values", texts);
  }

  // A label column without any label is as good as none.
  void read_labels() {
    rows_.samples.labels.assign(scan_.rows, 0);
    if (!label_) return;
    ScannedTexts& texts = scan_.text_columns[slot(*label_)];
    if (texts.values.size() == 0) return;
    if (texts.first_missing) {
      faults_.add(texts.first_missing->line, preparation_.label,
                  "missing label; want one in all rows, or no label column");
    }
    const auto ids = translated(preparation_.classes, preparation_.label, "classes", texts);
    rows_.has_labels = true;
    rows_.samples.labels.assign(ids.begin(), ids.end());
  }

  void read_split() {
    if (!split_) return;
    const ScannedTexts& texts = scan_.text_columns[slot(*split_)];
    if (texts.first_missing) faults_.add(texts.first_missing->line, preparation_.split, "missing value");
    std::vector<bool> is_test;
    for (std::uint32_t id = 0; id < texts.values.size(); ++id) {
      const std::optional<bool> test = marks_test(texts.values.text(id), found_.dialect.decimal);
      if (!test) {
        faults_.add(texts.values.first_line(id), preparation_.split,
                    fmt::format("'{}', want 0 or train, 1 or test", shown_text(texts.values.text(id).substr(0, 40))));
      }
      is_test.push_back(test.value_or(false));
    }
    for (const std::uint32_t id : texts.ids) rows_.is_test.push_back(id != ScannedTexts::kMissing && is_test[id]);
  }

  void read_clients() {
    if (!client_) return;
    const ScannedTexts& texts = scan_.text_columns[slot(*client_)];
    for (const std::uint32_t id : texts.ids) {
      rows_.clients.push_back(id == ScannedTexts::kMissing ? std::string() : texts.values.text(id));
    }
  }

  // The numbers of each row in the order of the preparation's columns, which the file's may not be in.
  std::vector<float> numbers_in_order() {
    std::vector<std::size_t> slots;
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      if (uses_[positions_[i]] == ColumnUse::kNumber) slots.push_back(slot(positions_[i]));
    }
    if (std::ranges::is_sorted(slots)) return std::move(scan_.numbers);
    const std::size_t width = slots.size();
    std::vector<float> ordered(scan_.numbers.size());
    for (std::size_t row = 0; row < scan_.rows; ++row) {
      for (std::size_t i = 0; i < width; ++i) ordered[row * width + i] = scan_.numbers[row * width + slots[i]];
    }
    return ordered;
  }

  std::string_view text_;
  const Preparation& preparation_;
  const bool trains_;
  FoundDialect found_;
  std::vector<ColumnUse> uses_;
  std::vector<std::size_t> slots_;
  std::vector<std::size_t> positions_;  // of each prepared column in the file
  std::optional<std::size_t> label_;
  std::optional<std::size_t> client_;
  std::optional<std::size_t> split_;
  CsvScan scan_;
  FirstFault faults_;
  PreparedRows rows_;
};

Result<PreparedRows> read_table(DecodedText decoded, const Preparation& preparation, RowsFor use) {
  MUSTER_ASSIGN(PreparedRows rows, TableReading(decoded.buffer.text(), preparation, use).read());
  rows.notes.insert(rows.notes.begin(), decoded.notes.begin(), decoded.notes.end());
  return rows;
}

Status check_kind(const Preparation& preparation) {
  if (preparation.storage == Samples::Storage::kTokens && preparation.columns.empty()) {
    return failure("the model was trained on text of '{}'; new rows of that kind cannot be read from a table",
                   preparation.source);
  }
  return {};
}

}  // namespace

Result<PreparedRows> prepare_table(std::string_view text, const Preparation& preparation, RowsFor use) {
  MUSTER_TRY(check_kind(preparation));
  MUSTER_ASSIGN(DecodedText decoded, decode_text(text));
  return read_table(std::move(decoded), preparation, use);
}

Result<PreparedRows> prepare_arrays(std::span<const std::uint8_t> bytes, const Preparation& preparation, RowsFor use) {
  MUSTER_TRY(check_kind(preparation));
  const bool trains = use == RowsFor::kTraining;
  MUSTER_ASSIGN(NpzRows arrays, parse_npz_rows(bytes, preparation.label, preparation.client,
                                               trains ? preparation.split : std::string()));
  if (trains && !arrays.labels) return failure("no array '{}' of labels", preparation.label);
  PreparedRows rows;
  rows.is_test = std::move(arrays.is_test);
  rows.samples = empty_samples(preparation);
  if (arrays.samples.shape.size() != preparation.shape.size()) {
    const Shape& got = arrays.samples.shape;
    const Shape& want = preparation.shape;
    return failure("array 'x': rows of {} x {} x {}, want {} x {} x {} as in training", got.height, got.width,
                   got.channels, want.height, want.width, want.channels);
  }
  if (arrays.samples.storage != preparation.storage) {
    const bool bytes_wanted = preparation.storage == Samples::Storage::kBytes;
    return failure("array 'x': {}, but the model was trained on {}",
                   bytes_wanted ? "not of type uint8" : "of type uint8",
                   bytes_wanted ? "uint8" : "floating-point numbers");
  }
  rows.samples.bytes = std::move(arrays.samples.bytes);
  rows.samples.floats = std::move(arrays.samples.floats);
  rows.samples.labels.assign(arrays.rows, 0);
  rows.lines.resize(arrays.rows);
  std::iota(rows.lines.begin(), rows.lines.end(), std::uint64_t{0});
  if (arrays.labels) {
    rows.has_labels = true;
    const CategoryNames classes(preparation.classes);
    for (std::size_t row = 0; row < arrays.rows; ++row) {
      const std::string name = number_name((*arrays.labels)[row]);
      const auto found = classes.find(name, DecimalMark::kPoint);
      if (!found) {
        return failure("row {}: label {} is not among the {} classes of the training rows", row, name,
                       preparation.classes.size());
      }
      rows.samples.labels[row] = static_cast<std::int32_t>(*found);
    }
  }
  if (arrays.clients) {
    for (const double client : *arrays.clients) rows.clients.push_back(number_name(client));
  }
  return rows;
}

Result<PreparedRows> prepare_rows(const std::filesystem::path& path, const Preparation& preparation, RowsFor use) {
  const auto read = [&]() -> Result<PreparedRows> {
    if (!preparation.columns.empty()) {
      MUSTER_TRY(check_kind(preparation));
      MUSTER_ASSIGN(DecodedText decoded, read_text(path));
      return read_table(std::move(decoded), preparation, use);
    }
    MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
    if (bytes.size() < 2 || bytes[0] != 'P' || bytes[1] != 'K') {
      return failure("want an .npz file with an array x: the model was trained on {}, which has no named columns",
                     preparation.source.empty() ? "arrays" : preparation.source);
    }
    return prepare_arrays(bytes, preparation, use);
  };
  auto rows = read();
  if (!rows && rows.error().message.find(path.string()) == std::string::npos) {
    return std::move(rows).error().within(path.string());
  }
  return rows;
}

}  // namespace muster
