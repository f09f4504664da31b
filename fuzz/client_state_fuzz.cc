#include <string>

#include "base/check.h"
#include "base/hash.h"
#include "clients/client_state.h"

// A manifest as it is, and with the right checksum after it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  std::string manifest(reinterpret_cast<const char*>(data), size);
  ClientStates states({});
  (void)states.restore(manifest).ok();
  const std::uint64_t hash = hash_bytes(manifest.data(), manifest.size());
  manifest.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  if (states.restore(manifest)) {
    const auto saved = states.save();
    MUSTER_CHECK(saved.ok() && *saved == manifest, "{} states do not save as they were restored", states.size());
  }
  return 0;
}
