// LEAF's JSON, {users, num_samples, user_data: {user: {x, y}}} -> samples whose clients are the users. Rows of x are
// numbers (FEMNIST: 784 of them) or hold a text (Sent140: [id, date, query, user, text, tag]; Shakespeare: just the
// text); labels y are numbers or texts (Shakespeare: the character that comes next).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/raw_data.h"
#include "data/readers/tokens.h"

namespace muster {

// What one LEAF file holds. Either `numbers` (features per sample) or `texts` is used.
struct LeafFile {
  std::vector<std::string> users;     // in the order of user_data
  std::vector<std::uint32_t> owners;  // per sample, an index into users
  std::vector<std::int32_t> labels;   // per sample, not negative; empty where they are words
  std::vector<std::string> label_texts;
  std::uint32_t features = 0;
  std::vector<float> numbers;
  std::vector<std::string> texts;
};

[[nodiscard]] Result<LeafFile> parse_leaf(std::string_view json);

// The words of a sentence as LEAF takes them: runs of letters (of any script), digits, _ and ', and single . , ! ? ;
// with ASCII in lower case.
[[nodiscard]] std::vector<std::string> leaf_words(std::string_view text);

struct LeafOptions {
  std::uint32_t classes = 0;        // labels must be below this; 0 = one more than the largest label
  std::filesystem::path embedding;  // GloVe text file; needed for texts that are not turned into tokens
  TextOptions text;
};

// One file, or a folder: its *.json[.gz] files in sorted order are the training part, or those of its subfolders
// train/ and test/. A user keeps its identity across files. Rows of 784 numbers become images of 28 x 28, kept as
// bytes where every number is a multiple of 1/255.
[[nodiscard]] Result<RawData> read_leaf(const std::filesystem::path& path, const LeafOptions& options);

}  // namespace muster
