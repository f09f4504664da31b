// A run of the store as `muster runs --json` prints it: what `muster run --json` printed, and what only a list knows.
#pragma once

#include <nlohmann/json.hpp>

#include "store/store.h"

namespace muster {

// Of a run that has not stopped, what is known so far, by the same names; `stopped` is null.
[[nodiscard]] nlohmann::ordered_json run_json(const StoredRun& run);

// "2026-11-16 17:11:45", UTC.
[[nodiscard]] std::string utc_text(std::int64_t seconds);

}  // namespace muster
