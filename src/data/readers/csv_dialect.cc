#include "data/readers/csv_dialect.h"

#include <algorithm>

#include "data/readers/number_text.h"

namespace muster {
namespace {

constexpr std::string_view kDelimiters = ",;\t|";
constexpr std::size_t kSampledRecords = 200;

const char* name_of(DecimalMark mark) {
  return mark == DecimalMark::kComma ? "comma" : "point";
}

// How well a delimiter explains the first records.
struct Fit {
  std::size_t columns = 0;  // of the first record
  double equal = 0;         // share of records that have as many
};

Fit fit_of(std::string_view text, char delimiter) {
  Fit fit;
  CsvWalk walk(text, delimiter);
  std::size_t records = 0;
  std::size_t equal = 0;
  while (records < kSampledRecords) {
    const auto more = walk.next();
    if (!more) {
      ++records;  // out of step with the quotes: as bad as a record of another size
      break;
    }
    if (!*more) break;
    if (records == 0) fit.columns = walk.cells().size();
    equal += walk.cells().size() == fit.columns ? 1 : 0;
    ++records;
  }
  fit.equal = records == 0 ? 0 : static_cast<double>(equal) / static_cast<double>(records);
  return fit;
}

char find_delimiter(std::string_view text) {
  char best = ',';
  Fit best_fit;
  for (const char delimiter : kDelimiters) {
    const Fit fit = fit_of(text, delimiter);
    if (fit.columns < 2) continue;
    if (std::pair(fit.equal, fit.columns) > std::pair(best_fit.equal, best_fit.columns)) {
      best = delimiter;
      best_fit = fit;
    }
  }
  return best;
}

Result<char> delimiter_of(const std::string& given) {
  if (given == "tab") return '\t';
  if (given.size() == 1 && kDelimiters.find(given[0]) != std::string_view::npos) return given[0];
  return usage_error("data.delimiter: '{}', want \",\", \";\", \"tab\" or \"|\"", given);
}

void find_decimal(std::string_view text, FoundDialect& found) {
  CsvWalk walk(text, found.dialect.delimiter);
  std::size_t points = 0;
  std::size_t commas = 0;
  for (std::size_t record = 0; record < kSampledRecords; ++record) {
    const auto more = walk.next();
    if (!more || !*more) break;
    if (record == 0) continue;
    for (const std::string& cell : walk.cells()) {
      points += has_decimal(cell, DecimalMark::kPoint) ? 1 : 0;
      commas += has_decimal(cell, DecimalMark::kComma) ? 1 : 0;
    }
  }
  found.decimal_known = points + commas > 0;
  found.dialect.decimal = commas > points ? DecimalMark::kComma : DecimalMark::kPoint;
  if (points > 0 && commas > 0) {
    found.notes.push_back(
        fmt::format("of the first cells {} have a decimal point and {} a decimal comma; they are read with a {} "
                    "(data.decimal)",
                    points, commas, name_of(found.dialect.decimal)));
  }
}

}  // namespace

Result<FoundDialect> find_dialect(std::string_view text, const CsvDialectOptions& options) {
  FoundDialect found;
  if (options.delimiter.empty()) {
    found.dialect.delimiter = find_delimiter(text);
  } else {
    MUSTER_ASSIGN(found.dialect.delimiter, delimiter_of(options.delimiter));
  }
  const bool by_commas = found.dialect.delimiter == ',';
  if (options.decimal == "comma") {
    if (by_commas) return usage_error("data.decimal: comma, but the cells are delimited by commas (data.delimiter)");
    found.dialect.decimal = DecimalMark::kComma;
  } else if (!options.decimal.empty() && options.decimal != "point") {
    return usage_error("data.decimal: '{}', want point or comma", options.decimal);
  }
  found.decimal_known = by_commas || !options.decimal.empty();
  if (!found.decimal_known) find_decimal(text, found);
  return found;
}

}  // namespace muster
