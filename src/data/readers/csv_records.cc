#include "data/readers/csv_records.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace muster {

// The opening quote is taken already.
Status CsvRecords::quoted_field(std::string& field) {
  const std::size_t opened = next_line_;
  for (;;) {
    const std::size_t quote = rest_.find('"');
    if (quote == std::string_view::npos) return failure("line {}: a quoted field never ends", opened);
    const std::string_view piece = rest_.substr(0, quote);
    next_line_ += static_cast<std::size_t>(std::count(piece.begin(), piece.end(), '\n'));
    field.append(piece);
    rest_.remove_prefix(quote + 1);
    if (!rest_.starts_with('"')) break;
    field.push_back('"');
    rest_.remove_prefix(1);
  }
  if (!rest_.empty() && rest_[0] != ',' && rest_[0] != '\n' && !rest_.starts_with("\r\n")) {
    return failure("line {}: text after a closing quote", next_line_);
  }
  return {};
}

Result<bool> CsvRecords::next() {
  used_ = 0;
  line_ = next_line_;
  if (rest_.find_first_not_of("\r\n") == std::string_view::npos) return false;
  for (;;) {
    std::string& field = fresh_field();
    if (rest_.starts_with('"')) {
      rest_.remove_prefix(1);
      MUSTER_TRY(quoted_field(field));
    } else {
      const std::string_view plain = rest_.substr(0, rest_.find_first_of(",\n"));
      if (plain.find('"') != std::string_view::npos) {
        return failure("line {}: a quote inside a field that does not start with one", next_line_);
      }
      field.assign(plain);
      rest_.remove_prefix(plain.size());
      if (field.ends_with('\r') && (rest_.empty() || rest_[0] == '\n')) field.pop_back();
    }
    if (rest_.starts_with("\r\n")) rest_.remove_prefix(1);
    const bool more = rest_.starts_with(',');
    if (!more && !rest_.empty()) ++next_line_;
    if (!rest_.empty()) rest_.remove_prefix(1);
    if (!more) return true;
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (rest != text.data() + text.size() || text.empty()) return std::nullopt;
  // Too small for a double is as good as zero; too large is caught with the infinities.
  if (code == std::errc::result_out_of_range) {
    const bool tiny = text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos;
    return tiny ? 0.0 : HUGE_VAL;
  }
  if (code != std::errc()) return std::nullopt;
  return value;
}

}  // namespace muster
