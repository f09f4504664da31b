// The most memory that this process has had in use so far.
#pragma once

#include <cstdint>

namespace muster {

// As the kernel counts it (VmHWM). getrusage() would also count the program that started this one, and is asked only
// where there is no /proc.
[[nodiscard]] std::uint64_t peak_rss_bytes();

}  // namespace muster
