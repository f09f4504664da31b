#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/hash.h"
#include "record/checkpoint.h"

namespace {

void parse(std::span<const std::uint8_t> bytes) {
  const auto checkpoint = muster::parse_checkpoint(bytes);
  if (!checkpoint) return;
  std::size_t held = 0;
  for (const auto& [name, content] : checkpoint->sections) {
    held += name.size() + content.size();
    (void)checkpoint->get_uint64(name);
    (void)checkpoint->get_floats(name);
    (void)checkpoint->get_doubles(name);
  }
  MUSTER_CHECK(held <= bytes.size(), "{} bytes of sections in a file of {}", held, bytes.size());
}

}  // namespace

// As it is, and with the checksum of the table put in where the first byte says the table ends: otherwise no input
// would get past it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> all(data + 1, size - 1);
  parse(all);
  const std::size_t cut = std::min<std::size_t>(data[0], all.size());
  const std::uint64_t hash = muster::hash_bytes(all.data(), cut);
  const auto* const hash_bytes = reinterpret_cast<const std::uint8_t*>(&hash);
  std::vector<std::uint8_t> sealed(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(cut));
  sealed.insert(sealed.end(), hash_bytes, hash_bytes + sizeof hash);
  sealed.insert(sealed.end(), all.begin() + static_cast<std::ptrdiff_t>(cut), all.end());
  parse(sealed);
  return 0;
}
