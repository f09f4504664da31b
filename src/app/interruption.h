// Ctrl-C: the first lets what goes on finish its round and save, a second one ends the program at once.
#pragma once

#include <atomic>

namespace muster {

// From now on SIGINT, SIGTERM and SIGUSR1 are caught; the flag, which lives as long as the program, is set by the
// first.
// `note`: whether that is said on stderr.
[[nodiscard]] const std::atomic<bool>& catch_interruptions(bool note = true);
// The same, from the beginning of a process that a launcher started as the first of several: nothing is said when a
// signal comes, for it may mean that another of them has died.
void catch_interruptions_of_job();
[[nodiscard]] bool was_interrupted();
// What a program that was interrupted ends with: 128 + the first signal; after SIGUSR1, by which batch systems tell
// that the time is nearly over, 75 (EX_TEMPFAIL): start me again.
[[nodiscard]] int interrupted_status();
// From now on they are ignored: launchers signal every process of a job, and rank 0 acts for all.
void leave_interruptions_to_others();

}  // namespace muster
