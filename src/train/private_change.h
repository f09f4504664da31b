// What a member gives to a secure sum in a private run: its change, shortened to dp.clip, and its share of the noise,
// as whole numbers. The sum of at least as many members as must survive has all of the noise, and everything about it
// is exact:
//   weight    1 of every member, so one member changes the sum by its own vector alone
//   length    values are cut towards zero to whole numbers, which makes no vector longer: at most dp.clip
//   noise     discrete Gaussian of variance (noise-multiplier * clip)^2 / threshold (Canonne, Kamath, Steinke 2020). Of
//   t
//             and more of these the sum is that of a discrete Gaussian of t times the variance up to a divergence of
//             10 t exp(-pi^2 s^2) a number (Kairouz, Liu, Steinke 2021, s in steps): nothing at all for s >= 8. Its
//             Rényi divergences are at most those of the Gaussian, which the accountant adds.
#pragma once

#include <functional>
#include <span>

#include "aggregate/privacy_options.h"
#include "profile/formulas.h"
#include "secure/fixed_point.h"
#include "secure/secret_stream.h"
#include "solver/local_task.h"

namespace muster {

// Numbers of a change are multiplied by this before they are encoded, so that clip and ten deviations of noise fit into
// a format's values: what lies beyond is clipped, which happens to one of 10^22 numbers.
[[nodiscard]] double private_scale(const PrivacyOptions& privacy, std::uint32_t threshold);

// A draw of the discrete Gaussian of this deviation, in whole numbers. `uniform` gives numbers of [0, 1).
[[nodiscard]] std::int64_t discrete_gaussian(double deviation, const std::function<double()>& uniform);

// Where the noise of one change comes from: given a digest of the change and of how much noise it wants, what gives
// numbers of [0, 1).
using ChangeNoise = std::function<std::function<double()>(const PublicBytes& change)>;

// Leaves the change in update.model. Fails if the format is too coarse for the noise. Precondition: as many values in
// either model.
[[nodiscard]] Result<Words> encode_private_change(const FixedPoint& format, const PrivacyOptions& privacy,
                                                  std::uint32_t threshold, std::span<const float> start,
                                                  LocalUpdate& update, const ChangeNoise& noise);

// From a key, for one client in one round. The same change has the same noise however often it is asked for, so a sum
// that is begun again shows nothing more; another change, or as much noise as another threshold or multiplier asks for,
// has noise of its own, or the difference of the two would have none. Borrows the key.
[[nodiscard]] ChangeNoise secret_change_noise(const NoiseKey& key, std::uint32_t round, ClientId client);

// From a key, for a client's told label counts: the same for the same counts and epsilon, because two of the same
// counts with noise of two sizes could be solved for them.
[[nodiscard]] NoiseDraws secret_count_noise(const NoiseKey& key, ClientId client, std::span<const std::uint32_t> counts,
                                            double epsilon);

}  // namespace muster
