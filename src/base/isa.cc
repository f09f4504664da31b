#include "base/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"

namespace muster {
namespace {

std::vector<Isa> detect() {
  std::vector<Isa> found{Isa::kBaseline};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.push_back(Isa::kAvx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl")) {
      found.push_back(Isa::kAvx512);
    }
  }
#endif
  return found;
}

Isa choose() {
  const auto available = available_isas();
  if (const char* wanted = std::getenv("MUSTER_ISA")) {
    for (const Isa isa : available) {
      if (name(isa) == wanted) return isa;
    }
  }
  return available.back();
}

Isa& chosen() {
  static Isa isa = choose();
  return isa;
}

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::kBaseline:
      return "baseline";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "?";
}

std::span<const Isa> available_isas() {
  static const std::vector<Isa> found = detect();
  return found;
}

Isa current_isa() {
  return chosen();
}

void use_isa(Isa isa) {
  const auto available = available_isas();
  MUSTER_CHECK(std::find(available.begin(), available.end(), isa) != available.end(), "{} is not available", name(isa));
  chosen() = isa;
}

}  // namespace muster
