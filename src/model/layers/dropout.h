// Dropout: in a training step each value is zero with a given probability, else scaled up so that its mean stays. Which
// ones follows from the key of the step, the layer's number and the sample's place in its batch, and from nothing else.
// Outside training steps values pass as they are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/layer.h"

namespace muster {

// `number` tells the dropout layers of a network apart. `rows`: see values.h. Precondition: 0 <= drop < 1.
[[nodiscard]] std::unique_ptr<Layer> make_dropout(std::string name, Shape shape, double drop, std::uint32_t number,
                                                  bool rows);

}  // namespace muster
