// The list of kinds, what their keys may be, and what they cost.
#include "profile/profile.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/names.h"

namespace muster {
namespace {

std::uint64_t bytes_of(const SampleView& view) {
  if (view.size() == 0) return 0;
  const Samples& samples = *view.samples;
  std::uint64_t each = sizeof(std::int32_t);
  switch (samples.storage) {
    case Samples::Storage::kBytes:
      each += samples.shape.size();
      break;
    case Samples::Storage::kFloats:
      each += samples.shape.size() * sizeof(float);
      break;
    case Samples::Storage::kTokens:
      each += samples.shape.width * sizeof(std::uint32_t);
      break;
  }
  return each * view.size();
}

std::vector<std::string> set_keys(const ProfileOptions& o) {
  std::vector<std::string> keys;
  const auto note = [&](const char* key, bool is_set) {
    if (is_set) keys.emplace_back(key);
  };
  note("epsilon", o.epsilon.has_value());
  note("steps", o.steps.has_value());
  note("epochs", o.epochs.has_value());
  note("layers", !o.layers.empty());
  note("bias", o.bias.has_value());
  note("variance", o.variance.has_value());
  note("form", !o.form.empty());
  return keys;
}

Status check_word(const char* key, const std::string& word, std::vector<std::string> accepted) {
  if (word.empty() || std::find(accepted.begin(), accepted.end(), word) != accepted.end()) return {};
  return Error{ErrorCode::kUsage, fmt::format("profile.{}: {}", key, unknown_name("value", word, accepted))};
}

}  // namespace

std::vector<ProfileEntry> profile_kinds() {
  return {
      {"none", "clients tell nothing", {}, "0", "nothing", ProfileGives::kNothing},
      {"label-histogram",
       "how many training samples of each class, with Laplace noise if wanted",
       {"epsilon"},
       "4 per class up",
       "how many samples of each class the client has",
       ProfileGives::kLabels},
      {"update-direction",
       "the change of the start model after some steps of training",
       {"steps", "epochs"},
       "4 per parameter down and up",
       "an update of the whole model, from which samples can in part be reconstructed",
       ProfileGives::kVectors,
       true},
      {"classifier-weights",
       "weights of the last dense layers after training from the start model",
       {"epochs", "steps", "layers", "bias", "variance"},
       "4 per parameter down, 4 per weight of these layers up",
       "part of a model trained on the client's samples alone: which classes it has, and traces of how they look",
       ProfileGives::kVectors,
       true},
      {"confidence-vector",
       "how sure a model trained by the client is of each class, on exemplars",
       {"epochs", "steps", "form"},
       "4 per parameter and the exemplars down, 4 per class up",
       "roughly which mix of classes the client has",
       ProfileGives::kProbabilities,
       true},
      {"losses",
       "the mean loss of each given model on the client's training samples",
       {},
       "4 per parameter of each model down, 4 per model up",
       "how well each model fits the client's samples",
       ProfileGives::kLosses},
  };
}

ProfileEntry profile_kind(const ProfileOptions& options) {
  std::vector<ProfileEntry> kinds = profile_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const ProfileEntry& entry) { return entry.name == options.kind; });
  MUSTER_CHECK(found != kinds.end(), "profile kind '{}'", options.kind);
  return std::move(*found);
}

Status check_profile(const ProfileOptions& o) {
  std::vector<std::string> names;
  for (const ProfileEntry& entry : profile_kinds()) names.push_back(entry.name);
  if (std::find(names.begin(), names.end(), o.kind) == names.end()) {
    return Error{ErrorCode::kUsage, "profile.kind: " + unknown_name("kind", o.kind, names)};
  }
  const ProfileEntry entry = profile_kind(o);
  for (const std::string& key : set_keys(o)) {
    if (std::find(entry.keys.begin(), entry.keys.end(), key) != entry.keys.end()) continue;
    return usage_error("profile.{}: not a key of {}, which has {}", key, o.kind,
                       entry.keys.empty() ? "none" : fmt::format("{}", fmt::join(entry.keys, ", ")));
  }
  if (o.epsilon && !(*o.epsilon > 0 && std::isfinite(*o.epsilon))) {
    return usage_error("profile.epsilon: {}, want a number > 0", *o.epsilon);
  }
  if (o.steps && *o.steps < 1) return usage_error("profile.steps: {}, want >= 1", *o.steps);
  if (o.epochs && !(*o.epochs > 0 && std::isfinite(*o.epochs))) {
    return usage_error("profile.epochs: {}, want a number > 0", *o.epochs);
  }
  if (o.steps && o.epochs) return usage_error("profile.steps: does not go with profile.epochs; want one of the two");
  if (o.variance && !(*o.variance > 0 && *o.variance <= 1)) {
    return usage_error("profile.variance: {}, want a number > 0 and <= 1", *o.variance);
  }
  MUSTER_TRY(check_word("layers", o.layers, {"last", "last-two", "all"}));
  return check_word("form", o.form, {"shares", "softmax"});
}

std::string profile_reveals(const ProfileOptions& options) {
  std::string reveals = profile_kind(options).reveals;
  if (options.epsilon) {
    reveals += fmt::format("; {:g}-differentially private against adding or removing one sample", *options.epsilon);
  }
  return reveals;
}

Result<std::size_t> profile_width(const ProfileOptions& options, const Network& network, std::uint32_t models) {
  if (options.kind == "update-direction") return network.parameters();
  if (options.kind == "confidence-vector") return std::size_t{network.classes()};
  if (options.kind == "losses") return std::size_t{models};
  if (options.kind != "classifier-weights") return std::size_t{0};
  MUSTER_ASSIGN(const std::vector<ParameterRange> ranges,
                classifier_ranges(network, options.layers, options.bias.value_or(false)));
  std::size_t width = 0;
  for (const ParameterRange& range : ranges) width += range.size;
  return width;
}

ProfileBytes profile_bytes(const ProfileOptions& options, const Network& network, std::uint32_t models,
                           const SampleView& exemplars) {
  constexpr std::uint64_t kNumber = sizeof(float);
  const ProfileEntry entry = profile_kind(options);
  ProfileBytes bytes;
  if (entry.gives == ProfileGives::kLabels) bytes.up = network.classes() * kNumber;
  if (entry.trains) bytes.down = network.size() * kNumber;
  if (entry.gives == ProfileGives::kLosses) bytes.down = models * network.size() * kNumber;
  if (entry.gives == ProfileGives::kProbabilities) bytes.down += bytes_of(exemplars);
  if (const auto width = profile_width(options, network, models); width.ok()) bytes.up += *width * kNumber;
  return bytes;
}

}  // namespace muster
