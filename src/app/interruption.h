// Ctrl-C: the first lets what goes on finish its round and save, a second one ends the program at once.
#pragma once

#include <atomic>

namespace muster {

// From now on SIGINT and SIGTERM are caught; the flag, which lives as long as the program, is set by the first.
[[nodiscard]] const std::atomic<bool>& catch_interruptions();
// What a program that was interrupted ends with: 128 + the first signal.
[[nodiscard]] int interrupted_status();

}  // namespace muster
