// The workplace of a process that stands for clients: their samples are here, and what they remember is on this
// process's own disk.
#pragma once

#include <filesystem>
#include <memory>

#include "recipe/recipe.h"
#include "wire/workplace.h"

namespace muster {

// `data`: of all clients of the run, of which those that this process does not stand for may have no samples here.
// `threads`: how many clients train at a time. `states`: folder for what clients remember. Fails if the recipe's
// network does not fit the data.
[[nodiscard]] Result<std::shared_ptr<Workplace>> make_client_workplace(const Recipe& recipe,
                                                                       std::shared_ptr<const FederatedData> data,
                                                                       std::uint32_t threads,
                                                                       const std::filesystem::path& states);

}  // namespace muster
