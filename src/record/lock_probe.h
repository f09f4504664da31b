// Whether a run is being worked on, for those who only look at it.
#pragma once

#include <filesystem>

namespace muster {

// Whether some process has the folder locked (record/run_lock.h), this one included. False if nobody can tell.
[[nodiscard]] bool is_locked(const std::filesystem::path& folder);

}  // namespace muster
