// Zip archives, as far as NumPy writes them: members stored or deflated, no encryption, no zip64 sizes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct ZipMember {
  std::string name;
  std::vector<std::uint8_t> bytes;
};

// All members in the order of the central directory, each checked against its CRC. Fails if together they unpack to
// more than `limit` bytes; no member's claimed size is believed beyond what its packed bytes could hold.
[[nodiscard]] Result<std::vector<ZipMember>> unzip(std::span<const std::uint8_t> bytes, std::uint64_t limit);

}  // namespace muster
