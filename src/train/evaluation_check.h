// Whether what a client says of an evaluation can be true: the numbers add up to the samples it has, and nothing is
// there that was not asked for.
#pragma once

#include <cstdint>

#include "solver/local_task.h"

namespace muster {

// `samples`: how many the client said it has when it joined. A loss may be anything: a model can be that bad.
[[nodiscard]] bool adds_up(const Evaluation& told, std::uint64_t samples, const Details& asked, std::uint32_t classes);

}  // namespace muster
