// Which items are connected, as pairs of them are joined one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace muster {

class DisjointSets {
 public:
  explicit DisjointSets(std::uint32_t items) : parent_(items) { std::iota(parent_.begin(), parent_.end(), 0u); }

  void join(std::uint32_t a, std::uint32_t b) {
    a = first_of(a);
    b = first_of(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }
  // The lowest item that is connected with this one.
  std::uint32_t first_of(std::uint32_t item) {
    while (parent_[item] != item) {
      parent_[item] = parent_[parent_[item]];
      item = parent_[item];
    }
    return item;
  }
  // All sets by their first items, each ascending.
  std::vector<std::vector<std::uint32_t>> sets() {
    std::vector<std::vector<std::uint32_t>> sets;
    std::vector<std::uint32_t> number(parent_.size());
    for (std::uint32_t item = 0; item < parent_.size(); ++item) {
      const std::uint32_t first = first_of(item);
      if (first == item) {
        number[item] = static_cast<std::uint32_t>(sets.size());
        sets.emplace_back();
      }
      sets[number[first]].push_back(item);
    }
    return sets;
  }

 private:
  std::vector<std::uint32_t> parent_;  // never above the item itself
};

}  // namespace muster
