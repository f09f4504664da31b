// A recipe for deployments that things happen to: groups that are formed anew, clients that remember, checkpoints now
// and then, and rounds that last a little.
#pragma once

namespace muster {

inline constexpr const char* kStatefulRecipe = R"(
name = "stateful"
rounds = 12
checkpoint-every = 3
[data]
source = "synthetic"
clients = 12
samples-min = 60
samples-max = 120
test-fraction = 0.1
[model]
name = "mlp"
hidden = [64]
[local]
batch-size = 4
epochs = 20
learning-rate = 0.05
objective = "control-variate"
[profile]
kind = "label-histogram"
[grouping]
method = "mediator"
size = 3
[plan]
regroup-every = 4
sample-clients = 8
[aggregation]
global = "control-variate"
)";

}  // namespace muster
