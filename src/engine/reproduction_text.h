// A reproduction for people: a table on a terminal, and the page of all results.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/reproduction.h"

namespace muster {

// Ours beside the paper's, the difference, and below what differs in the setting.
[[nodiscard]] std::string to_plain_text(const Reproduction& reproduction);

// A Markdown page of all of them, in order. `judgements`: one sentence by target. `commit`: what they were made with;
// "" = not known.
[[nodiscard]] std::string results_page(const std::vector<Reproduction>& reproductions,
                                       const std::map<std::string, std::string>& judgements, const std::string& commit);

// Reads "target" = "sentence" lines. Fails on a target that there is not.
[[nodiscard]] Result<std::map<std::string, std::string>> read_judgements(const std::filesystem::path& file);

}  // namespace muster
