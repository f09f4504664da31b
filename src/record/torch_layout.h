// A network and its weights as PyTorch has them: names, order of axes and flattening of torch.nn, and the layers as
// JSON, from which a few lines of Python build the same network (docs/export.md).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/network.h"

namespace muster {

// Activations are batch x channels x height x width there (a sequence has height 1), so a dense layer after pixels gets
// its inputs in that order. Weights: dense [out][in]; convolution [out][in][height][width]; LSTM and GRU weight_ih_l0,
// weight_hh_l0, bias_ih_l0, bias_hh_l0; normalisations weight, bias, running_mean, running_var. A dot within a layer's
// name becomes an underscore, and a normalisation that shares its convolution's name ends in _norm.
struct TorchNetwork {
  std::vector<ParameterTensor> tensors;
  std::vector<float> flat;
  std::string layers;  // a JSON list; residuals have lists inside
};
// Precondition: `flat` has network.size() values.
[[nodiscard]] TorchNetwork to_torch(const Network& network, std::span<const float> flat);

// Fails, naming it, if two tensors have one name there: those of layers "a.b" and "a_b".
[[nodiscard]] Status check_torch_names(const TorchNetwork& network);

// With which the names of a layer's tensors begin there; `before` is the layer before it in its list, or null.
[[nodiscard]] std::string torch_name(const LayerFace& face, const LayerFace* before);

}  // namespace muster
