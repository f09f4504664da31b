// Shell completion: the command line and the catalogues -> a script that completes commands, options, names of recipes,
// methods and data sets, and keys of recipes. The script holds all words itself: completing starts no program.
#pragma once

#include <string>
#include <vector>

#include "app/command_text.h"
#include "base/result.h"

namespace muster {

// The words that an argument or an option's value may be, besides those of the command line itself.
struct CompletionWords {
  std::vector<std::string> recipes;
  std::vector<std::string> tasks;
  std::vector<std::string> stages;
  std::vector<std::string> methods;
  std::vector<std::string> sources;
  std::vector<std::string> keys;  // "section.key"
};
[[nodiscard]] Result<CompletionWords> completion_words();

[[nodiscard]] std::string bash_completion(const CommandText& program, const CompletionWords& words);
[[nodiscard]] std::string zsh_completion(const CommandText& program, const CompletionWords& words);

}  // namespace muster
