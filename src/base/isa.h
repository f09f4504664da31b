// Which instruction set the kernels use. Each kernel file is compiled once per set, or has functions for each; the best
// one that this processor has is chosen at run time, and tests force each of them in turn.
#pragma once

#include <span>
#include <string_view>

// What a function is compiled for, in a file that is compiled for the baseline.
#if defined(__x86_64__)
#define MUSTER_FOR_AVX2 __attribute__((target("avx2,fma")))
#if defined(__clang__)  // has no prefer-vector-width
#define MUSTER_FOR_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
#else
#define MUSTER_FOR_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma,prefer-vector-width=512")))
#endif
#endif

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
