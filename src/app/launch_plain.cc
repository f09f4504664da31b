// The program without MPI: it runs alone.
#include "app/launch.h"

namespace muster {

Result<std::unique_ptr<Ranks>> join_ranks(const Launch& launch) {
  if (launch.size <= 1) return std::unique_ptr<Ranks>();
  return usage_error(
      "{} started {} processes, but this program was built without MPI and would run {} times; use "
      "`./muster --with mpi ...`, or start it once",
      launch.by, launch.size, launch.size);
}

}  // namespace muster
