// The cells of a delimited text -> numbers, and numbered texts, column by column. Decides what is a number and what is
// missing; what the columns are for is for others. The one place where every byte of a table is looked at.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/preparation.h"
#include "data/readers/dictionary.h"

namespace muster {

struct CsvDialect {
  char delimiter = ',';
  DecimalMark decimal = DecimalMark::kPoint;
};

// One record at a time, cell by cell: for headers and samples, not for speed. `text` is as a TextBuffer has it.
class CsvWalk {
 public:
  CsvWalk(std::string_view text, char delimiter) : at_(text.data()), end_(at_ + text.size()), delimiter_(delimiter) {}

  // False at the end of the text. Lines without any character are not records. The cells live until the next call.
  Result<bool> next();
  [[nodiscard]] const std::vector<std::string>& cells() const { return cells_; }
  [[nodiscard]] std::size_t line() const { return line_; }

 private:
  const char* at_;
  const char* end_;
  char delimiter_;
  std::size_t line_ = 1;       // of the record
  std::size_t next_line_ = 1;  // of at_
  std::vector<std::string> cells_;
};

enum class ColumnUse { kSkip, kNumber, kText };

// Per column: which of the columns of the same use it is.
[[nodiscard]] std::vector<std::size_t> slots_of(const std::vector<ColumnUse>& uses);

// A cell worth an error message.
struct CellPlace {
  std::size_t line = 0;
  std::string cell;
};

struct ScannedNumbers {
  std::size_t missing = 0;
  std::optional<CellPlace> first_missing;
  std::optional<CellPlace> not_a_number;  // the first cell that is text
  std::optional<CellPlace> not_finite;    // the first cell that is infinite as a float
};

struct ScannedTexts {
  static constexpr std::uint32_t kMissing = 0xffffffffu;

  Dictionary values;
  std::vector<std::uint32_t> ids;  // per row, into `values`, or kMissing
  std::optional<CellPlace> first_missing;
};

struct CsvScan {
  std::size_t rows = 0;
  std::vector<std::uint64_t> lines;  // per row
  // Rows x columns of ColumnUse::kNumber, in their order. Missing and unfit cells are NaN.
  std::vector<float> numbers;
  std::vector<ScannedNumbers> number_columns;
  std::vector<ScannedTexts> text_columns;  // of ColumnUse::kText, in their order
};

// Empty, ?, NA, N/A, NaN, nan, null, NULL. Precondition: no spaces around it.
[[nodiscard]] bool is_missing(std::string_view cell);

// The records after the header, at most `most_rows`. Precondition: `text` is as a TextBuffer has it. Fails, naming the
// line, on a record that does not have uses.size() cells and on quotes that are out of place.
[[nodiscard]] Result<CsvScan> scan_csv(std::string_view text, const CsvDialect& dialect,
                                       const std::vector<ColumnUse>& uses,
                                       std::size_t most_rows = std::numeric_limits<std::size_t>::max());

}  // namespace muster
