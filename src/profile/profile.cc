// The list of kinds, what their keys may be, and what holds for all of them: who tells nothing, what travels, and what
// is refused.
#include "profile/profile.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/catalogue_version.h"
#include "base/check.h"
#include "base/names.h"
#include "profile/kinds.h"
#include "profile/profile_defaults.h"

namespace muster {
namespace {

struct KnownKinds {
  std::mutex mutex;
  std::vector<ListedProfileKind> list;
};

KnownKinds& known_kinds() {
  static KnownKinds kinds{.mutex = {},
                          .list = {
                              list_none(),
                              list_label_histogram(),
                              list_update_direction(),
                              list_classifier_weights(),
                              list_confidence_vector(),
                              list_losses(),
                          }};
  return kinds;
}

std::optional<ListedProfileKind> find_kind(std::string_view name) {
  KnownKinds& kinds = known_kinds();
  const std::lock_guard lock(kinds.mutex);
  for (const ListedProfileKind& kind : kinds.list) {
    if (kind.entry.name == name) return kind;
  }
  return std::nullopt;
}

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

bool needs_models(const ProfileEntry& entry) {
  return entry.trains || entry.gives == ProfileGives::kLosses;
}

// Tasks may come from another machine.
bool well_formed(const ProfileTask& task, const ProfileEntry& entry, const Network& network) {
  if (!(task.work >= 0 && task.work <= 1)) return false;
  if (needs_models(entry) && (task.models.width != network.size() || task.models.count() == 0)) return false;
  if (!entry.exemplars) return true;
  const Samples* const samples = task.exemplars.samples;
  return samples != nullptr && task.exemplars.size() > 0 && samples->shape == network.input() &&
         samples->classes <= network.classes();
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

bool are_probabilities(std::span<const float> values) {
  constexpr double kRounding = 1e-3;
  double sum = 0;
  for (const float value : values) {
    if (value < 0) return false;
    sum += value;
  }
  return std::abs(sum - 1) <= kRounding;
}

}  // namespace

std::vector<ProfileEntry> profile_kinds() {
  KnownKinds& kinds = known_kinds();
  const std::lock_guard lock(kinds.mutex);
  std::vector<ProfileEntry> entries;
  for (const ListedProfileKind& kind : kinds.list) entries.push_back(kind.entry);
  return entries;
}

ProfileEntry profile_kind(const ProfileOptions& options) {
  std::optional<ListedProfileKind> found = find_kind(options.kind);
  MUSTER_CHECK(found, "profile kind '{}'", options.kind);
  return std::move(found->entry);
}

ProfileOptions with_defaults(ProfileOptions options) {
  const std::optional<ListedProfileKind> kind = find_kind(options.kind);
  if (!kind) return options;
  const ProfileEntry& entry = kind->entry;
  if (entry.trains && !options.steps && !options.epochs) {
    options.steps = entry.usual_work.steps;
    if (!options.steps) options.epochs = entry.usual_work.epochs;
  }
  const auto has = [&](std::string_view key) { return std::ranges::find(entry.keys, key) != entry.keys.end(); };
  if (has("layers") && options.layers.empty()) options.layers = "last";
  if (has("bias") && !options.bias) options.bias = false;
  if (has("form") && options.form.empty()) options.form = "shares";
  return options;
}

Status add_profile_kind(ProfileEntry entry, ProfileFactory make) {
  if (entry.name.empty()) return usage_error("profile kind: no name, want one");
  KnownKinds& kinds = known_kinds();
  const std::lock_guard lock(kinds.mutex);
  for (const ListedProfileKind& kind : kinds.list) {
    if (kind.entry.name == entry.name) {
      return usage_error("profile kind: \"{}\" is taken, want another name", entry.name);
    }
  }
  kinds.list.push_back({std::move(entry), std::move(make)});
  note_added_choice();
  return {};
}

Status check_profile(const ProfileOptions& o) {
  const std::optional<ListedProfileKind> kind = find_kind(o.kind);
  if (!kind) {
    std::vector<std::string> names;
    for (const ProfileEntry& entry : profile_kinds()) names.push_back(entry.name);
    return Error{ErrorCode::kUsage, "profile.kind: " + unknown_name("kind", o.kind, names)};
  }
  const std::vector<std::string>& own = kind->entry.keys;
  for (const std::string& key : set_keys(o)) {
    if (std::find(own.begin(), own.end(), key) != own.end()) continue;
    return usage_error("profile.{}: not a key of {}, which has {}", key, o.kind,
                       own.empty() ? "no keys" : fmt::format("{}", fmt::join(own, ", ")));
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

Result<std::unique_ptr<ProfileKind>> make_profile_kind(const ProfileOptions& options) {
  MUSTER_TRY(check_profile(options));
  return find_kind(options.kind)->make(with_defaults(options));
}

const ProfileKind* kind_asked(const ProfileTask& task, const ProfileKind& own) {
  if (task.kind == own.entry().name) return &own;
  return task.kind == losses_profile().entry().name ? &losses_profile() : nullptr;
}

ProfileWork work_of(const ProfileOptions& options, const ProfileWork& usual) {
  if (options.steps) return {.steps = *options.steps};
  if (options.epochs) return {.epochs = *options.epochs};
  return usual;
}

Result<ProfileReply> train_and_observe(const ProfileKind& kind, const ProfileWork& work, const ProfileTask& task,
                                       ProfileSubject& subject) {
  MUSTER_ASSIGN(const auto reply, subject.train(task, work));
  if (const auto* const dropped = std::get_if<Dropped>(&reply)) return ProfileReply{*dropped};
  const auto& trained = std::get<ProfileSubject::Trained>(reply);
  return ProfileReply{ClientProfile{.vector = kind.observe(subject.network(), task.models.row(0), trained.model),
                                    .samples_trained = trained.samples}};
}

std::optional<DropReason> refuse(const ProfileEntry& entry, const ClientProfile& told, std::size_t width,
                                 std::uint32_t classes) {
  const std::size_t counts = entry.gives == ProfileGives::kLabels ? classes : 0;
  if (told.vector.size() != width || told.labels.size() != counts) return DropReason::kMalformed;
  if (entry.gives != ProfileGives::kLosses && !all_finite(told.vector)) return DropReason::kNonFinite;
  if (entry.gives == ProfileGives::kProbabilities && !are_probabilities(told.vector)) return DropReason::kMalformed;
  return std::nullopt;
}

std::string ProfileKind::reveals() const {
  std::string reveals = entry().reveals;
  if (const std::optional<double> noise = epsilon()) {
    reveals += fmt::format("; {:g}-differentially private against adding or removing one sample", *noise);
  }
  return reveals;
}

Result<std::size_t> ProfileKind::width(const Network&, std::uint32_t) const {
  return std::size_t{0};
}

ProfileBytes ProfileKind::bytes(const Network& network, std::uint32_t models, const SampleView& exemplars) const {
  constexpr std::uint64_t kNumber = sizeof(float);
  ProfileBytes bytes;
  if (needs_models(entry())) bytes.down = (entry().trains ? 1 : models) * network.size() * kNumber;
  if (entry().exemplars) bytes.down += bytes_of(exemplars);
  if (entry().gives == ProfileGives::kLabels) bytes.up = network.classes() * kNumber;
  if (const auto numbers = width(network, models); numbers.ok()) bytes.up += *numbers * kNumber;
  return bytes;
}

Result<ProfileReply> ProfileKind::tell(const ProfileTask& task, ProfileSubject& subject) const {
  const ProfileEntry& kind = entry();
  const Network& network = subject.network();
  const bool counts = kind.gives == ProfileGives::kNothing || kind.gives == ProfileGives::kLabels;
  if (!counts && subject.samples() == 0) return ProfileReply{Dropped{task.client, DropReason::kNoSamples}};
  if (!well_formed(task, kind, network)) return ProfileReply{Dropped{task.client, DropReason::kMalformed}};
  MUSTER_ASSIGN(const std::size_t numbers, width(network, task.models.count()));
  MUSTER_ASSIGN(ProfileReply reply, do_tell(task, subject));
  if (const auto* const told = std::get_if<ClientProfile>(&reply)) {
    if (const auto reason = refuse(kind, *told, numbers, network.classes())) {
      return ProfileReply{Dropped{task.client, *reason}};
    }
  }
  return reply;
}

std::vector<float> ProfileKind::observe(const Network&, std::span<const float>, std::span<const float>) const {
  MUSTER_CHECK(false, "{} cannot be read off a round", entry().name);
  return {};
}

}  // namespace muster
