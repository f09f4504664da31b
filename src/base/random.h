// Counter-based random streams (Philox 4x32-10). A stream is named by what it is for, so results depend neither
// on the thread that draws nor on the order in which clients are simulated.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace muster {

// What a stream is for. Values are part of every signature: append, never renumber.
enum class Purpose : std::uint32_t {
  kInitialise = 1,
  kPartition = 2,
  kGrouping = 3,
  kSampling = 4,
  kClientOrder = 5,
  kBatchOrder = 6,
  kFault = 7,
  kNoise = 8,
  kAugment = 9,
  kSynthetic = 10,
  kSplit = 11,
  kBench = 12,
  kTest = 13,
  kSlots = 14,
  kDropout = 15,
};

// Everything that names a stream. `round`, `id` and `part` are free for the purpose: e.g. (round, client, epoch).
struct StreamKey {
  std::uint64_t seed = 0;
  Purpose purpose = Purpose::kTest;
  std::uint32_t round = 0;
  std::uint32_t id = 0;
  std::uint32_t part = 0;
};

// Not thread-safe; cheap to make. Satisfies UniformRandomBitGenerator, but prefer the members below: unlike the
// distributions of the standard library they give the same numbers everywhere.
class Stream {
 public:
  using result_type = std::uint32_t;

  explicit Stream(const StreamKey& key);

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return 0xffffffffu; }
  result_type operator()() { return next(); }

  std::uint32_t next();
  std::uint64_t next64();
  // Uniform in [0, 1), 53 bits.
  double uniform();
  // Uniform in {0, ..., bound - 1} without bias. Precondition: bound > 0.
  std::uint32_t below(std::uint32_t bound);
  // Standard normal.
  double normal();
  // log of a Gamma(shape, 1) draw; in log space because tiny shapes underflow. Precondition: 0 < shape < infinity.
  double log_gamma_draw(double shape);
  // A Dirichlet draw with the given concentrations (positive and finite), written as probabilities that sum to 1.
  void dirichlet(std::span<const double> concentration, std::span<double> probabilities);

  template <typename T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
  }
  // `count` distinct values of {0, ..., population - 1}, ascending. O(count) memory (Floyd). Precondition: count <=
  // population.
  std::vector<std::uint32_t> sample(std::uint32_t population, std::uint32_t count);

 private:
  void refill();

  std::array<std::uint32_t, 4> counter_{};
  std::array<std::uint32_t, 2> key_{};
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

}  // namespace muster
