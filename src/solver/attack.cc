// The catalogue of attacks, and who carries one out.
#include "solver/attack.h"

#include <algorithm>

#include "base/random.h"
#include "solver/attack_defaults.h"

namespace muster {
namespace {

// Injected faults have the streams of part 0; attacks have those from here on.
constexpr std::uint32_t kAttackPart = 1;

}  // namespace

const std::vector<AttackEntry>& attacks() {
  static const std::vector<AttackEntry> entries{
      {"none", "all clients are honest", {}, {}},
      {"label-flip",
       "samples of one class are labelled as another",
       {"clients", "source", "target"},
       [](const AttackOptions& options, std::uint64_t) { return make_label_flip(options); }},
      {"backdoor",
       "samples with a trigger in the corner are labelled as the target (BadNet)",
       {"clients", "poison", "target", "trigger"},
       make_backdoor},
      {"sign-flip",
       "the change is sent the other way round",
       {"clients", "scale"},
       [](const AttackOptions& options, std::uint64_t) { return make_sign_flip(options); }},
      {"replacement",
       "a backdoor whose change is scaled up, to take the place of the model (Bagdasaryan et al.)",
       {"clients", "poison", "target", "trigger", "scale"},
       make_replacement},
      {"noise", "random numbers are sent instead of a change", {"clients", "noise"}, make_noise_attack},
      {"lying-histogram",
       "labels are told as if they were spread evenly over all classes",
       {"clients"},
       [](const AttackOptions&, std::uint64_t) { return make_lying_histogram(); }},
  };
  return entries;
}

AttackOptions with_defaults(AttackOptions options) {
  if (!options.scale && options.kind == "sign-flip") options.scale = 1;
  if (!options.scale && options.kind == "replacement") options.scale = 10;
  return options;
}

const AttackEntry* find_attack(std::string_view name) {
  const auto found = std::ranges::find(attacks(), name, &AttackEntry::name);
  return found == attacks().end() ? nullptr : &*found;
}

Attackers::Attackers(const AttackOptions& options, std::uint32_t clients, std::uint64_t seed) {
  const AttackEntry* const entry = find_attack(options.kind);
  MUSTER_CHECK(entry && entry->make, "'{}' is no attack", options.kind);
  attack_ = entry->make(with_defaults(options), seed);
  std::vector<std::uint32_t> chosen;
  if (const auto* const listed = std::get_if<std::vector<std::uint32_t>>(&options.clients)) {
    chosen = *listed;
    std::ranges::sort(chosen);
  } else {
    Stream stream({.seed = seed, .purpose = Purpose::kFault, .part = kAttackPart});
    chosen = stream.sample(clients, std::get<Amount>(options.clients).of(clients));
  }
  for (const std::uint32_t client : chosen) clients_.push_back({client});
}

bool Attackers::malicious(ClientId client) const {
  return std::ranges::binary_search(clients_, client);
}

Result<std::shared_ptr<const Attackers>> make_attackers(const AttackOptions& options, std::uint32_t clients,
                                                        const Shape& shape, std::uint32_t classes, std::uint64_t seed) {
  const AttackEntry* const entry = find_attack(options.kind);
  if (!entry || !entry->make) return std::shared_ptr<const Attackers>();
  const auto has = [&](const char* key) { return std::ranges::find(entry->keys, key) != entry->keys.end(); };
  const auto in_range = [&](const char* key, std::uint32_t value) -> Status {
    if (!has(key) || value < classes) return {};
    return usage_error("attack.{}: {}, but the data have {} classes; want 0 to {}", key, value, classes, classes - 1);
  };
  MUSTER_TRY(in_range("target", options.target));
  MUSTER_TRY(in_range("source", options.source));
  if (has("trigger") && shape.tokens > 0) {
    return usage_error(
        "attack.kind: \"{}\" puts a trigger into pictures or features, and the data are texts; want label-flip | "
        "sign-flip | noise",
        options.kind);
  }
  if (const auto* const listed = std::get_if<std::vector<std::uint32_t>>(&options.clients)) {
    for (const std::uint32_t client : *listed) {
      if (client >= clients) {
        return usage_error("attack.clients: {}, but there are {} clients; want 0 to {}", client, clients, clients - 1);
      }
    }
  }
  return std::make_shared<const Attackers>(options, clients, seed);
}

}  // namespace muster
