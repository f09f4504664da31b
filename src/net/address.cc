#include "net/address.h"

#include <charconv>

namespace muster {

Status check_address(std::string_view option, const std::string& address, bool any_port) {
  const std::size_t colon = address.rfind(':');
  std::uint32_t port = 0;
  bool fits = colon != std::string::npos && colon > 0;
  if (fits) {
    const char* const end = address.data() + address.size();
    const auto [rest, error] = std::from_chars(address.data() + colon + 1, end, port);
    fits = error == std::errc() && rest == end && port <= 65535 && (any_port || port > 0);
  }
  if (fits) return {};
  return usage_error("{}: {}, want host:port with a port from {} to 65535", option, address, any_port ? 0 : 1);
}

}  // namespace muster
