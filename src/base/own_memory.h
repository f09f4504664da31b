// The memory that this process has and shares with no other: neither the program's text nor shared memory.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace muster {

// As the kernel counts it (RssAnon); 0 if it does not say.
[[nodiscard]] inline std::uint64_t own_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace muster
