// Weights for other tools: a model's flat vector as named tensors in a safetensors or npz file, and safetensors back
// into the flat vector. Tensors keep the order of axes of the flat vector (model/network.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/network.h"

namespace muster {

// The "layout" of a model whose layers only its clients know.
inline constexpr char kOwnLayout[] = "the clients' own";

// `flat` has network.size() values; statistics are written too. `metadata` goes into the header as it is, next to
// "layout", which gives the order of axes unless `metadata` does. The file is written whole or not at all.
[[nodiscard]] Status write_safetensors(const std::filesystem::path& path, const Network& network,
                                       std::span<const float> flat, const std::map<std::string, std::string>& metadata);

// One float32 array per tensor and a member for each of `texts`, by its name; at most 4 GiB in all.
[[nodiscard]] Status write_npz(const std::filesystem::path& path, const Network& network, std::span<const float> flat,
                               const std::map<std::string, std::string>& texts = {});

// The flat vector of a file that holds exactly the network's tensors, in any order. Errors name the file, the tensor,
// what it has and what the network wants.
[[nodiscard]] Result<std::vector<float>> read_safetensors(const std::filesystem::path& path, const Network& network);

// The same for any list of tensors that tiles a flat vector. parse_safetensors reads from memory.
[[nodiscard]] Status write_safetensors(const std::filesystem::path& path, std::span<const ParameterTensor> tensors,
                                       std::span<const float> flat, const std::map<std::string, std::string>& metadata);
[[nodiscard]] Status write_npz(const std::filesystem::path& path, std::span<const ParameterTensor> tensors,
                               std::span<const float> flat, const std::map<std::string, std::string>& texts = {});
[[nodiscard]] Result<std::vector<float>> parse_safetensors(std::span<const std::uint8_t> bytes,
                                                           std::span<const ParameterTensor> tensors);

}  // namespace muster
