// The manual page: what --help says on every level, as one page in roff.
#pragma once

#include <string>

#include "app/command_text.h"

namespace muster {

// `version` is shown in the page's foot.
[[nodiscard]] std::string man_page(const CommandText& program, const std::string& version);

}  // namespace muster
