// IDX files (MNIST, Fashion-MNIST, EMNIST, and QMNIST's label files): bytes -> images with labels, and writers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "data/raw_data.h"

namespace muster {

// One IDX array, viewed in the bytes it was parsed from; valid as long as they are.
struct IdxArray {
  enum class Element { kU8, kI16, kI32 };

  Element element = Element::kU8;
  std::vector<std::uint32_t> dims;
  std::size_t count = 0;                  // product of dims
  std::span<const std::uint8_t> payload;  // exactly `count` big-endian elements

  // Precondition: index < count.
  [[nodiscard]] std::int32_t at(std::size_t index) const;
};

[[nodiscard]] Result<IdxArray> parse_idx(std::span<const std::uint8_t> bytes);

struct IdxOptions {
  std::uint32_t classes = 0;  // labels must be below this; 0 = one more than the largest label
  bool transposed = false;    // images are stored column by column, as EMNIST's are
  bool writers = false;       // take the writers from QMNIST's label files beside the images as clients
};

// u8 images [n][h][w] with labels [n] of any element type. The images' memory becomes that of the samples. Errors say
// which of the two is at fault.
[[nodiscard]] Result<Samples> parse_idx_samples(std::vector<std::uint8_t> images, std::span<const std::uint8_t> labels,
                                                const IdxOptions& options);

// QMNIST's label table, int32 [n][8]: row i belongs to image i of MNIST.
struct QmnistLabels {
  std::vector<std::int32_t> labels;
  std::vector<std::uint32_t> writers;
};
[[nodiscard]] Result<QmnistLabels> parse_qmnist_labels(std::span<const std::uint8_t> bytes);

// A folder with {train,t10k}-{images-idx3,labels-idx1}-ubyte or emnist-*-{train,test}-{images-idx3,labels-idx1}-ubyte,
// each plain or .gz. A pair that is alone is the training part, also when it is called test: then all there is must
// be divided. With `writers`, the test set stays the server's, because QMNIST's test writers are not in train.
[[nodiscard]] Result<RawData> read_idx_folder(const std::filesystem::path& folder, const IdxOptions& options);

}  // namespace muster
