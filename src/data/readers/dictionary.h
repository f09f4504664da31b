// The different texts of a column, numbered in the order in which they come.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class Dictionary {
 public:
  // The number of `text`; a new one if it was not seen before, with the line as that of its first cell.
  std::uint32_t id(std::string_view text, std::size_t line);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const std::string& text(std::uint32_t id) const { return entries_[id].text; }
  [[nodiscard]] std::size_t first_line(std::uint32_t id) const { return entries_[id].line; }
  [[nodiscard]] std::vector<std::string> texts() const;

 private:
  struct Entry {
    std::string text;
    std::size_t hash;
    std::size_t line;
  };
  static constexpr std::uint32_t kFree = 0xffffffffu;
  void grow();

  std::deque<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // open addressing; a power of two of them, at most half taken
  std::uint32_t last_ = kFree;        // tables are often sorted by a column
};

}  // namespace muster
