// Addresses as users write them: host:port, [::1]:port.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

// Fails with the option's name, the address and what is accepted. gRPC itself takes any number for a port, and uses the
// rest of it. `any_port`: port 0, which means any, is fine.
[[nodiscard]] Status check_address(std::string_view option, const std::string& address, bool any_port);

}  // namespace muster
