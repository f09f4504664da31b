// Shamir's sharing over any field: a secret is the value at 0 of a polynomial whose other coefficients are random; a
// share is its value at a point other than 0, and as many shares as it has coefficients give the secret back. Points
// are public and secrets are not: nothing here branches or looks up by a value, only by points and counts.
//
// A field F has a type Element and the static functions of(number), add, subtract, multiply and invert.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace muster {

// `coefficients`: the secret first, then the random ones.
template <typename F>
[[nodiscard]] typename F::Element share_at(std::span<const typename F::Element> coefficients, std::uint32_t point) {
  const typename F::Element x = F::of(point);
  typename F::Element value = coefficients.back();
  for (std::size_t i = coefficients.size() - 1; i > 0; --i) value = F::add(F::multiply(value, x), coefficients[i - 1]);
  return value;
}

// What each share counts when the value at 0 is put together: the product over the other points of x / (x - own).
// Precondition: points are distinct, and none is 0.
template <typename F>
[[nodiscard]] std::vector<typename F::Element> weights_at_zero(std::span<const std::uint32_t> points) {
  using Element = typename F::Element;
  std::vector<Element> x;
  for (const std::uint32_t point : points) x.push_back(F::of(point));
  std::vector<Element> above(points.size(), F::of(1));
  std::vector<Element> below(points.size(), F::of(1));
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < points.size(); ++j) {
      if (i == j) continue;
      above[i] = F::multiply(above[i], x[j]);
      below[i] = F::multiply(below[i], F::subtract(x[j], x[i]));
    }
  }
  // One inversion for all of them: that of the product, taken apart again from its end.
  std::vector<Element> before(points.size(), F::of(1));
  Element product = F::of(1);
  for (std::size_t i = 0; i < points.size(); ++i) {
    before[i] = product;
    product = F::multiply(product, below[i]);
  }
  Element inverse = F::invert(product);
  for (std::size_t i = points.size(); i-- > 0;) {
    above[i] = F::multiply(above[i], F::multiply(inverse, before[i]));
    inverse = F::multiply(inverse, below[i]);
  }
  return above;
}

// Precondition: as many of either.
template <typename F>
[[nodiscard]] typename F::Element value_at_zero(std::span<const typename F::Element> weights,
                                                std::span<const typename F::Element> shares) {
  typename F::Element value = F::of(0);
  for (std::size_t i = 0; i < shares.size(); ++i) value = F::add(value, F::multiply(weights[i], shares[i]));
  return value;
}

}  // namespace muster
