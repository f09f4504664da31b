// The clocks of the benches: processor time of this process, which other processes on the machine do not disturb much,
// and wall time.
#pragma once

namespace muster {

[[nodiscard]] double cpu_seconds();
[[nodiscard]] double wall_seconds();

}  // namespace muster
