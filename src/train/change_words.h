// What a member gives to a secure sum of models: by how much it changed the one it was sent, as words; where nobody is
// to learn how many samples it has, what it counts of them; and what its objective sends besides the model.
#pragma once

#include <array>
#include <span>

#include "secure/fixed_point.h"
#include "secure/key_agreement.h"
#include "secure/secure_options.h"
#include "solver/local_task.h"

namespace muster {

// Weighted by the member's samples. Fails if it has more than the format allows. Leaves the change in update.model.
// Precondition: as many values in either model.
[[nodiscard]] inline Result<Words> encode_change(const FixedPoint& format, std::span<const float> start,
                                                 LocalUpdate& update) {
  for (std::size_t i = 0; i < start.size(); ++i) update.model[i] -= start[i];
  return encode_input(format, update.model, update.samples);
}

// What is counted in a sum that hides it: samples, and how many were trained on in this visit.
inline constexpr std::size_t kHiddenCounts = 2;
[[nodiscard]] inline std::array<std::uint64_t, kHiddenCounts> hidden_counts(const LocalUpdate& update) {
  return {update.samples, update.samples_trained};
}
// Of a member's vector, for a model and a payload of so many values.
[[nodiscard]] inline SumLayout layout_of_change(const SecureOptions& options, std::size_t model, std::size_t payload) {
  return {.weighted = model, .counts = options.hides_samples() ? kHiddenCounts : 0, .values = payload};
}

// Of all that members start from. They must not be sent different ones: whoever is sent nonsense answers what the
// server expects, and the sum is that of the others.
[[nodiscard]] inline PublicBytes digest_of_start(std::span<const float> model, std::span<const float> broadcast) {
  const PublicBytes of_model = digest_of(std::as_bytes(model));
  if (broadcast.empty()) return of_model;
  const std::array both{of_model, digest_of(std::as_bytes(broadcast))};
  return digest_of(std::as_bytes(std::span(both)));
}

// The update without anything that follows from its samples.
inline void hide_counts(LocalUpdate& update) {
  update.samples = 0;
  update.steps = 0;
  update.samples_trained = 0;
}
[[nodiscard]] inline bool counts_hidden(const LocalUpdate& update) {
  return update.samples == 0 && update.steps == 0 && update.samples_trained == 0;
}

}  // namespace muster
