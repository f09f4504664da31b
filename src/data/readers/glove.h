// GloVe text files: a line per word, the word and its numbers -> frozen word vectors for the words that are wanted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"
#include "data/samples.h"

namespace muster {

struct Embedding {
  WordVectors vectors;                                 // row 0 is zero; then the words in the order of the file
  std::unordered_map<std::string, std::uint32_t> ids;  // word -> row, from 1
};

// Every line is checked, only the words in `wanted` are kept; of a word that comes twice, the first line counts.
[[nodiscard]] Result<Embedding> parse_glove(std::string_view text, const std::unordered_set<std::string>& wanted);
[[nodiscard]] Result<Embedding> read_glove(const std::filesystem::path& path,
                                           const std::unordered_set<std::string>& wanted);

}  // namespace muster
