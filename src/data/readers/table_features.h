// Columns as they were read -> the features of each row: missing cells filled, categories spread over one feature each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/preparation.h"
#include "data/readers/csv_scan.h"
#include "data/readers/tokens.h"

namespace muster {

// Rows x features. `numbers` has a value per row and column of numbers, NaN = missing; `categories` has, per one-hot
// column, the category of each row or ScannedTexts::kMissing. Precondition: what is missing has a fill value. Fails if
// the result would not fit into memory.
[[nodiscard]] Result<std::vector<float>> feature_rows(std::vector<float> numbers, std::size_t rows,
                                                      const std::vector<PreparedColumn>& columns,
                                                      const std::vector<std::vector<std::uint32_t>>& categories);

// The text of a row; "" if it is missing.
[[nodiscard]] std::string text_of(const ScannedTexts& texts, std::size_t row);

// Rows x length ids of tokens.
[[nodiscard]] std::vector<std::uint32_t> token_rows(const ScannedTexts& texts, const Vocabulary& vocabulary,
                                                    TokenKind kind, std::size_t length);

// Finds names that are numbers by their value too: "1.0" is "1" where all names are numbers.
class CategoryNames {
 public:
  explicit CategoryNames(const std::vector<std::string>& names);
  [[nodiscard]] std::optional<std::uint32_t> find(const std::string& text, DecimalMark mark) const;

 private:
  std::map<std::string, std::uint32_t, std::less<>> index_;
  bool numbers_ = true;
};

// Whether a cell of the split column says test (1, test) or train (0, train); nothing if it is neither.
[[nodiscard]] std::optional<bool> marks_test(const std::string& cell, DecimalMark mark);

// A number as a name: the shortest text that reads back as it, 0 for -0.
[[nodiscard]] std::string number_name(double number);

}  // namespace muster
