#include "data/readers/csv.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/readers/csv_dialect.h"
#include "data/readers/csv_scan.h"
#include "data/readers/missing_rows.h"
#include "data/readers/number_text.h"
#include "data/readers/table_columns.h"
#include "data/readers/table_features.h"
#include "data/readers/table_notes.h"
#include "data/readers/text_encoding.h"
#include "data/shown_text.h"

namespace muster {
namespace {

// Of columns that the user names: above it a table is hardly what it is taken for.
constexpr std::size_t kMostAskedCategories = 10000;
// Rows that are read first to find the columns of text.
constexpr std::size_t kFirstRows = 200;

// Files -> columns of numbers and of numbered texts.
class CsvColumns {
 public:
  CsvColumns(std::string_view text, const TableOptions& options) : text_(text), options_(options) {}

  Status read() {
    MUSTER_ASSIGN(FoundDialect found, find_dialect(text_, options_.dialect));
    dialect = found.dialect;
    CsvWalk walk(text_, dialect.delimiter);
    MUSTER_ASSIGN(const bool has_header, walk.next());
    if (!has_header) return failure("empty file, want a header row");
    MUSTER_ASSIGN(columns, assign_columns(walk.cells(), options_));
    notes = std::move(found.notes);
    notes.insert(notes.end(), columns.notes.begin(), columns.notes.end());
    set_uses();
    for (const std::size_t most_rows : {kFirstRows, std::numeric_limits<std::size_t>::max()}) {
      do {
        MUSTER_ASSIGN(scan, scan_csv(text_, dialect, uses, most_rows));
      } while (learn_from_misfits(found.decimal_known));
    }
    if (scan.rows == 0) return failure("no rows after the header");
    slots_ = slots_of(uses);
    return {};
  }

  // Which column of scan.number_columns or scan.text_columns it is. Precondition: it is used.
  [[nodiscard]] std::size_t slot(std::size_t column) const { return slots_[column]; }
  [[nodiscard]] const std::string& name(std::size_t column) const { return columns.names[column]; }

  CsvDialect dialect;
  TableColumns columns;
  std::vector<ColumnUse> uses;
  CsvScan scan;
  std::vector<std::optional<CellPlace>> texts_among_numbers;  // per column: the cell that made it one of text
  std::vector<std::string> notes;

 private:
  void set_uses() {
    uses.assign(columns.names.size(), ColumnUse::kSkip);
    texts_among_numbers.assign(columns.names.size(), std::nullopt);
    for (const auto& role : {columns.label, columns.client, columns.split}) {
      if (role) uses[*role] = ColumnUse::kText;
    }
    for (const std::size_t column : columns.features) {
      uses[column] = columns.categorical[column] || columns.text ? ColumnUse::kText : ColumnUse::kNumber;
    }
  }

  // True if the text must be scanned again: a column of numbers turned out to hold text, or a decimal comma.
  bool learn_from_misfits(bool& decimal_known) {
    bool learnt = false;
    std::size_t number = 0;
    for (std::size_t column = 0; column < uses.size(); ++column) {
      if (uses[column] != ColumnUse::kNumber) continue;
      const std::optional<CellPlace>& misfit = scan.number_columns[number++].not_a_number;
      if (!misfit) continue;
      if (!decimal_known && has_decimal(misfit->cell, DecimalMark::kComma)) {
        decimal_known = true;
        dialect.decimal = DecimalMark::kComma;
        set_uses();
        return true;
      }
      uses[column] = ColumnUse::kText;
      texts_among_numbers[column] = misfit;
      learnt = true;
    }
    return learnt;
  }

  std::string_view text_;
  const TableOptions& options_;
  std::vector<std::size_t> slots_;
};

// Columns -> samples with labels and clients.
class TableMaker {
 public:
  TableMaker(CsvColumns columns, const TableOptions& options) : in_(std::move(columns)), options_(options) {}

  Result<RawData> make() {
    MUSTER_TRY(check_numbers());
    MUSTER_TRY(treat_missing());
    MUSTER_TRY(read_split());
    MUSTER_ASSIGN(table_.labels, categories_of(*in_.columns.label, "label"));
    if (in_.columns.client) {
      MUSTER_ASSIGN(table_.clients, categories_of(*in_.columns.client, "client"));
    }
    MUSTER_TRY(in_.columns.text ? cut_texts(*in_.columns.text) : make_features());
    MUSTER_ASSIGN(RawData data, divide(std::move(table_)));
    describe(data);
    return data;
  }

