#include "secure/neighbours.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/check.h"

namespace muster {

Neighbours::Neighbours(std::uint32_t members, std::uint32_t each, const PublicBytes& order)
    : members_(members), each_(each == 0 || each + 1 >= members ? members - 1 : each) {
  MUSTER_CHECK(members > 0, "{} members", members);
  if (each_ + 1 == members_) return;
  MUSTER_CHECK(each_ % 2 == 0, "{} neighbours", each_);
  std::vector<std::array<std::uint8_t, 16>> drawn(members);
  for (std::uint32_t i = 0; i < members; ++i) {
    crypto_generichash(drawn[i].data(), drawn[i].size(), reinterpret_cast<const std::uint8_t*>(&i), sizeof i,
                       order.data(), order.size());
  }
  at_.resize(members);
  std::iota(at_.begin(), at_.end(), 0);
  std::ranges::sort(at_, [&](std::uint32_t a, std::uint32_t b) { return drawn[a] < drawn[b]; });
  place_of_.resize(members);
  for (std::uint32_t i = 0; i < members; ++i) place_of_[at_[i]] = i;
}

std::vector<std::uint32_t> Neighbours::of(std::uint32_t member) const {
  std::vector<std::uint32_t> found;
  if (at_.empty()) {
    for (std::uint32_t other = 0; other < members_; ++other) {
      if (other != member) found.push_back(other);
    }
    return found;
  }
  for (std::uint32_t step = 1; step <= each_ / 2; ++step) {
    found.push_back(at_[(place_of_[member] + step) % members_]);
    found.push_back(at_[(place_of_[member] + members_ - step) % members_]);
  }
  std::ranges::sort(found);
  return found;
}

bool Neighbours::are_neighbours(std::uint32_t a, std::uint32_t b) const {
  if (at_.empty() || a == b) return a != b;
  const std::uint32_t apart = (place_of_[a] + members_ - place_of_[b]) % members_;
  return std::min(apart, members_ - apart) <= each_ / 2;
}

}  // namespace muster
