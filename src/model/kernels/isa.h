// Which instruction set the kernels use. Each kernel file is compiled once per set; the best one that this processor
// has is chosen at run time, and tests force each of them in turn.
#pragma once

#include <span>
#include <string_view>

namespace muster {

enum class Isa { kBaseline, kAvx2, kAvx512 };

[[nodiscard]] std::string_view name(Isa isa);
// What was built in and runs on this processor, slowest first. Never empty.
[[nodiscard]] std::span<const Isa> available_isas();
// The one in use: the best available, unless MUSTER_ISA=baseline|avx2|avx512 or use_isa() says otherwise.
[[nodiscard]] Isa current_isa();
// For tests and benches, before any network is compiled. Precondition: available.
void use_isa(Isa isa);

}  // namespace muster