  // What a client tells of its table before it knows the others': nothing is filled, spread or cut yet.
  Result<DataSheet> tell() {
    MUSTER_TRY(check_numbers());
    MUSTER_TRY(treat_missing());
    MUSTER_TRY(read_split());
    MUSTER_TRY(check_one_client());
    DataSheet sheet;
    for (std::size_t row = 0; row < in_.scan.rows; ++row) ++(is_train(row) ? sheet.rows : sheet.test_rows);
    MUSTER_ASSIGN(const Categories labels, categories_of(*in_.columns.label, "label"));
    sheet.labels = labels.names;
    if (in_.columns.text) {
      sheet.columns.push_back({.name = in_.name(*in_.columns.text), .kind = PreparedColumn::Kind::kText});
      return sheet;
    }
    for (const std::size_t column : in_.columns.features) MUSTER_TRY(add_feature_column(column));
    const bool fills = options_.missing == MissingCells::kMean;
    if (options_.sums || fills) sheet.sums = number_sums();
    std::size_t text = 0;
    for (PreparedColumn& column : prepared_) {
      SheetColumn& told = sheet.columns.emplace_back(SheetColumn{.name = column.name, .kind = column.kind});
      if (column.kind == PreparedColumn::Kind::kNumber) continue;
      if (fills) told.counts = category_counts(column, categories_[text]);
      told.categories = std::move(column.categories);
      ++text;
    }
    return sheet;
  }

 private:
  [[nodiscard]] std::string place(std::size_t column, std::size_t line) const {
    return fmt::format("line {}, column '{}'", line, shown_text(in_.name(column)));
  }
  [[nodiscard]] bool is_feature(std::size_t column) const {
    return std::ranges::binary_search(in_.columns.features, column);
  }
  [[nodiscard]] bool is_train(std::size_t row) const { return table_.is_test.empty() || !table_.is_test[row]; }

  [[nodiscard]] Status check_one_client() const {
    if (!in_.columns.client) return {};
    const std::size_t clients = in_.scan.text_columns[in_.slot(*in_.columns.client)].values.size();
    if (clients <= 1) return {};
    return failure(
        "column '{}' names {} clients, but a client's own file is of one; leave the column out with data.drop",
        shown_text(in_.name(*in_.columns.client)), clients);
  }

  Status make_features() {
    for (const std::size_t column : in_.columns.features) MUSTER_TRY(add_feature_column(column));
    note_features();
    const bool fills = options_.missing == MissingCells::kMean;
    std::vector<FeatureSums> sums;
    if (options_.sums || fills) sums = number_sums();
    if (fills) MUSTER_TRY(find_fills(sums));
    const auto train_rows = static_cast<std::uint64_t>(std::ranges::count(table_.is_test, false) +
                                                       (table_.is_test.empty() ? std::ptrdiff_t(in_.scan.rows) : 0));
    if (options_.sums) sums_ = feature_sums(prepared_, sums, train_rows);
    Samples& samples = table_.samples;
    samples.storage = Samples::Storage::kFloats;
    MUSTER_ASSIGN(samples.floats, feature_rows(std::move(in_.scan.numbers), in_.scan.rows, prepared_, categories_));
    std::size_t features = 0;
    for (const PreparedColumn& column : prepared_) features += column.features();
    samples.shape = {1, 1, static_cast<std::uint32_t>(features)};
    return reshape(samples, options_.shape);
  }

  // The texts of the column as ids of tokens. A missing cell that the options provide for is an empty text.
  Status cut_texts(std::size_t column) {
    const ScannedTexts& texts = in_.scan.text_columns[in_.slot(column)];
    const TextOptions& options = options_.tokens;
    if (options.vocabulary.empty()) {
      std::vector<std::string> train;
      for (std::size_t row = 0; row < in_.scan.rows; ++row) {
        if (is_train(row)) train.push_back(text_of(texts, row));
      }
      vocabulary_ = Vocabulary::of(train, *options.tokens, options.most_tokens);
      if (vocabulary_.tokens().empty()) {
        return failure("column '{}': no training row has any text", shown_text(in_.name(column)));
      }
    } else {
      MUSTER_ASSIGN(vocabulary_, Vocabulary::read(options.vocabulary));
    }
    PreparedColumn prepared{.name = in_.name(column), .kind = PreparedColumn::Kind::kText};
    if (options_.missing == MissingCells::kMean) prepared.fill = 0;
    prepared_.push_back(std::move(prepared));
    Samples& samples = table_.samples;
    samples.storage = Samples::Storage::kTokens;
    samples.shape = {1, options.length, 1, vocabulary_.size()};
    samples.tokens = token_rows(texts, vocabulary_, *options.tokens, options.length);
    return {};
  }

