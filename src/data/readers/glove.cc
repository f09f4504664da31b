#include "data/readers/glove.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "base/file.h"

namespace muster {
namespace {

// Appends the numbers of one line to `out`. Separators are single spaces or tabs, as in all published files.
Status parse_numbers(std::string_view text, std::size_t line, std::vector<float>& out) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find_first_of(" \t", at);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view field = text.substr(at, end - at);
    at = end + 1;
    float value = 0;
    const auto [rest, code] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (code != std::errc() || rest != field.data() + field.size()) {
      return failure("line {}: '{}' is not a number", line, field.substr(0, 40));
    }
    if (!std::isfinite(value)) return failure("line {}: {}, want a finite number", line, field.substr(0, 40));
    out.push_back(value);
  }
  return {};
}

}  // namespace

Result<Embedding> parse_glove(std::string_view text, const std::unordered_set<std::string>& wanted) {
  Embedding embedding;
  std::size_t dimension = 0;
  std::vector<float> numbers;
  std::string word;
  std::size_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text = newline == std::string_view::npos ? std::string_view() : text.substr(newline + 1);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    const std::size_t gap = line.find_first_of(" \t");
    if (gap == 0 || gap == std::string_view::npos) {
      return failure("line {}: want a word and its numbers, separated by spaces", line_number);
    }
    word.assign(line.substr(0, gap));
    numbers.clear();
    MUSTER_TRY(parse_numbers(line.substr(gap + 1), line_number, numbers));
    if (dimension == 0) {
      dimension = numbers.size();
      embedding.vectors.dimension = static_cast<std::uint32_t>(dimension);
      embedding.vectors.rows.assign(dimension, 0.0f);
    }
    if (numbers.size() != dimension) {
      return failure("line {}: {} numbers, want {} as on line 1", line_number, numbers.size(), dimension);
    }
    if (!wanted.contains(word)) continue;
    const auto row = static_cast<std::uint32_t>(embedding.ids.size() + 1);
    if (!embedding.ids.emplace(word, row).second) continue;
    embedding.vectors.rows.insert(embedding.vectors.rows.end(), numbers.begin(), numbers.end());
  }
  if (dimension == 0) return failure("no word vectors");
  return embedding;
}

Result<Embedding> read_glove(const std::filesystem::path& path, const std::unordered_set<std::string>& wanted) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
  auto embedding = parse_glove({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, wanted);
  if (!embedding) return std::move(embedding).error().within(path.string());
  return embedding;
}

}  // namespace muster
