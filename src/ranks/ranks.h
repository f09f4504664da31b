// Ranks: the processes of one job and how they reach each other. Rank 0 holds the round loop; all ranks train. What
// moves the bytes is behind this interface: OpenMPI in a program that was started by mpirun or srun, queues between
// threads in tests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/parcel.h"

namespace muster {

// What a rank has sent and received so far, with broadcasts: those count once for each rank that they go to.
struct Traffic {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
};

// Used by one thread of each rank. No call waits for another rank except take_all() and, as long as the values travel,
// give_all(). That a rank has died ends the job and is no error here; see lost().
class Ranks {
 public:
  struct Arrived {
    std::uint32_t from = 0;
    Parcel parcel;
  };

  virtual ~Ranks() = default;

  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  // Those on this machine, ascending, with this one.
  [[nodiscard]] virtual std::vector<std::uint32_t> neighbours() const = 0;
  // For people: "rank 2 on node7".
  [[nodiscard]] virtual std::string name(std::uint32_t rank) const = 0;

  // Parcels of one rank to another arrive once each, in the order in which they were sent.
  virtual void send(std::uint32_t to, Parcel parcel) = 0;
  // The next parcel of any rank, if one is there.
  [[nodiscard]] virtual std::optional<Arrived> receive() = 0;
  // Whether something that was sent is still on its way: whoever waits then should call receive() again without a
  // pause.
  [[nodiscard]] virtual bool sending() = 0;

  // From rank 0 to all others: it gives, they take, all in the same order and of the same size.
  virtual void give_all(std::span<const float> values) = 0;
  virtual void take_all(std::span<float> values) = 0;

  // A rank that is known to have died, if any.
  [[nodiscard]] virtual std::optional<std::uint32_t> lost() = 0;
  [[nodiscard]] virtual Traffic traffic() const = 0;
};

}  // namespace muster
