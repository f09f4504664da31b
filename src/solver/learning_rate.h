// The clients' learning rate, round by round.
#pragma once

#include <cstdint>
#include <vector>

#include "base/catalogue_entry.h"
#include "solver/local_options.h"

namespace muster {

// Every schedule, with its keys of [local].
[[nodiscard]] std::vector<CatalogueEntry> schedules();

// Of `round`, counted from 1. Precondition: options.schedule is one of schedules(), and a cosine has its rounds.
[[nodiscard]] double learning_rate_in(const LocalOptions& options, std::uint32_t round);

}  // namespace muster
