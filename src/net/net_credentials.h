// What a process needs to speak over TLS: the authority that it trusts, its own certificate and key, as PEM. Without
// them it speaks in plain text, which is for tries on one machine.
#pragma once

#include <string>

namespace muster {

struct NetCredentials {
  std::string authority;
  std::string certificate;
  std::string key;
  [[nodiscard]] bool plain() const { return certificate.empty(); }
};

}  // namespace muster
