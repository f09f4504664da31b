// Text as numbers: a text is cut into characters or words, and each becomes its place in a vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "data/preparation.h"

namespace muster {

// How texts become samples.
struct TextOptions {
  std::optional<TokenKind> tokens;    // none: words, each the row of a table of word vectors
  std::uint32_t length = 25;          // tokens of a sample: longer texts are cut, shorter ones padded; at least 1
  std::filesystem::path vocabulary;   // a token per line; "" = made of the training texts
  std::uint32_t most_tokens = 10000;  // of a vocabulary that is made
};

// Characters: Unicode characters; a byte that is not UTF-8 becomes U+FFFD. Words: as leaf_words() has them.
[[nodiscard]] std::vector<std::string> cut_into_tokens(std::string_view text, TokenKind kind);

class Vocabulary {
 public:
  static constexpr std::uint32_t kPadding = 0;  // after the end of a short text
  static constexpr std::uint32_t kUnknown = 1;  // a token that the vocabulary does not have

  // The `most` most frequent tokens of the texts, frequent ones first, of equally frequent ones by their bytes.
  [[nodiscard]] static Vocabulary of(std::span<const std::string> texts, TokenKind kind, std::size_t most);
  // A token per line; \n, \t, \r, \s (a blank) and \\ are written so. Fails, naming the line, on a token that comes
  // twice or an empty line.
  [[nodiscard]] static Result<Vocabulary> parse(std::string_view text);
  [[nodiscard]] static Result<Vocabulary> read(const std::filesystem::path& path);
  // As tokens() gave them. Fails if one comes twice.
  [[nodiscard]] static Result<Vocabulary> from(std::vector<std::string> tokens);

  // How many ids there are, padding and unknown among them.
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()) + 2; }
  // The token of id 2, 3, ...
  [[nodiscard]] const std::vector<std::string>& tokens() const { return tokens_; }
  [[nodiscard]] std::uint32_t id(const std::string& token) const;

  // The first out.size() tokens of the text as ids, then padding.
  void encode(std::string_view text, TokenKind kind, std::span<std::uint32_t> out) const;

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

}  // namespace muster
