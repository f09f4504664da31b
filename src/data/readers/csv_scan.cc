#include "data/readers/csv_scan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/readers/csv_records.h"
#include "data/readers/number_text.h"

namespace muster {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Cuts cells off a text that ends in '\n'.
class CellCutter {
 public:
  CellCutter(const char* first, std::size_t first_line, char between)
      : at(first), line(first_line), delimiter(between) {}

  const char* at;    // the next character
  std::size_t line;  // of it
  const char delimiter;

  // Takes the cell at `at` and what ends it. `last` tells whether that is the end of the record.
  Status cut(const char* end, std::string_view& cell, bool& last) {
    if (*at == '"') return cut_quoted(end, cell, last);
    const char* p = at;
    for (; *p != delimiter && *p != '\n'; ++p) {
      if (*p == '"') return failure("line {}: a quote inside a field that does not start with one", line);
    }
    const char* cell_end = p;
    if (*p == '\n' && p > at && p[-1] == '\r') --cell_end;
    cell = {at, static_cast<std::size_t>(cell_end - at)};
    finish(p, last);
    return {};
  }

  // Passes over lines without any character.
  void skip_blank_lines(const char* end) {
    while (at < end && (*at == '\n' || (*at == '\r' && at[1] == '\n'))) {
      at += *at == '\r' ? 2 : 1;
      ++line;
    }
  }

 private:
  void finish(const char* separator, bool& last) {
    last = *separator == '\n';
    if (last) ++line;
    at = separator + 1;
  }

  Status cut_quoted(const char* end, std::string_view& cell, bool& last) {
    const std::size_t opened = line;
    unquoted_.clear();
    const char* p = at + 1;
    for (;;) {
      const char* const quote = std::find(p, end, '"');
      if (quote == end) return failure("line {}: a quoted field never ends", opened);
      line += static_cast<std::size_t>(std::count(p, quote, '\n'));
      unquoted_.append(p, quote);
      p = quote + 1;
      if (*p != '"') break;
      unquoted_.push_back('"');
      ++p;
    }
    while (*p == ' ') ++p;
    if (*p == '\r' && p[1] == '\n') ++p;
    if (*p != delimiter && *p != '\n') return failure("line {}: text after a closing quote", line);
    cell = unquoted_;
    finish(p, last);
    return {};
  }

  std::string unquoted_;
};

class Scanner {
 public:
  Scanner(std::string_view text, const CsvDialect& dialect, const std::vector<ColumnUse>& uses)
      : end_(text.data() + text.size()),
        cutter_(text.data(), 1, dialect.delimiter),
        decimal_(dialect.decimal),
        mark_(dialect.decimal == DecimalMark::kComma ? ',' : '.'),
        uses_(uses) {
    scan_.number_columns.resize(static_cast<std::size_t>(std::ranges::count(uses, ColumnUse::kNumber)));
    scan_.text_columns.resize(static_cast<std::size_t>(std::ranges::count(uses, ColumnUse::kText)));
  }

  Result<CsvScan> run(std::size_t most_rows) {
    MUSTER_TRY(skip_record());
    const char* const first = cutter_.at;
    const std::size_t width = scan_.number_columns.size();
    std::size_t room = 0;  // rows that scan_.numbers has room for
    for (cutter_.skip_blank_lines(end_); cutter_.at < end_ && scan_.rows < most_rows; cutter_.skip_blank_lines(end_)) {
      if (scan_.rows == room) {
        if (scan_.rows == kBlock && most_rows > kBlock) reserve(static_cast<std::size_t>(cutter_.at - first));
        room += kBlock;
        scan_.numbers.resize(room * width);
      }
      scan_.lines.push_back(cutter_.line);
      MUSTER_TRY(scan_record(scan_.numbers.data() + scan_.rows * width));
      ++scan_.rows;
    }
    scan_.numbers.resize(scan_.rows * width);
    return std::move(scan_);
  }

 private:
  static constexpr std::size_t kBlock = 1024;

  // Room for as many rows as there will be if they are as long as the first block's.
  void reserve(std::size_t bytes_of_block) {
    const auto left = static_cast<double>(end_ - cutter_.at);
    const auto rows = static_cast<std::size_t>(kBlock * (1.02 + 1.02 * left / static_cast<double>(bytes_of_block)));
    scan_.numbers.reserve((rows + kBlock) * scan_.number_columns.size());
    scan_.lines.reserve(rows);
    for (ScannedTexts& column : scan_.text_columns) column.ids.reserve(rows);
  }

