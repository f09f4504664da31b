#include "app/launch.h"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace muster {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
};

// OpenMPI's comes first: mpirun may itself be started by srun.
constexpr std::array kLaunchers{Launcher{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                Launcher{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                                Launcher{"mpiexec", "PMI_RANK", "PMI_SIZE"}};

std::optional<std::uint32_t> number(const char* text) {
  if (!text) return std::nullopt;
  std::uint32_t value = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace

Launch read_launch(const std::function<const char*(const char*)>& variable) {
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<std::uint32_t> rank = number(variable(launcher.rank));
    const std::optional<std::uint32_t> size = number(variable(launcher.size));
    if (rank && size && *rank < *size) return {.rank = *rank, .size = *size, .by = launcher.name};
  }
  return {};
}

}  // namespace muster
