// A report as one HTML file that needs nothing else: no network, no other file. What comes from a run's folder is in it
// as data that a script shows as text; a strict Content-Security-Policy lets nothing run but the scripts of this
// program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace muster {

// `description`: as to_json(Report) gives it.
[[nodiscard]] std::string to_html(const nlohmann::json& description);

// What pages are made of, for those who serve them: scripts in the order in which they are loaded, and styles.
[[nodiscard]] std::string_view chart_js();   // the library
[[nodiscard]] std::string_view charts_js();  // MusterCharts
[[nodiscard]] std::string_view charts_css();

// JSON that can stand within a script element: nothing in it can end the element.
[[nodiscard]] std::string json_for_html(const nlohmann::json& json);

}  // namespace muster
