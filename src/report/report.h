// Report: all that is shown of a run, or of several side by side, as values: facts, and sections of figures. What the
// report, its exports and the live page have in common; describe.h makes it of run folders.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/figure.h"

namespace muster {

struct Fact {
  std::string name;
  std::string value;
};

struct ReportSection {
  std::string id;
  std::string title;
  std::vector<Figure> figures;
};

// A run that the report is of.
struct ReportedRun {
  std::string run;
  std::string method;
  std::uint64_t seed = 0;
  std::string state;      // running | done | interrupted | unfinished
  std::string signature;  // "" = not yet
  std::string command;    // that repeats it
  std::string recipe;     // its recipe.toml
};

struct Report {
  std::string kind;  // run | comparison
  std::string title;
  std::vector<Fact> facts;
  std::vector<ReportSection> sections;  // without those that would be empty
  std::vector<ReportedRun> runs;
  std::vector<std::string> notes;
};

// One document; its fields are in docs/report.md.
[[nodiscard]] nlohmann::json to_json(const Report& report);

}  // namespace muster
