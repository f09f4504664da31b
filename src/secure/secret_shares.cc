#include "secure/secret_shares.h"

#include <algorithm>

#include "secure/shamir.h"

namespace muster {
namespace {

constexpr std::size_t kHalf = 16;
using Element = ScalarField::Element;

}  // namespace

std::vector<SecretShare> split_key(const SecretKey& key, std::uint32_t threshold, std::span<const std::uint32_t> points,
                                   KeySource& keys) {
  MUSTER_CHECK(threshold >= 1 && threshold <= points.size(), "{} of {} shares", threshold, points.size());
  std::vector<SecretShare> shares(points.size());
  for (std::size_t half = 0; half < 2; ++half) {
    std::vector<Element> coefficients(1);
    std::copy_n(key.data() + half * kHalf, kHalf, coefficients[0].data());
    coefficients.reserve(threshold);
    for (std::uint32_t i = 1; i < threshold; ++i) coefficients.push_back(ScalarField::random(keys));
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Element share = share_at<ScalarField>(coefficients, points[i]);
      std::copy_n(share.data(), share.size(), shares[i].data() + half * share.size());
    }
  }
  return shares;
}

ShareJoiner::ShareJoiner(std::vector<std::uint32_t> points)
    : points_(std::move(points)), weights_(weights_at_zero<ScalarField>(points_)) {}

Result<SecretKey> ShareJoiner::join(std::span<const SecretShare> shares) const {
  MUSTER_CHECK(shares.size() == points_.size(), "{} shares, {} points", shares.size(), points_.size());
  SecretKey key;
  bool fits = true;
  for (std::size_t half = 0; half < 2; ++half) {
    std::vector<Element> parts(shares.size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
      std::copy_n(shares[i].data() + half * Element::size(), Element::size(), parts[i].data());
    }
    const Element value = value_at_zero<ScalarField>(weights_, parts);
    fits &= sodium_is_zero(value.data() + kHalf, Element::size() - kHalf) == 1;
    std::copy_n(value.data(), kHalf, key.data() + half * kHalf);
  }
  if (!fits) return failure("shares that do not belong together");
  return key;
}

}  // namespace muster
