// Targets: tables and figures of the papers, as data: the settings they were made in, the rows, what is measured, what
// the paper found. Read from recipes/papers/: a file per paper with its settings, and a file per target. What is
// measured is in engine/reproduction_measures.h; running it in engine/reproduction.h.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/reproduction_measures.h"
#include "recipe/composition.h"
#include "recipe/papers.h"

namespace muster {

enum class Scale { kSmoke, kSmall, kFull };
inline constexpr std::array<Scale, 3> kScales{Scale::kSmoke, Scale::kSmall, Scale::kFull};
[[nodiscard]] std::string_view name(Scale scale);
[[nodiscard]] Result<Scale> parse_scale(std::string_view text);

// Keys of a recipe, as they are given in one place: those of a method as a base, the others as a task.
using RecipeLayers = std::vector<RecipeLayer>;

inline void add_layers(RecipeLayers& layers, const RecipeLayers& more) {
  layers.insert(layers.end(), more.begin(), more.end());
}

// Data that take the place of the paper's.
struct StandIn {
  std::string needs;  // the source that must be there; "" = needs no files
  std::string note;   // what differs, in words
  RecipeLayers keys;
};

// What a paper ran its methods on.
struct PaperSetting {
  std::string name;   // unique in the paper
  std::string title;  // as tables show it
  RecipeLayers keys;  // at the paper's own scale
  std::string needs;  // the source of the paper's own data; "" = they are generated
  // In order of preference; the last needs no files. Empty where the paper's data are generated.
  std::vector<StandIn> stand_ins;
  std::array<RecipeLayers, kScales.size()> at;  // what a scale changes
  // Keys for rows of one method, by its name; they hold at every scale.
  std::vector<std::pair<std::string, RecipeLayers>> methods;
  std::optional<double> reference;  // accuracy that the paper's targets are shares of
};

struct TargetColumn {
  std::string name;
  std::string unit;  // "" = none
  const Measure* measure = nullptr;
  MeasureOptions options;
  // Instead of options.target: a share of the setting's reference; below full scale, of what the setting's first row
  // ends with.
  std::optional<double> share;
  std::string versus;  // a row that the others are measured against; "" = none
  enum class As { kValue, kDifference, kChange, kShare } as = As::kValue;  // change and share in per cent
  int digits = 2;
};

// Settings whose results are averaged: in most targets one.
struct TargetBlock {
  std::string name;
  std::vector<std::string> settings;
};

struct TargetRow {
  std::string name;
  std::string method;                 // a recipe's name
  std::vector<std::string> settings;  // "section.key=value"
  double rounds_share = 1;            // of the scale's rounds
  // What the paper has, block by block and column by column; NaN = nothing, infinity = never reached.
  std::vector<double> paper;
};

struct TargetScale {
  std::vector<std::uint64_t> seeds{1};
  double minutes = 0;               // about, on two cores
  std::vector<std::string> blocks;  // that are run; empty = all
  std::vector<std::string> rows;    // likewise
  RecipeLayers keys;
};

struct Target {
  std::string name;  // "fedgsp:table1"
  std::string title;
  std::string says;    // what the paper says in words
  std::string remark;  // what one must know about its numbers; "" = nothing
  std::vector<PaperSetting> settings;
  std::vector<TargetBlock> blocks;
  std::vector<TargetColumn> columns;
  std::vector<TargetRow> rows;
  std::array<TargetScale, kScales.size()> scales;

  [[nodiscard]] const PaperSetting& setting(std::string_view wanted) const;  // precondition: there is one
  // Of the paper; precondition: the places exist.
  [[nodiscard]] double paper(std::size_t block, const TargetRow& row, std::size_t column) const {
    return row.paper[block * columns.size() + column];
  }
};

// A target from its text and its paper's settings. Errors name file, line and key.
[[nodiscard]] Result<Target> parse_target(const BuiltInPaper& text, const BuiltInPaper& settings);

// "fedgsp:table1", ... in the order of the papers.
[[nodiscard]] std::vector<std::string> target_names();
// Fails, with the nearest name, if there is no such target.
[[nodiscard]] Result<Target> find_target(std::string_view name);

}  // namespace muster
