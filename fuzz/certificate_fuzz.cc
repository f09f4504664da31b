#include <string_view>

#include "base/check.h"
#include "pki/certificate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (const auto identity = identity_of({reinterpret_cast<const char*>(data), size})) {
    MUSTER_CHECK(check_name(identity->name).ok(), "accepted the name {}", identity->name);
    const auto again = identity_from_uris(identity_uris(*identity));
    MUSTER_CHECK(again.ok() && again->role == identity->role && again->name == identity->name &&
                     again->clients == identity->clients,
                 "{} is not read as it is written", identity->shown());
  }
  return 0;
}
