#include "data/readers/tokens.h"

#include <algorithm>

#include "base/file.h"
#include "data/readers/leaf.h"
#include "data/shown_text.h"

namespace muster {
namespace {

// Ids travel as floats to the network, which holds every integer up to here.
constexpr std::size_t kMostTokens = 1u << 20;
constexpr std::uint64_t kMostVocabularyBytes = std::uint64_t{1} << 28;

Result<std::string> unescape(std::string_view line) {
  std::string token;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      token += line[i];
      continue;
    }
    const char next = ++i < line.size() ? line[i] : '\0';
    constexpr std::string_view kEscaped = "ntrs\\";
    constexpr std::string_view kMeant = "\n\t\r \\";
    const std::size_t at = next == '\0' ? std::string_view::npos : kEscaped.find(next);
    if (at == std::string_view::npos) return failure("'{}': want \\n, \\t, \\r, \\s or \\\\", shown_text(line));
    token += kMeant[at];
  }
  return token;
}

}  // namespace

std::vector<std::string> cut_into_tokens(std::string_view text, TokenKind kind) {
  if (kind == TokenKind::kWords) return leaf_words(text);
  std::vector<std::string> characters;
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    characters.emplace_back(length > 0 ? text.substr(0, length) : "\xef\xbf\xbd");
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return characters;
}

Vocabulary Vocabulary::of(std::span<const std::string> texts, TokenKind kind, std::size_t most) {
  std::unordered_map<std::string, std::uint64_t> counts;
  for (const std::string& text : texts) {
    for (std::string& token : cut_into_tokens(text, kind)) ++counts[std::move(token)];
  }
  std::vector<std::pair<std::string, std::uint64_t>> order(counts.begin(), counts.end());
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  order.resize(std::min({order.size(), most, kMostTokens}));
  Vocabulary vocabulary;
  for (auto& [token, count] : order) {
    vocabulary.ids_.emplace(token, vocabulary.size());
    vocabulary.tokens_.push_back(std::move(token));
  }
  return vocabulary;
}

Result<Vocabulary> Vocabulary::from(std::vector<std::string> tokens) {
  if (tokens.size() > kMostTokens) return failure("{} tokens, want at most {}", tokens.size(), kMostTokens);
  Vocabulary vocabulary;
  for (std::string& token : tokens) {
    if (!vocabulary.ids_.emplace(token, vocabulary.size()).second) {
      return failure("the token '{}' comes twice", shown_text(token));
    }
    vocabulary.tokens_.push_back(std::move(token));
  }
  return vocabulary;
}

Result<Vocabulary> Vocabulary::parse(std::string_view text) {
  std::vector<std::string> tokens;
  std::unordered_map<std::string, std::size_t> line_of;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.ends_with('\r')) row.remove_suffix(1);
    auto token = unescape(row);
    if (!token) return std::move(token).error().within(fmt::format("line {}", line));
    if (token->empty()) return failure("line {}: is empty, want a token", line);
    const auto [before, fresh] = line_of.emplace(*token, line);
    if (!fresh) return failure("line {}: '{}' is on line {} already", line, shown_text(row), before->second);
    tokens.push_back(std::move(*token));
  }
  if (tokens.empty()) return failure("no tokens, want one per line");
  return from(std::move(tokens));
}

Result<Vocabulary> Vocabulary::read(const std::filesystem::path& path) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, kMostVocabularyBytes));
  auto vocabulary = parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!vocabulary) return std::move(vocabulary).error().within(path.string());
  return vocabulary;
}

std::uint32_t Vocabulary::id(const std::string& token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? kUnknown : found->second;
}

void Vocabulary::encode(std::string_view text, TokenKind kind, std::span<std::uint32_t> out) const {
  const std::vector<std::string> tokens = cut_into_tokens(text, kind);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i < tokens.size() ? id(tokens[i]) : kPadding;
}

}  // namespace muster
