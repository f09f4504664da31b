// Attacks, to test defences against: some clients of a simulation poison their samples, change what they send, or lie
// about their labels. Who they are decides nothing: only the record knows, by the Oracle.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "plan/plan.h"
#include "profile/profile.h"
#include "solver/local_task.h"
#include "solver/poison.h"

namespace muster {

// The [attack] section of a recipe.
struct AttackOptions {
  std::string kind = "none";  // a name from attacks()
  // A count, a share, or which ones.
  std::variant<Amount, std::vector<std::uint32_t>> clients = Amount{0.2};
  double poison = 0.5;          // backdoor, replacement: share of a malicious client's samples that carry the trigger
  std::uint32_t target = 0;     // the class that samples shall be taken for
  std::uint32_t source = 1;     // label-flip: the class whose samples are given the target's label
  std::uint32_t trigger = 3;    // backdoor, replacement: side of the square of pixels
  std::optional<double> scale;  // sign-flip, replacement: factor on the change; not set: 1 and 10
  double noise = 0.1;           // noise: deviation of what is sent instead of a change
};

// What malicious clients do. Thread-safe.
class Attack {
 public:
  virtual ~Attack() = default;

  // To the samples they train on; null = nothing.
  [[nodiscard]] virtual const Poison* poison() const { return nullptr; }
  // To test samples, to see whether the attack succeeds; null = they stay as they are.
  [[nodiscard]] virtual const Poison* trigger() const { return nullptr; }
  // To the model they send. `parameters`: how many of its values are trained.
  virtual void change_update(const TrainTask& /*task*/, std::size_t /*parameters*/, LocalUpdate& /*update*/) const {}
  // To what they tell of themselves.
  virtual void change_profile(ClientProfile& /*profile*/) const {}
  // The share of the samples it is after that are taken for what it wants, by what samples of each class were taken
  // for; not set where it is after nothing of the kind, or there are none.
  [[nodiscard]] virtual std::optional<double> success(std::span<const PredictionCount> /*counts*/) const {
    return std::nullopt;
  }
};

struct AttackEntry {
  std::string name;
  std::string summary;
  std::vector<std::string> keys;  // of [attack], that mean something for it
  // Empty for "none".
  std::function<std::unique_ptr<Attack>(const AttackOptions& options, std::uint64_t seed)> make;
};
// The catalogue; the first is none.
[[nodiscard]] const std::vector<AttackEntry>& attacks();
[[nodiscard]] const AttackEntry* find_attack(std::string_view name);

// The clients of a run that are malicious, and what they do.
class Attackers {
 public:
  // Of `clients` in all. Precondition: options.kind is the name of an attack; who is listed exists.
  Attackers(const AttackOptions& options, std::uint32_t clients, std::uint64_t seed);

  [[nodiscard]] bool malicious(ClientId client) const;
  [[nodiscard]] std::span<const ClientId> clients() const { return clients_; }  // ascending
  [[nodiscard]] const Attack& attack() const { return *attack_; }

 private:
  std::vector<ClientId> clients_;
  std::unique_ptr<Attack> attack_;
};

// Null for kind = "none". Refuses classes, clients and triggers that the data do not have.
[[nodiscard]] Result<std::shared_ptr<const Attackers>> make_attackers(const AttackOptions& options,
                                                                      std::uint32_t clients, const Shape& shape,
                                                                      std::uint32_t classes, std::uint64_t seed);

// One factory per file.
std::unique_ptr<Attack> make_label_flip(const AttackOptions& options);
std::unique_ptr<Attack> make_backdoor(const AttackOptions& options, std::uint64_t seed);
std::unique_ptr<Attack> make_sign_flip(const AttackOptions& options);
std::unique_ptr<Attack> make_noise_attack(const AttackOptions& options, std::uint64_t seed);
std::unique_ptr<Attack> make_replacement(const AttackOptions& options, std::uint64_t seed);
std::unique_ptr<Attack> make_lying_histogram();

}  // namespace muster
