// A table of trained vectors, one per token id.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/layer.h"

namespace muster {

// Input: the network's, {1, words, 1}, token ids as floats, exact below 2^24. An id outside the vocabulary, which the
// data stage refuses, reads row 0. Output {1, words, dimension}.
[[nodiscard]] std::unique_ptr<Layer> make_embedding(std::string name, Shape input, std::uint32_t vocabulary,
                                                    std::uint32_t dimension);

}  // namespace muster
