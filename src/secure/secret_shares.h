// A key of 256 bits in shares, any `threshold` of which give it back and fewer of which say nothing about it. The
// halves of the key are shared apart, as numbers below 2^128 of a field of 252 bits: what shares that do not belong
// together give is almost never so small, and is refused.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "secure/key_source.h"
#include "secure/scalar_field.h"

namespace muster {

using SecretShare = SecretBytes<64>;

// One share for each of `points`, which are distinct and not 0. Precondition: 1 <= threshold <= points.
[[nodiscard]] std::vector<SecretShare> split_key(const SecretKey& key, std::uint32_t threshold,
                                                 std::span<const std::uint32_t> points, KeySource& keys);

// Puts keys together from the shares at the same points; what depends on points alone is computed once.
class ShareJoiner {
 public:
  // Precondition: distinct and not 0; as many as the threshold was.
  explicit ShareJoiner(std::vector<std::uint32_t> points);
  [[nodiscard]] const std::vector<std::uint32_t>& points() const { return points_; }
  // Shares in the order of the points. Fails if they are not shares of one key.
  [[nodiscard]] Result<SecretKey> join(std::span<const SecretShare> shares) const;

 private:
  std::vector<std::uint32_t> points_;
  std::vector<ScalarField::Element> weights_;
};

}  // namespace muster
