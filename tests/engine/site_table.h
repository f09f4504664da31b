// A user's own table, made up: sites of different sizes, features of which two of three tell the class.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>

namespace muster {

struct SiteTableOptions {
  std::uint32_t sites = 5;
  std::uint32_t least = 40;    // rows of a site
  std::uint32_t spread = 160;  // and up to so many more
  bool split = false;          // a column `split`: every fifth row is for testing
  std::string only = {};       // with split: only the rows that say this
  bool label = true;
};

inline std::string site_table(const SiteTableOptions& options) {
  std::mt19937 random(options.sites);
  std::normal_distribution<double> normal;
  std::string text = "site,age,pressure,noise";
  if (options.split) text += ",split";
  text += options.label ? ",outcome\n" : "\n";
  for (std::uint32_t site = 0; site < options.sites; ++site) {
    const std::uint32_t rows = options.least + static_cast<std::uint32_t>(random() % options.spread);
    for (std::uint32_t row = 0; row < rows; ++row) {
      const double age = normal(random);
      const double pressure = normal(random);
      const double noise = normal(random);
      const std::string split = row % 5 == 4 ? "test" : "train";
      if (options.split && !options.only.empty() && split != options.only) continue;
      text += fmt::format("site {},{:.2f},{:.1f},{:.3f}", site, 50 + 10 * age, 120 + 15 * pressure, noise);
      if (options.split) text += "," + split;
      const char* const outcome = age + pressure > 0.5 ? "ill" : (age - pressure > 0 ? "watched" : "well");
      text += options.label ? fmt::format(",{}\n", outcome) : "\n";
    }
  }
  return text;
}

}  // namespace muster
