// Vectors in parts of at most 1 MiB, each with a checksum. ChunkReader puts them together again and trusts nothing:
// numbers, sizes and order are checked before memory is taken.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "wire/channel.h"

namespace muster {

inline constexpr std::size_t kChunkValues = std::size_t{1} << 18;  // 1 MiB
// Memory of a longer vector is taken as it comes: whoever announces more than it sends does not cost it.
inline constexpr std::size_t kTakenAtOnce = std::size_t{1} << 24;  // values

// The part of `vector` that begins at `offset`; the next one begins where it ends. An empty vector is one part.
[[nodiscard]] v1::Frame chunk_of(const WireVector& vector, std::size_t offset);

class ChunkReader {
 public:
  struct Limits {
    std::uint64_t vector_values = 0;  // of one vector
    std::uint64_t held_values = 0;    // of all that have not been taken or forgotten
    std::uint32_t held_vectors = 0;
  };

  explicit ChunkReader(const Limits& limits) : limits_(limits) {}

  // Of what begins from now on.
  void set_limits(const Limits& limits) { limits_ = limits; }
  // Fails where a peer breaks the rules; nothing more may be read then.
  [[nodiscard]] Status add(const v1::Chunk& chunk);
  // A whole vector by its number, which stays; null if it has not come or is not whole.
  [[nodiscard]] std::shared_ptr<const WireVector> find(std::uint64_t number) const;
  // The same, and forgets it.
  [[nodiscard]] std::optional<std::vector<float>> take(std::uint64_t number);
  void forget(std::uint64_t number);

 private:
  struct Held {
    std::shared_ptr<WireVector> vector;
    std::uint64_t size = 0;  // values, once it is whole
    std::uint64_t came = 0;
  };

  Limits limits_;
  std::map<std::uint64_t, Held> held_;
  std::uint64_t held_values_ = 0;
};

}  // namespace muster
