// The program without MPI: it runs alone.
#include <chrono>
#include <thread>

#include "app/launch.h"

namespace muster {

Result<std::unique_ptr<Ranks>> join_ranks(const Launch& launch) {
  if (launch.size <= 1) return std::unique_ptr<Ranks>();
  // Launchers end a job of which one process has failed, and it is the first one that says why.
  if (launch.rank > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  return usage_error(
      "{} started {} processes, but this program was built without MPI and would run {} times; use "
      "`./muster --with mpi ...`, or start it once",
      launch.by, launch.size, launch.size);
}

}  // namespace muster