  Status skip_record() {
    cutter_.skip_blank_lines(end_);
    std::string_view cell;
    for (bool last = cutter_.at >= end_; !last;) MUSTER_TRY(cutter_.cut(end_, cell, last));
    return {};
  }

  Status scan_record(float* numbers) {
    const std::size_t line = cutter_.line;
    const char delimiter = cutter_.delimiter;
    std::size_t number = 0;
    std::size_t text = 0;
    std::size_t column = 0;
    for (bool last = false; !last; ++column) {
      const ColumnUse use = column < uses_.size() ? uses_[column] : ColumnUse::kSkip;
      if (use == ColumnUse::kNumber) {
        const char* after = cutter_.at;
        double value = 0;
        if (read_plain_number(after, mark_, value)) {
          if (*after == delimiter) {
            cutter_.at = after + 1;
            numbers[number++] = static_cast<float>(value);
            continue;
          }
          if (*after == '\r' && after[1] == '\n') ++after;
          if (*after == '\n') {
            cutter_.at = after + 1;
            ++cutter_.line;
            numbers[number++] = static_cast<float>(value);
            last = true;
            continue;
          }
        }
      }
      std::string_view cell;
      MUSTER_TRY(cutter_.cut(end_, cell, last));
      if (use == ColumnUse::kNumber) {
        numbers[number] = number_of(trimmed(cell), line, scan_.number_columns[number]);
        ++number;
      } else if (use == ColumnUse::kText) {
        add_text(trimmed(cell), line, scan_.text_columns[text++]);
      }
    }
    if (column != uses_.size()) {
      return failure("line {}: {} cells, the header has {} columns", line, column, uses_.size());
    }
    return {};
  }

  float number_of(std::string_view cell, std::size_t line, ScannedNumbers& column) const {
    const auto keep_first = [&](std::optional<CellPlace>& place) {
      if (!place) place = CellPlace{line, std::string(cell.substr(0, 200))};
      return kNaN;
    };
    if (is_missing(cell)) {
      ++column.missing;
      return keep_first(column.first_missing);
    }
    const std::optional<double> value = parse_decimal(cell, decimal_);
    if (!value) return keep_first(column.not_a_number);
    const auto number = static_cast<float>(*value);
    return std::isfinite(number) ? number : keep_first(column.not_finite);
  }

  static void add_text(std::string_view cell, std::size_t line, ScannedTexts& column) {
    if (is_missing(cell)) {
      if (!column.first_missing) column.first_missing = CellPlace{line, std::string(cell)};
      column.ids.push_back(ScannedTexts::kMissing);
    } else {
      column.ids.push_back(column.values.id(cell, line));
    }
  }

  const char* end_;
  CellCutter cutter_;
  DecimalMark decimal_;
  char mark_;
  const std::vector<ColumnUse>& uses_;
  CsvScan scan_;
};

}  // namespace

std::vector<std::size_t> slots_of(const std::vector<ColumnUse>& uses) {
  std::array<std::size_t, 3> next{};
  std::vector<std::size_t> slots;
  slots.reserve(uses.size());
  for (const ColumnUse use : uses) slots.push_back(next[static_cast<std::size_t>(use)]++);
  return slots;
}

bool is_missing(std::string_view cell) {
  if (cell.size() > 4) return false;
  return cell.empty() || cell == "?" || cell == "NA" || cell == "N/A" || cell == "NaN" || cell == "nan" ||
         cell == "null" || cell == "NULL";
}

Result<bool> CsvWalk::next() {
  cells_.clear();
  CellCutter cutter(at_, next_line_, delimiter_);
  cutter.skip_blank_lines(end_);
  line_ = cutter.line;
  if (cutter.at >= end_) return false;
  for (bool last = false; !last;) {
    std::string_view cell;
    MUSTER_TRY(cutter.cut(end_, cell, last));
    cells_.emplace_back(trimmed(cell));
  }
  at_ = cutter.at;
  next_line_ = cutter.line;
  return true;
}

Result<CsvScan> scan_csv(std::string_view text, const CsvDialect& dialect, const std::vector<ColumnUse>& uses,
                         std::size_t most_rows) {
  return Scanner(text, dialect, uses).run(most_rows);
}

}  // namespace muster
