#include "data/readers/number_text.h"

#include <algorithm>
#include <string>

#include "data/readers/csv_records.h"

namespace muster {

std::optional<double> parse_decimal(std::string_view text, DecimalMark mark) {
  if (mark == DecimalMark::kPoint) return parse_number(text);
  if (text.find('.') != std::string_view::npos) return std::nullopt;
  std::string with_point(text.substr(0, 1000));
  if (const std::size_t comma = with_point.find(','); comma != std::string::npos) with_point[comma] = '.';
  return text.size() > with_point.size() ? std::nullopt : parse_number(with_point);
}

bool has_decimal(std::string_view text, DecimalMark mark) {
  const char wanted = mark == DecimalMark::kComma ? ',' : '.';
  return text.find(wanted) != std::string_view::npos && parse_decimal(text, mark).has_value();
}

}  // namespace muster
