// IssuedIndex: what an authority has issued, kept beside its key as index.json. A certificate that is not in it cannot
// be revoked, so it is written before the certificate is handed out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "pki/calendar.h"
#include "pki/identity.h"

namespace muster {

struct IssuedCertificate {
  Identity identity;
  sys_seconds not_before = {};
  std::optional<sys_seconds> revoked = {};
};

struct IssuedIndex {
  std::uint64_t crl_number = 1;                      // of the list of revoked certificates that belongs to it
  std::vector<IssuedCertificate> certificates = {};  // as they were issued, the oldest first
};

[[nodiscard]] Result<IssuedIndex> read_index(const std::filesystem::path& folder);
// Whole or not at all.
[[nodiscard]] Status write_index(const std::filesystem::path& folder, const IssuedIndex& index);

}  // namespace muster
