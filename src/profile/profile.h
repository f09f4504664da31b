// ClientProfiles: what clients tell the server about themselves, so that it can group them; what that costs in bytes,
// and what it gives away. The kinds of profile and their pure formulas are here; asking clients is the train stage's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/result.h"
#include "base/rows.h"
#include "data/samples.h"
#include "model/network.h"

namespace muster {

// The [profile] section of a recipe. A key that is not set takes its kind's default; a key that is set must be one of
// the kind's.
struct ProfileOptions {
  std::string kind = "none";           // see profile_kinds()
  std::optional<double> epsilon;       // label-histogram: Laplace noise of scale 1 / epsilon; > 0; not set: none
  std::optional<std::uint32_t> steps;  // update-direction: 50; the others that train: instead of epochs
  std::optional<double> epochs;        // classifier-weights, confidence-vector: 10; update-direction: instead of steps
  std::string layers;                  // classifier-weights: last (default) | last-two | all
  std::optional<bool> bias;            // classifier-weights: with the layers' biases; default false
  std::optional<double> variance;      // classifier-weights: share kept by principal components, in (0, 1]
  std::string form;                    // confidence-vector: shares (default) | softmax
  bool operator==(const ProfileOptions&) const = default;
};

// What a kind of profile is to a grouping method.
enum class ProfileGives { kNothing, kLabels, kVectors, kProbabilities, kLosses };

struct ProfileEntry {
  std::string name;
  std::string summary;
  std::vector<std::string> keys;
  std::string bytes;    // of one client, in words
  std::string reveals;  // to the server
  ProfileGives gives = ProfileGives::kNothing;
  bool trains = false;  // the client trains for it
};
// Every kind, in the order of the documentation.
[[nodiscard]] std::vector<ProfileEntry> profile_kinds();

// Fails if the kind is unknown, a key is set that is not one of the kind's, or a value is out of range.
[[nodiscard]] Status check_profile(const ProfileOptions& options);

// The kind's entry. Precondition: the kind is known.
[[nodiscard]] ProfileEntry profile_kind(const ProfileOptions& options);
// What the profile reveals, with the noise where there is some.
[[nodiscard]] std::string profile_reveals(const ProfileOptions& options);

// What one client tells.
struct ClientProfile {
  std::vector<float> vector;          // of the kinds that are vectors
  std::vector<std::uint32_t> labels;  // of label-histogram
  std::uint64_t samples_trained = 0;
  std::uint64_t samples_evaluated = 0;
};

// What some clients told, a row each. A client that vanished has no profile: its row is zeros and it is in `missing`.
struct ClientProfiles {
  std::string kind = "none";
  std::vector<ClientId> clients;       // who was asked, in the order of the rows
  std::vector<std::uint32_t> missing;  // rows without a profile, ascending
  Rows<float> vectors;
  Rows<std::uint32_t> labels;
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::string reveals;
  std::optional<double> epsilon;  // of the noise, where there is some
};

// What one client receives and sends.
struct ProfileBytes {
  std::uint64_t up = 0;
  std::uint64_t down = 0;
};
// `models`: how many the client is given (losses: one per group; else one); `exemplars` may be empty.
[[nodiscard]] ProfileBytes profile_bytes(const ProfileOptions& options, const Network& network, std::uint32_t models,
                                         const SampleView& exemplars);
// Numbers in a client's vector; 0 for kinds without. Fails if the network lacks the layers that are asked for.
[[nodiscard]] Result<std::size_t> profile_width(const ProfileOptions& options, const Network& network,
                                                std::uint32_t models);

// Counts with independent Laplace noise of scale 1 / epsilon, rounded and cut at 0. One sample more or less changes one
// count by one, so the counts are epsilon-differentially private against adding or removing a sample. Where nothing
// would be left, the class with the largest noisy count gets 1: the client is known to have samples.
[[nodiscard]] std::vector<std::uint32_t> noisy_counts(std::span<const std::uint32_t> counts, double epsilon,
                                                      Stream& stream);
// The noise of a client. The same whenever it is asked in a run: asking again reveals nothing new.
[[nodiscard]] Stream noise_stream(std::uint64_t seed, ClientId client);

// What a model that was trained on a client's samples is sure of (FedSeq, Eq. 3), from its outputs on exemplars: a row
// of logits per exemplar (one logit: two classes by the logistic function). With q the probability given to an
// exemplar's own class, summed (shares) or averaged (softmax) over the exemplars of each class:
//   shares:  q_c / sum of q          softmax: e^(q_c) / sum of e^q
// A class without exemplars has q = 0. Where every q is 0 the result is uniform; broken logits give NaN.
[[nodiscard]] std::vector<float> confidence_vector(const RowsView<float>& logits, std::span<const std::int32_t> labels,
                                                   std::uint32_t classes, const std::string& form);

// The parts of the flat vector that are the weights of the last, the last two or all dense layers, in order; with
// `bias` their biases too. Fails if the network's classifier has too few layers.
[[nodiscard]] Result<std::vector<ParameterRange>> classifier_ranges(const Network& network, const std::string& layers,
                                                                    bool bias);
// The numbers of these parts, one after the other.
[[nodiscard]] std::vector<float> gather_ranges(std::span<const float> flat, std::span<const ParameterRange> ranges);

}  // namespace muster
