// What a client computes of itself: noisy counts, how sure a model is of each class, a part of a model's weights. Pure
// functions of their arguments.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/result.h"
#include "base/rows.h"
#include "model/parameter_parts.h"
#include "profile/profile.h"

namespace muster {

// The noise of a client, from a seed. The same whenever it is asked in a run: asking again reveals nothing new.
[[nodiscard]] NoiseDraws seeded_noise(std::uint64_t seed, ClientId client);

// Counts with independent Laplace noise of scale 1 / epsilon, rounded and cut at 0. One sample more or less changes one
// count by one, so the counts are epsilon-differentially private against adding or removing a sample. Where nothing
// would be left, the class with the largest noisy count gets 1: the client is known to have samples.
[[nodiscard]] std::vector<std::uint32_t> noisy_counts(std::span<const std::uint32_t> counts, double epsilon,
                                                      const NoiseDraws& draws);

// What a model that was trained on a client's samples is sure of (FedSeq, Eq. 3), from its outputs on exemplars: a row
// of logits per exemplar (one logit: two classes by the logistic function). With q the probability given to an
// exemplar's own class, summed (shares) or averaged (softmax) over the exemplars of each class:
//   shares:  q_c / sum of q          softmax: e^(q_c) / sum of e^q
// A class without exemplars has q = 0. Where every q is 0 the result is uniform; logits that are not finite give NaN.
// An empty form is shares. Precondition: a label in [0, classes) per row.
[[nodiscard]] std::vector<float> confidence_vector(const RowsView<float>& logits, std::span<const std::int32_t> labels,
                                                   std::uint32_t classes, const std::string& form);

// The parts of the flat vector that are the weights of the last, the last two or all dense layers, in order; with
// `bias` their biases too. An empty `layers` is the last. Fails if the network's classifier has too few layers.
[[nodiscard]] Result<std::vector<ParameterRange>> classifier_ranges(const Network& network, const std::string& layers,
                                                                    bool bias);
}  // namespace muster
