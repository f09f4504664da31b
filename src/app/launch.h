// How this process was started: alone, or as one of several by mpirun or srun. What joins them is one of two files: the
// program built with MPI has ranks (launch_mpi.cc), the plain one says that it cannot have any (launch_plain.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ranks/ranks.h"

namespace muster {

struct Launch {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::string by;  // "mpirun", "srun", ...; empty if it was started alone
};

// What launchers leave in the environment; `variable` is getenv. A batch script of Slurm is one process, however many
// tasks its job has.
[[nodiscard]] Launch read_launch(const std::function<const char*(const char*)>& variable);

// The job's ranks; null if this process is alone. Fails if it is not and cannot join the others.
[[nodiscard]] Result<std::unique_ptr<Ranks>> join_ranks(const Launch& launch);

}  // namespace muster