  [[nodiscard]] Status check_numbers() const {
    for (const std::size_t column : in_.columns.features) {
      if (in_.uses[column] != ColumnUse::kNumber) continue;
      if (const auto& cell = in_.scan.number_columns[in_.slot(column)].not_finite) {
        return failure("{}: '{}', want a number from -3.4e38 to 3.4e38", place(column, cell->line),
                       shown_text(cell->cell));
      }
    }
    return {};
  }

  // The first line with a missing cell that the options do not provide for is an error; otherwise rows are dropped, or
  // features left to be filled.
  Status treat_missing() {
    if (options_.missing == MissingCells::kDrop) return drop_rows();
    const bool fills = options_.missing == MissingCells::kMean;
    std::optional<std::pair<std::size_t, std::size_t>> first;  // line, column
    const CellPlace* cell = nullptr;
    for (std::size_t column = 0; column < in_.uses.size(); ++column) {
      if (in_.uses[column] == ColumnUse::kSkip || (fills && is_feature(column))) continue;
      const auto& missing = in_.uses[column] == ColumnUse::kNumber
                                ? in_.scan.number_columns[in_.slot(column)].first_missing
                                : in_.scan.text_columns[in_.slot(column)].first_missing;
      if (!missing || (first && first->first <= missing->line)) continue;
      first = std::pair(missing->line, column);
      cell = &*missing;
    }
    if (!first) return {};
    return failure("{}: missing value ('{}'); {}data.missing = \"drop\" leaves such rows out",
                   place(first->second, first->first), shown_text(cell->cell),
                   is_feature(first->second) ? "data.missing = \"mean\" fills such cells, " : "");
  }

  Status drop_rows() {
    const std::size_t rows = in_.scan.rows;
    const DroppedRows dropped = drop_missing_rows(in_.scan);
    if (dropped.rows == 0) return {};
    if (dropped.rows == rows)
      return failure("each of the {} rows has a missing value, and data.missing is \"drop\"", rows);
    in_.notes.push_back(fmt::format("{} of {} rows have missing values and are left out (data.missing = \"drop\")",
                                    dropped.rows, rows));
    return {};
  }

  Status read_split() {
    if (!in_.columns.split) return {};
    const ScannedTexts& split = in_.scan.text_columns[in_.slot(*in_.columns.split)];
    std::vector<bool> is_test;
    for (std::uint32_t id = 0; id < split.values.size(); ++id) {
      const std::string& cell = split.values.text(id);
      const std::optional<bool> test = marks_test(cell, in_.dialect.decimal);
      if (!test) {
        return failure("{}: '{}', want 0 or train, 1 or test", place(*in_.columns.split, split.values.first_line(id)),
                       shown_text(cell.substr(0, 40)));
      }
      is_test.push_back(*test);
    }
    for (const std::uint32_t id : split.ids) table_.is_test.push_back(is_test[id]);
    return {};
  }

  // The values of the rows there are, numbered. Numbers only if every value is one: "inf" among words is a word, among
  // numbers an error, unless the column is a feature.
  Result<Categories> categories_of(std::size_t column, const char* what) {
    ScannedTexts& texts = in_.scan.text_columns[in_.slot(column)];
    std::vector<std::uint32_t> category_of(texts.values.size(), ScannedTexts::kMissing);
    for (const std::uint32_t id : texts.ids) {
      if (id != ScannedTexts::kMissing) category_of[id] = 0;
    }
    std::vector<std::uint32_t> present;
    Category category;
    bool numbers = true;
    for (std::uint32_t id = 0; id < category_of.size(); ++id) {
      if (category_of[id] == ScannedTexts::kMissing) continue;
      present.push_back(id);
      category.words.push_back(texts.values.text(id));
      const std::optional<double> number = parse_decimal(category.words.back(), in_.dialect.decimal);
      numbers = numbers && number && (what || std::isfinite(*number));
      if (numbers) category.numbers.push_back(*number);
    }
    if (numbers) {
      for (std::size_t i = 0; i < present.size(); ++i) {
        if (std::isfinite(category.numbers[i])) continue;
        return failure("{}: {} '{}', want a finite number or text", place(column, texts.values.first_line(present[i])),
                       what, shown_text(category.words[i]));
      }
      category.words.clear();
    }
    Categories numbered = number_categories(category);
    for (std::size_t i = 0; i < present.size(); ++i) category_of[present[i]] = numbered.ids[i];
    for (std::uint32_t& id : texts.ids) {
      if (id != ScannedTexts::kMissing) id = category_of[id];
    }
    numbered.ids = std::move(texts.ids);
    return numbered;
  }

