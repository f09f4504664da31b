#include "app/interruption.h"

#include <sysexits.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

namespace muster {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<int> interrupted_by{0};  // the first signal
std::atomic<bool> of_a_job{false};
std::atomic<const char*> said{nullptr};

extern "C" void on_interrupt(int signal_number) {
  if (signal_number == SIGUSR1 && interrupted) return;  // a warning may come more than once
  if (interrupted.exchange(true)) {
    std::signal(signal_number, SIG_DFL);
    std::raise(signal_number);
    return;
  }
  interrupted_by = signal_number;
  // A launcher also signals the processes that are left when one has died, and ends them a moment later.
  if (of_a_job) return;
  const char* const note = said;
  if (!note) return;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, note, std::strlen(note));
}

}  // namespace

const std::atomic<bool>& catch_interruptions(const char* note) {
  said = note;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  std::signal(SIGUSR1, on_interrupt);
  return interrupted;
}

void catch_interruptions_of_job() {
  of_a_job = true;
  (void)catch_interruptions();
}

bool was_interrupted() {
  return interrupted;
}

int interrupted_status() {
  return interrupted_by == SIGUSR1 ? EX_TEMPFAIL : 128 + interrupted_by;
}

void leave_interruptions_to_others() {
  for (const int signal_number : {SIGINT, SIGTERM, SIGUSR1}) std::signal(signal_number, SIG_IGN);
}

}  // namespace muster
