// What a safetensors file holds: named tensors of floats, and their values as one flat vector in the order of the file.
// Nothing in the file is trusted: sizes are checked before memory is taken.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/network.h"

namespace muster {

inline constexpr std::uint64_t kMostTensorHeaderBytes = 100'000'000;  // the format's own limit

struct TensorFile {
  std::vector<ParameterTensor> tensors;  // by where their values are; they tile `values`
  std::vector<float> values;
};

// Fails if it is no such file, is truncated or has bytes that belong to no tensor or to two, or if a tensor is not of
// type F32 or is named twice. Errors name the tensor.
[[nodiscard]] Result<TensorFile> parse_tensor_file(std::span<const std::uint8_t> bytes);
// The same of a file of at most `most_values` values; errors name the file.
[[nodiscard]] Result<TensorFile> read_tensor_file(const std::filesystem::path& path, std::uint64_t most_values);

}  // namespace muster