  Status add_feature_column(std::size_t column) {
    PreparedColumn& prepared = prepared_.emplace_back(PreparedColumn{.name = in_.name(column)});
    if (in_.uses[column] == ColumnUse::kNumber) return {};
    prepared.kind = PreparedColumn::Kind::kOneHot;
    const Dictionary& values = in_.scan.text_columns[in_.slot(column)].values;
    const bool asked = in_.columns.categorical[column];
    if (values.size() > (asked ? kMostAskedCategories : kMostCategories)) return too_many_values(column, values);
    if (const auto& misfit = in_.texts_among_numbers[column]) note_mixture(column, values, *misfit);
    MUSTER_ASSIGN(Categories categories, categories_of(column, nullptr));
    if (categories.names.empty()) {
      return failure("column '{}' has no value in any row; leave it out with data.drop", shown_text(prepared.name));
    }
    prepared.categories = std::move(categories.names);
    categories_.push_back(std::move(categories.ids));
    return {};
  }

  [[nodiscard]] Error too_many_values(std::size_t column, const Dictionary& values) const {
    const std::string name = shown_text(in_.name(column));
    if (in_.columns.categorical[column]) {
      return failure("data.categorical: column '{}' has {} different values, want at most {}", name, values.size(),
                     kMostAskedCategories);
    }
    const CellPlace& misfit = *in_.texts_among_numbers[column];
    const char* guess = looks_like_time(misfit.cell)        ? " (dates or times?)"
                        : values.size() == in_.scan.rows    ? " (each row has its own: an id?)"
                        : 2 * values.size() > in_.scan.rows ? " (most rows have their own)"
                                                            : "";
    return failure(
        "{}: '{}' is not a number, and the column has {} different values{}, more than the {} that become "
        "features; leave it out with data.drop, or name it in data.categorical",
        place(column, misfit.line), shown_text(misfit.cell.substr(0, 40)), values.size(), guess, kMostCategories);
  }

  // A typing error turns a column of numbers into one of categories: better said.
  void note_mixture(std::size_t column, const Dictionary& values, const CellPlace& misfit) {
    std::size_t numbers = 0;
    for (std::uint32_t id = 0; id < values.size(); ++id) {
      numbers += parse_decimal(values.text(id), in_.dialect.decimal) ? 1 : 0;
    }
    if (2 * numbers <= values.size()) return;
    in_.notes.push_back(
        fmt::format("column '{}' has numbers and text (line {}: '{}'), so each of its {} values is a "
                    "feature",
                    shown_text(in_.name(column)), misfit.line, shown_text(misfit.cell.substr(0, 40)), values.size()));
  }

  void note_features() {
    std::vector<std::string> numbers, times;
    std::string one_hot;
    for (const PreparedColumn& column : prepared_) {
      if (column.kind == PreparedColumn::Kind::kNumber) {
        numbers.push_back(column.name);
      } else {
        one_hot +=
            fmt::format("{}'{}' ({})", one_hot.empty() ? "" : ", ", shown_text(column.name), column.categories.size());
        if (std::ranges::all_of(column.categories, looks_like_time)) times.push_back(column.name);
      }
    }
    if (!one_hot.empty()) in_.notes.push_back("each value of these columns is a feature of its own: " + one_hot);
    if (!times.empty()) {
      in_.notes.push_back(fmt::format("{} {} dates or times; data.drop leaves {} out", quoted_names(times),
                                      times.size() == 1 ? "looks like" : "look like",
                                      times.size() == 1 ? "it" : "them"));
    }
    for (std::string& note : notes_on_numbers(numbers, in_.scan.numbers)) in_.notes.push_back(std::move(note));
  }

  // Of the cells that are there in each column of numbers, in training rows, client after client.
  [[nodiscard]] std::vector<FeatureSums> number_sums() const {
    const std::size_t width = in_.scan.number_columns.size();
    if (width == 0) return {};
    return sums_of(in_.scan.numbers, width, width,
                   owned_rows(in_.scan.rows, table_.clients.ids, table_.clients.names.size(), table_.is_test));
  }

