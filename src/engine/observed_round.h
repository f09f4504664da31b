// ObservedRound: what the members of a round sent, as profiles, while groups wait for an event that forms them from it.
#pragma once

#include <vector>

#include "base/rows.h"
#include "engine/round_observer.h"
#include "model/network.h"
#include "profile/profile.h"

namespace muster {

class ObservedRound final : public RoundObserver {
 public:
  // `keep_models`: the models that members sent are kept whole too. `kind` and `network` are borrowed.
  ObservedRound(const ProfileKind& kind, const Network& network, std::uint32_t earliest, bool keep_models)
      : kind_(kind), network_(network), earliest_(earliest), keep_models_(keep_models) {}

  // Nothing more is watched.
  void stop() { stopped_ = true; }

  bool wants_members(std::uint32_t round) const override { return !stopped_ && round >= earliest_; }
  void prepare(RoundTasks& tasks) override;
  void member(const GroupUpdate& update, std::span<const float> start) override;

  // Who took part, each once, in any order; empty if nobody did or nothing was watched.
  [[nodiscard]] std::span<const ClientId> clients() const { return clients_; }
  // A row for each of them: its profile; and where models are kept, its model.
  [[nodiscard]] const Rows<float>& vectors() const { return vectors_; }
  [[nodiscard]] const Rows<float>& models() const { return models_; }
  // The model that the first of them started from.
  [[nodiscard]] const std::vector<float>& start() const { return start_; }

 private:
  const ProfileKind& kind_;
  const Network& network_;
  std::uint32_t earliest_;
  bool keep_models_;
  bool stopped_ = false;
  std::vector<ClientId> clients_;
  Rows<float> vectors_;
  Rows<float> models_;
  std::vector<float> start_;
};

}  // namespace muster
