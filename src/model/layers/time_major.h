// Sequences as recurrent layers keep them: time-major, [words][batch][padded width]. Then the product of all words with
// a matrix, and the gradient of the matrix, are one product each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/layer.h"

namespace muster {

// What a recurrent layer reads: one line of `stride` floats per word and sample, time-major.
struct TimeMajor {
  const float* x = nullptr;
  float* dx = nullptr;  // null: nobody needs it; else lines are padded
  std::size_t stride = 0;
};

// The input as it is, if it is time-major; else a copy, with the call that makes it.
[[nodiscard]] TimeMajor read_time_major(Compiler& compiler, const Activation& in);
// The copy's gradient back to where the input came from: call after the layer's own backward calls.
void return_gradient(Compiler& compiler, const Activation& in, const TimeMajor& lines);

// Time-major memory of the layer, `width` floats a line, as what it delivers: all words of `shape`, or if it has one
// word those of the last. Precondition: `want` is channels without halo, or for one word rows.
[[nodiscard]] Activation deliver_time_major(const Compiler& compiler, Shape shape, std::uint32_t words, float* data,
                                            float* gradient, const Request& want);

}  // namespace muster
