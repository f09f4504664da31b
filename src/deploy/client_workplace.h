// The workplace of a process that stands for clients of a simulated partition: their samples come from the recipe, and
// what they remember is on this process's own disk.
#pragma once

#include <filesystem>
#include <memory>

#include "recipe/recipe.h"
#include "wire/workplace.h"

namespace muster {

// `threads`: how many clients train at a time. `states`: folder for what clients remember. Fails if the recipe's data
// cannot be made here.
[[nodiscard]] Result<std::shared_ptr<Workplace>> make_client_workplace(const Recipe& recipe, std::uint32_t threads,
                                                                       const std::filesystem::path& states);

}  // namespace muster
