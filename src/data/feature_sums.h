// FeatureSums: what has to be known of a feature to standardise it, client by client: how many values, their sum, their
// squares. Sums of clients are merged in the order of clients, so that a deployment, whose clients tell them, has the
// bits of a simulation, which reads all rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace muster {

struct FeatureSums {
  std::uint64_t count = 0;
  double sum = 0;
  double squares = 0;  // of the distances from the values' own mean: sums of plain squares would cancel

  // Precondition: count > 0.
  [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
  bool operator==(const FeatureSums&) const = default;
};

// Of the values of both (Chan, Golub and LeVeque 1979). One of no values changes no bit of the other.
[[nodiscard]] FeatureSums merged(const FeatureSums& a, const FeatureSums& b);
// Entry by entry; `into` may be empty: then it becomes `from`.
void merge(std::span<const FeatureSums> from, std::vector<FeatureSums>& into);

// The training rows of each client, client after client, each client's in the order of the rows.
struct OwnedRows {
  std::vector<std::uint32_t> offsets{0};  // clients + 1 entries
  std::vector<std::uint32_t> rows;
};
// `owners`: the client of each row, below `owner_count`; empty: all rows are of one. `is_test`: rows that are left out;
// empty: none.
[[nodiscard]] OwnedRows owned_rows(std::size_t rows, std::span<const std::uint32_t> owners, std::size_t owner_count,
                                   const std::vector<bool>& is_test);

// One entry per slot: value i of a row, of `width` values, is of slot i % slots. Values that are NaN are missing, and
// do not count. Two passes over each client's rows.
[[nodiscard]] std::vector<FeatureSums> sums_of(std::span<const float> values, std::size_t width, std::size_t slots,
                                               const OwnedRows& owned);
[[nodiscard]] std::vector<FeatureSums> sums_of(std::span<const std::uint8_t> values, std::size_t width,
                                               std::size_t slots, const OwnedRows& owned);

// Sums of features -> sums of channels: feature i is of channel i % channels.
[[nodiscard]] std::vector<FeatureSums> by_channel(std::span<const FeatureSums> features, std::size_t channels);

// What standardises: value * scale + offset is (value - mean) / (deviation + epsilon). A feature that never varies
// becomes 0; one without values stays as it is.
void standardise(std::span<const FeatureSums> sums, double epsilon, std::vector<float>& scale,
                 std::vector<float>& offset);

}  // namespace muster
