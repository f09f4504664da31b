// CIFAR-10 and CIFAR-100 binary files: records of label bytes and a planar 32x32 RGB image -> images, channels fastest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "base/result.h"
#include "data/raw_data.h"

namespace muster {

enum class CifarKind {
  kCifar10,   // one label byte, 10 classes
  kCifar100,  // a coarse and a fine label byte; the fine one is used, 100 classes
};

[[nodiscard]] Result<Samples> parse_cifar(std::span<const std::uint8_t> bytes, CifarKind kind);

// A folder with data_batch_1..5.bin (all five) and test_batch.bin, or train.bin and test.bin; the test file may be
// absent. Which of the two it is tells the kind. Files may also be gzipped (.gz).
[[nodiscard]] Result<RawData> read_cifar_folder(const std::filesystem::path& folder);

}  // namespace muster
