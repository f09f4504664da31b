#include "data/readers/dictionary.h"

#include <functional>

namespace muster {

std::uint32_t Dictionary::id(std::string_view text, std::size_t line) {
  if (last_ != kFree && entries_[last_].text == text) return last_;
  if (slots_.size() < 2 * (entries_.size() + 1)) grow();
  const std::size_t hash = std::hash<std::string_view>()(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot] != kFree; slot = (slot + 1) & mask) {
    const Entry& entry = entries_[slots_[slot]];
    if (entry.hash == hash && entry.text == text) return last_ = slots_[slot];
  }
  last_ = slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  entries_.push_back({std::string(text), hash, line});
  return last_;
}

void Dictionary::grow() {
  slots_.assign(slots_.empty() ? 16 : 2 * slots_.size(), kFree);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t id = 0; id < entries_.size(); ++id) {
    std::size_t slot = entries_[id].hash & mask;
    while (slots_[slot] != kFree) slot = (slot + 1) & mask;
    slots_[slot] = id;
  }
}

std::vector<std::string> Dictionary::texts() const {
  std::vector<std::string> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) all.push_back(entry.text);
  return all;
}

}  // namespace muster
