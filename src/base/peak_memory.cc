#include "base/peak_memory.h"

#include <sys/resource.h>

#include <cstdio>
#include <memory>

namespace muster {

std::uint64_t peak_rss_bytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/status", "r"), &std::fclose);
  char line[256];
  unsigned long long kilobytes = 0;
  while (file && std::fgets(line, sizeof line, file.get())) {
    if (std::sscanf(line, "VmHWM: %llu kB", &kilobytes) == 1) return kilobytes * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace muster
