// A network and its weights as an ONNX file (docs/export.md): operators of set 13, so that common readers run it.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "base/result.h"
#include "model/network.h"
#include "record/onnx_graph.h"

namespace muster {

// The bytes of the file. Input "input": rows x features for a table, rows x channels x height x width for all else
// (a sequence has height 1), rows x tokens of int64 where the network begins with an embedding. Outputs "logits" and
// "probabilities": rows x classes; a network with one output on two classes has one logit. Weights keep their names in
// torch_layout.h, but those of recurrent layers and their order of gates are ONNX's.
// Precondition: `flat` has network.size() values. Fails if the file would be larger than ONNX can hold, and
// where two tensors would have one name (check_torch_names).
[[nodiscard]] Result<std::string> to_onnx(const Network& network, std::span<const float> flat,
                                          const OnnxProducer& producer,
                                          const std::map<std::string, std::string>& metadata);

// Whether a file of so many bytes can be read: a protocol buffer ends at 2 GiB.
[[nodiscard]] Status check_onnx_size(std::size_t bytes);

}  // namespace muster
