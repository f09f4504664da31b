// Revocations: the serial numbers that an authority took back, from its signed list (ca.crl).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "pki/calendar.h"
#include "pki/openssl_handles.h"

namespace muster {

struct Revocations {
  std::uint64_t number = 0;                           // of the list: a later list has a larger one
  std::map<std::string, sys_seconds> by_serial = {};  // as serial_of() writes them, and since when
};

// Fails if the text is no list, or one that `authority` did not sign.
[[nodiscard]] Result<Revocations> parse_revocations(std::string_view pem, const X509& authority);
[[nodiscard]] Result<Revocations> read_revocations(const std::filesystem::path& path, const X509& authority);

}  // namespace muster
