// ScalarField: the integers modulo the order of the Ed25519 group (a prime slightly above 2^252), with libsodium's
// arithmetic, whose time does not depend on the values.
#pragma once

#include <cstdint>

#include "secure/key_source.h"
#include "secure/secret_bytes.h"

namespace muster {

struct ScalarField {
  using Element = SecretBytes<32>;
  static Element of(std::uint32_t number);
  static Element add(const Element& a, const Element& b);
  static Element subtract(const Element& a, const Element& b);
  static Element multiply(const Element& a, const Element& b);
  // Precondition: not 0.
  static Element invert(const Element& a);
  // Uniform.
  static Element random(KeySource& keys);
};

}  // namespace muster
