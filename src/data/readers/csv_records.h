// CSV as RFC 4180 has it: records of fields, quoted or plain, ended by LF or CRLF; an UTF-8 byte order mark is skipped.
// What the fields mean is for others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

// Cuts text into records. Fields are reused from record to record.
class CsvRecords {
 public:
  explicit CsvRecords(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }

  // False at the end of the text. Empty lines at the end are not records.
  Result<bool> next();
  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] std::span<const std::string> fields() const { return {fields_.data(), used_}; }

 private:
  std::string& fresh_field() {
    if (used_ == fields_.size()) fields_.emplace_back();
    fields_[used_].clear();
    return fields_[used_++];
  }
  Status quoted_field(std::string& field);

  std::string_view rest_;
  std::size_t line_ = 0;       // of the current record's first character
  std::size_t next_line_ = 1;  // of rest_
  std::vector<std::string> fields_;
  std::size_t used_ = 0;
};

// Without spaces and tabs at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

// The whole text as a number; a value too large for a double is infinite. nullopt if it is not a number.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

}  // namespace muster
