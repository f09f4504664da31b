// ExecutorTimes: where the time of training and evaluating a network goes.
#pragma once

#include <string>
#include <vector>

namespace muster {

// Where an executor's time goes, in seconds. Layers in the order of the network, a composite before its parts (and
// without their time).
struct ExecutorTimes {
  struct LayerTime {
    std::string name;
    double forward_s = 0;
    double backward_s = 0;  // with the step of the weights, for plain SGD
  };
  std::vector<LayerTime> layers;
  double loss_s = 0;
  double step_s = 0;   // momentum and Adam
  double load_s = 0;   // from the flat vector, and products of fixed rows
  double store_s = 0;  // and back
};

}  // namespace muster
