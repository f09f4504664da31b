#include "report/html_page.h"

#include <array>
#include <nlohmann/json.hpp>

#include "record/json_text.h"

namespace muster {

// Of the files beside this one, and of Debian's Chart.js (CMakeLists.txt).
extern const char kChartJs[];
extern const char kChartJsSha256[];
extern const char kChartsJs[];
extern const char kChartsJsSha256[];
extern const char kChartsCss[];
extern const char kChartsCssSha256[];
extern const char kReportJs[];
extern const char kReportJsSha256[];
extern const char kReportCss[];
extern const char kReportCssSha256[];

namespace {

std::uint32_t hex_digit(char c) {
  return static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
}

// 'sha256-...' as a policy names a script: base64 of what is given in 64 hex digits.
std::string source_of(std::string_view hex) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string base64;
  for (std::size_t i = 0; i < hex.size(); i += 6) {
    std::array<std::uint32_t, 3> bytes{};
    std::size_t count = 0;
    for (; count < 3 && i + 2 * count + 1 < hex.size(); ++count) {
      bytes[count] = hex_digit(hex[i + 2 * count]) * 16 + hex_digit(hex[i + 2 * count + 1]);
    }
    const std::uint32_t bits = bytes[0] << 16 | bytes[1] << 8 | bytes[2];
    for (std::size_t d = 0; d < 4; ++d) base64 += d <= count ? kDigits[bits >> (18 - 6 * d) & 63] : '=';
  }
  return "'sha256-" + base64 + "'";
}

std::string policy() {
  return "default-src 'none'; script-src " + source_of(kChartJsSha256) + " " + source_of(kChartsJsSha256) + " " +
         source_of(kReportJsSha256) + "; style-src " + source_of(kChartsCssSha256) + " " + source_of(kReportCssSha256) +
         "; base-uri 'none'; form-action 'none'";
}

}  // namespace

std::string_view chart_js() {
  return kChartJs;
}
std::string_view charts_js() {
  return kChartsJs;
}
std::string_view charts_css() {
  return kChartsCss;
}

std::string json_for_html(const nlohmann::json& json) {
  std::string safe;
  for (const char c : json_text(json)) {
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string to_html(const nlohmann::json& description) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"";
  page += policy();
  page +=
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>Muster</title>\n<style>";
  page += kChartsCss;
  page += "</style>\n<style>";
  page += kReportCss;
  page +=
      "</style>\n</head>\n<body>\n<header><h1 id=\"title\">Muster</h1>"
      "<nav id=\"sections\" aria-label=\"Sections\"></nav>"
      "<button id=\"theme\" type=\"button\">Dark colours</button></header>\n"
      "<main id=\"report\"><noscript>This report draws its charts with JavaScript.</noscript></main>\n"
      "<script type=\"application/json\" id=\"description\">";
  page += json_for_html(description);
  page += "</script>\n";
  for (const char* script : {kChartJs, kChartsJs, kReportJs}) {
    page += "<script>";
    page += script;
    page += "</script>\n";
  }
  return page + "</body>\n</html>\n";
}

}  // namespace muster
