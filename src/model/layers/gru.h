// A layer of gated recurrent units over the words of a sequence, with PyTorch's equations and gates r, z, n.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/layer.h"

namespace muster {

// Input {1, words, dimension}. Output: the hidden state after the last word {1, 1, units}, or after every word
// {1, words, units}.
[[nodiscard]] std::unique_ptr<Layer> make_gru(std::string name, Shape input, std::uint32_t units, bool every_word);

}  // namespace muster
