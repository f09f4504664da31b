#include "deploy/prometheus_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "data/shown_text.h"

namespace muster {
namespace {

// What could end the line or the quotes, as the format has it.
std::string escaped(std::string_view text, bool quoted) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || (quoted && c == '"')) {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

PrometheusText& PrometheusText::family(std::string_view name, std::string_view help, std::string_view type) {
  name_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, escaped(help, false), type);
  return *this;
}

PrometheusText& PrometheusText::sample(double value, std::span<const Label> labels) {
  text_ += name_;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    // The format wants UTF-8; what is not, and what no terminal should be sent, is shown as \xNN.
    fmt::format_to(std::back_inserter(text_), "{}{}=\"{}\"", i == 0 ? "{" : ",", labels[i].first,
                   escaped(shown_text(labels[i].second), true));
  }
  fmt::format_to(std::back_inserter(text_), "{} {}\n", labels.empty() ? "" : "}", number(value));
  return *this;
}

}  // namespace muster
