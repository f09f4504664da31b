#include "data/readers/table_features.h"

#include <algorithm>
#include <cmath>

#include "data/readers/csv_records.h"
#include "data/readers/number_text.h"

namespace muster {
namespace {

constexpr std::size_t kMostBytes = std::size_t{32} << 30;

}  // namespace

Result<std::vector<float>> feature_rows(std::vector<float> numbers, std::size_t rows,
                                        const std::vector<PreparedColumn>& columns,
                                        const std::vector<std::vector<std::uint32_t>>& categories) {
  const std::size_t number_columns = columns.size() - categories.size();
  std::size_t features = 0;
  std::vector<float> fills;  // of the columns of numbers
  for (const PreparedColumn& column : columns) {
    features += column.features();
    if (column.kind == PreparedColumn::Kind::kNumber) fills.push_back(static_cast<float>(column.fill.value_or(0)));
  }
  if (std::ranges::any_of(columns, [](const PreparedColumn& column) { return column.fill.has_value(); })) {
    for (std::size_t row = 0; row < rows; ++row) {
      float* const values = numbers.data() + row * number_columns;
      for (std::size_t i = 0; i < number_columns; ++i) {
        if (std::isnan(values[i])) values[i] = fills[i];
      }
    }
  }
  if (categories.empty()) return numbers;
  if (features > kMostBytes / sizeof(float) / std::max<std::size_t>(rows, 1)) {
    return failure("{} rows of {} features do not fit into memory; leave columns out with data.drop", rows, features);
  }
  std::vector<float> spread(rows * features, 0.0f);
  std::size_t at = 0;
  std::size_t number = 0;
  std::size_t text = 0;
  for (const PreparedColumn& column : columns) {
    if (column.kind == PreparedColumn::Kind::kNumber) {
      for (std::size_t row = 0; row < rows; ++row) {
        spread[row * features + at] = numbers[row * number_columns + number];
      }
      ++number;
    } else {
      const auto fill = static_cast<std::uint32_t>(column.fill.value_or(0));
      for (std::size_t row = 0; row < rows; ++row) {
        const std::uint32_t category = categories[text][row];
        spread[row * features + at + (category == ScannedTexts::kMissing ? fill : category)] = 1.0f;
      }
      ++text;
    }
    at += column.features();
  }
  return spread;
}

std::string text_of(const ScannedTexts& texts, std::size_t row) {
  return texts.ids[row] == ScannedTexts::kMissing ? std::string() : texts.values.text(texts.ids[row]);
}

std::vector<std::uint32_t> token_rows(const ScannedTexts& texts, const Vocabulary& vocabulary, TokenKind kind,
                                      std::size_t length) {
  std::vector<std::uint32_t> tokens(texts.ids.size() * length);
  for (std::size_t row = 0; row < texts.ids.size(); ++row) {
    vocabulary.encode(text_of(texts, row), kind, std::span(tokens).subspan(row * length, length));
  }
  return tokens;
}

CategoryNames::CategoryNames(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    index_.emplace(names[i], static_cast<std::uint32_t>(i));
    numbers_ = numbers_ && parse_number(names[i]).has_value();
  }
}

std::optional<std::uint32_t> CategoryNames::find(const std::string& text, DecimalMark mark) const {
  if (const auto found = index_.find(text); found != index_.end()) return found->second;
  if (!numbers_) return std::nullopt;
  const std::optional<double> value = parse_decimal(text, mark);
  if (!value) return std::nullopt;
  const auto found = index_.find(number_name(*value));
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<bool> marks_test(const std::string& cell, DecimalMark mark) {
  if (cell == "test" || cell == "train") return cell == "test";
  const std::optional<double> number = parse_decimal(cell, mark);
  return number == 1.0 || number == 0.0 ? std::optional(number == 1.0) : std::nullopt;
}

std::string number_name(double number) {
  return fmt::format("{}", number == 0 ? 0.0 : number);
}

}  // namespace muster
