// Credentials: what a process proves itself with, from the folder that `muster pki issue` made for it.
#pragma once

#include <filesystem>
#include <string>

#include "base/secret.h"
#include "pki/calendar.h"
#include "pki/identity.h"

namespace muster {

struct Credentials {
  Identity identity;
  // As TLS wants them, in PEM.
  std::string authority;
  std::string certificate;
  Secret key;

  // Reads ca.crt, own.crt and own.key. Fails, naming the file, if one is missing or broken, if key and certificate do
  // not belong together, if others may read the key, or if peers would refuse the certificate (trust_store.h).
  [[nodiscard]] static Result<Credentials> load(const std::filesystem::path& folder, sys_seconds now = utc_now());
};

}  // namespace muster
