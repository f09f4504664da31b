// The program with MPI.
#include "app/launch.h"
#include "ranks/mpi_ranks.h"

namespace muster {

Result<std::unique_ptr<Ranks>> join_ranks(const Launch& launch) {
  if (launch.size <= 1) return std::unique_ptr<Ranks>();
  return join_mpi(launch.size);
}

}  // namespace muster
