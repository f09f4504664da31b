// The processes that mpirun or srun started, as Ranks over OpenMPI. The only file that knows MPI is mpi_ranks.cc, which
// is built with MUSTER_MPI only.
#pragma once

#include <memory>

#include "ranks/ranks.h"

namespace muster {

// Joins the job. Called once, before any thread is started, by the thread that will use the ranks; `started` is how
// many processes the launcher says there are: fails if MPI sees another number. Destroying the ranks leaves the job.
[[nodiscard]] Result<std::unique_ptr<Ranks>> join_mpi(std::uint32_t started);

}  // namespace muster
