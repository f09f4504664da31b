// Ctrl-C: the first lets what goes on finish its round and save, a second one ends the program at once.
#pragma once

#include <atomic>

namespace muster {

// What is said on stderr when the first signal comes: by a run, and by a process that takes part in one.
inline constexpr char kFinishingRound[] =
    "\nmuster: finishing this round, then saving; press Ctrl-C again to stop at once\n";
inline constexpr char kLeavingRun[] =
    "\nmuster: leaving the run once the work at hand is done; press Ctrl-C again to stop at once\n";

// From now on SIGINT, SIGTERM and SIGUSR1 are caught; the flag, which lives as long as the program, is set by the
// first. `note`: one of the above; null: nothing is said.
[[nodiscard]] const std::atomic<bool>& catch_interruptions(const char* note = kFinishingRound);
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
