// Recurrent: what LSTM and GRU have in common — shapes, tensors and the packed layout. The cell itself is theirs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/kernels/dense_kernels.h"
#include "model/layer.h"

namespace muster {

// Packed: the input matrix, the recurrent matrix, the bias and, where there is one, the recurrent bias, each padded.
class Recurrent : public Layer {
 public:
  Shape output() const override { return {1, every_word_ ? words_ : 1, units_}; }
  std::uint64_t forward_macs() const override;
  Request request(std::uint32_t) const override { return {Format::kChannels, 0}; }
  std::vector<TensorSpec> tensors() const override;
  std::size_t packed_size() const override;
  void pack(const float* flat, float* packed) const override;
  void unpack(const float* packed, float* flat) const override;

 protected:
  struct Form {
    std::uint32_t gates = 4;
    bool recurrent_bias = false;  // one number per unit, beside the bias of all gates
  };
  // `every_word`: the state after each word is the output, not only the last.
  Recurrent(std::string name, Shape input, std::uint32_t units, bool every_word, Form form);

  std::uint32_t words_;
  std::uint32_t units_;
  bool every_word_;
  Form form_;
  DenseShape input_;
  DenseShape recurrent_;
};

}  // namespace muster
