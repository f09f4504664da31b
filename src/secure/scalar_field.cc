#include "secure/scalar_field.h"

namespace muster {

static_assert(crypto_core_ed25519_SCALARBYTES == 32);

ScalarField::Element ScalarField::of(std::uint32_t number) {
  Element element;
  for (int i = 0; i < 4; ++i) element.data()[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return element;
}

ScalarField::Element ScalarField::add(const Element& a, const Element& b) {
  Element sum;
  crypto_core_ed25519_scalar_add(sum.data(), a.data(), b.data());
  return sum;
}

ScalarField::Element ScalarField::subtract(const Element& a, const Element& b) {
  Element difference;
  crypto_core_ed25519_scalar_sub(difference.data(), a.data(), b.data());
  return difference;
}

ScalarField::Element ScalarField::multiply(const Element& a, const Element& b) {
  Element product;
  crypto_core_ed25519_scalar_mul(product.data(), a.data(), b.data());
  return product;
}

ScalarField::Element ScalarField::invert(const Element& a) {
  Element inverse;
  (void)crypto_core_ed25519_scalar_invert(inverse.data(), a.data());
  return inverse;
}

ScalarField::Element ScalarField::random(KeySource& keys) {
  SecretBytes<crypto_core_ed25519_NONREDUCEDSCALARBYTES> wide;
  keys.fill(wide.bytes());
  Element element;
  crypto_core_ed25519_scalar_reduce(element.data(), wide.data());
  return element;
}

}  // namespace muster
