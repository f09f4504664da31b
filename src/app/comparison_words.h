// How the words of a `muster compare` line are read: methods with settings of their own, lists of numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

// "LABEL:RECIPE+key=value+key=value", of which only RECIPE must be there.
struct MethodWord {
  std::string label;   // the whole word where it gives none; of a file without settings its name without .toml
  std::string recipe;  // a built-in name, or a path
  std::vector<std::string> settings;
};
// A plus sign begins a setting only if a key and an equals sign follow, so values and paths may hold others. Fails if
// label or recipe is empty.
[[nodiscard]] Result<MethodWord> parse_method(const std::string& word);

// "1,2,3"; `option` is for errors. Fails if something is no whole number, or is there twice.
[[nodiscard]] Result<std::vector<std::uint64_t>> parse_seeds(const std::string& option, const std::string& text);
// "0.7,0.8": accuracies, in (0, 1].
[[nodiscard]] Result<std::vector<double>> parse_targets(const std::string& option, const std::string& text);

}  // namespace muster
