// Objective: what a client minimises besides its own loss. Every objective here adds to the gradient
//   pull * w - drift
// with a scalar and a vector that stay constant while the client trains, so the training loop has one form; and some
// add to the gradient by the outputs, which a frozen copy of the received model is compared with (output_match.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/catalogue_entry.h"
#include "base/result.h"
#include "model/layer_spec.h"

namespace muster {

struct ObjectiveOptions {
  std::string name = "plain";     // a name from objectives()
  double mu = 0.01;               // prox
  double alpha = 0.1;             // dynamic
  std::string control = "steps";  // control-variate: steps (option II) | gradient (option I)
  double lambda = 0.1;            // mmd
  std::string fusion = "conv";    // fusion: conv | multi | single
  double share_smoothing = 0.9;   // fusion: how much of its shares the server keeps in a round
};

// The extra term of one task. `drift` is meaningful only if has_drift.
struct ObjectiveTerm {
  float pull = 0;
  bool has_drift = false;
  std::vector<float> drift;
};

// What the client knows when it starts and when it ends. All spans have one entry per trained parameter, or are
// empty, which means zero.
struct ObjectiveInput {
  std::span<const float> received;   // the model as received, from the server or from the predecessor in a chain
  std::span<const float> broadcast;  // the server's vector (control variate c)
  std::span<const float> state;      // what this client kept
};
struct ObjectiveOutcome {
  std::span<const float> trained;
  std::uint64_t steps = 0;
  double learning_rate = 0;
  std::span<const float> full_gradient;  // at the received model; only if wants_full_gradient()
};

// Stateless and thread-safe: a client's state goes in and comes out.
class Objective {
 public:
  virtual ~Objective() = default;

  // Whether clients keep a vector between rounds, and send a second vector up.
  [[nodiscard]] virtual bool has_state() const { return false; }
  [[nodiscard]] virtual bool has_payload() const { return false; }
  [[nodiscard]] virtual bool wants_full_gradient() const { return false; }
  // Whether the part of its work that a straggler has done is welcome, where the recipe does not say.
  [[nodiscard]] virtual bool takes_partial_work() const { return false; }

  // The weight of the discrepancy between the outputs of the client and of the model it received; 0: none.
  [[nodiscard]] virtual double output_match() const { return 0; }

  // Reuses term.drift's memory.
  virtual void begin(const ObjectiveInput& input, ObjectiveTerm& term) const = 0;
  // Writes the client's next state and what it sends besides the model; both are sized by the caller
  // (one entry per trained parameter if has_state() / has_payload(), else empty).
  virtual void end(const ObjectiveInput&, const ObjectiveOutcome&, std::span<float> /*next_state*/,
                   std::span<float> /*payload*/) const {}
};

// Every objective, with its keys of [local].
[[nodiscard]] std::vector<CatalogueEntry> objectives();

[[nodiscard]] Result<std::unique_ptr<Objective>> make_objective(const ObjectiveOptions& options);

// One factory per objective, each in the file of its name.
std::unique_ptr<Objective> make_plain();
std::unique_ptr<Objective> make_prox(double mu);
std::unique_ptr<Objective> make_control_variate(bool from_gradient);
std::unique_ptr<Objective> make_dynamic(double alpha);
std::unique_ptr<Objective> make_mmd(double lambda);
std::unique_ptr<Objective> make_fusion_objective();

// Which variant of its network the objective trains; nothing: the network as it is.
[[nodiscard]] std::optional<Fusion> fusion_of(const ObjectiveOptions& options);

}  // namespace muster