  // What stands in for missing cells, also in columns that have none here: new rows may.
  Status find_fills(const std::vector<FeatureSums>& sums) {
    const CsvScan& scan = in_.scan;
    std::size_t filled = 0;
    std::vector<std::string> filled_columns;
    std::size_t number = 0;
    std::size_t text = 0;
    for (PreparedColumn& column : prepared_) {
      std::size_t missing = 0;
      if (column.kind == PreparedColumn::Kind::kNumber) {
        missing = scan.number_columns[number].missing;
        column.fill = fill_of(sums[number]);
        ++number;
      } else {
        missing = fill_category(column, categories_[text++]);
      }
      if (missing > 0 && !column.fill) {
        return failure("column '{}': no training row has a value to fill missing cells with", shown_text(column.name));
      }
      filled += missing;
      if (missing > 0) filled_columns.push_back(column.name);
    }
    if (filled > 0) {
      in_.notes.push_back(fmt::format(
          "{} missing cells of {} {} filled with the column's mean or most frequent value (data.missing = \"mean\")",
          filled, quoted_names(filled_columns), filled == 1 ? "is" : "are"));
    }
    return {};
  }

  // Sets what fills a column of categories. Returns how many cells are missing.
  std::size_t fill_category(PreparedColumn& column, const std::vector<std::uint32_t>& ids) const {
    column.fill = fill_of(category_counts(column, ids));
    return static_cast<std::size_t>(std::ranges::count(ids, ScannedTexts::kMissing));
  }

  // How many training rows have each category.
  [[nodiscard]] std::vector<std::uint64_t> category_counts(const PreparedColumn& column,
                                                           const std::vector<std::uint32_t>& ids) const {
    std::vector<std::uint64_t> counts(column.categories.size(), 0);
    for (std::size_t row = 0; row < ids.size(); ++row) {
      if (ids[row] != ScannedTexts::kMissing && is_train(row)) ++counts[ids[row]];
    }
    return counts;
  }

  void describe(RawData& data) {
    Preparation& preparation = data.preparation;
    preparation.columns = std::move(prepared_);
    if (in_.columns.text) {
      preparation.tokens = options_.tokens.tokens;
      preparation.vocabulary = vocabulary_.tokens();
    }
    preparation.label = in_.name(*in_.columns.label);
    if (in_.columns.client) preparation.client = in_.name(*in_.columns.client);
    if (in_.columns.split) preparation.split = in_.name(*in_.columns.split);
    preparation.delimiter = in_.dialect.delimiter;
    preparation.decimal = in_.dialect.decimal;
    preparation.drops_missing = options_.missing == MissingCells::kDrop;
    data.sums = std::move(sums_);
    data.notes = std::move(in_.notes);
    note_many_labels(preparation.label, data);
  }

  CsvColumns in_;
  const TableOptions& options_;
  Table table_;
  std::vector<PreparedColumn> prepared_;
  Vocabulary vocabulary_;                               // where the samples are texts
  std::vector<std::vector<std::uint32_t>> categories_;  // of the one-hot columns, per row
  std::vector<FeatureSums> sums_;                       // of each feature
};

Result<CsvColumns> read_columns(const DecodedText& decoded, const TableOptions& options) {
  CsvColumns columns(decoded.buffer.text(), options);
  MUSTER_TRY(columns.read());
  columns.notes.insert(columns.notes.begin(), decoded.notes.begin(), decoded.notes.end());
  return columns;
}

Result<RawData> parse(const DecodedText& decoded, const TableOptions& options) {
  MUSTER_ASSIGN(CsvColumns columns, read_columns(decoded, options));
  MUSTER_ASSIGN(RawData data, TableMaker(std::move(columns), options).make());
  data.preparation.encoding = decoded.encoding;
  return data;
}

Result<DataSheet> tell(const DecodedText& decoded, const TableOptions& options) {
  MUSTER_ASSIGN(CsvColumns columns, read_columns(decoded, options));
  return TableMaker(std::move(columns), options).tell();
}

// Wrong options are wrong for any file.
template <typename T>
Result<T> named_after(const std::filesystem::path& path, Result<T> made) {
  if (!made && made.error().code != ErrorCode::kUsage) return std::move(made).error().within(path.string());
  return made;
}

}  // namespace

Result<RawData> parse_csv(std::string_view text, const TableOptions& options) {
  MUSTER_ASSIGN(const DecodedText decoded, decode_text(text));
  return parse(decoded, options);
}

Result<RawData> read_csv(const std::filesystem::path& path, const TableOptions& options) {
  MUSTER_ASSIGN(const DecodedText decoded, read_text(path));
  return named_after(path, parse(decoded, options));
}

Result<DataSheet> read_csv_sheet(const std::filesystem::path& path, const TableOptions& options) {
  MUSTER_ASSIGN(const DecodedText decoded, read_text(path));
  return named_after(path, tell(decoded, options));
}

}  // namespace muster
