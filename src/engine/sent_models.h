// SentModels: the model that each client sent last, for rules that place clients by it. A client that never sent one
// costs nothing; past a memory limit the rest lie on disk. The server's own: a client's memory is elsewhere.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clients/client_state.h"
#include "engine/round_observer.h"

namespace muster {

class SentModels final : public RoundObserver {
 public:
  // `first`: what counts as sent by whoever has sent nothing yet.
  SentModels(const ClientStateOptions& options, std::vector<float> first)
      : states_(options), first_(std::move(first)) {}

  bool wants_members(std::uint32_t) const override { return true; }
  void member(const GroupUpdate& update, std::span<const float> start) override;

  void remember(ClientId client, std::span<const float> model);
  // Precondition: `out` has as many values as a model.
  [[nodiscard]] Status last_of(ClientId client, std::span<float> out);
  [[nodiscard]] std::size_t width() const { return first_.size(); }

  // Why something could not be remembered: the disk is full, say.
  [[nodiscard]] const Status& status() const { return status_; }

  // For checkpoints; see ClientStates.
  [[nodiscard]] Result<std::string> manifest() { return states_.save(); }
  [[nodiscard]] Status recall(std::string_view manifest) { return states_.restore(manifest); }

 private:
  ClientStates states_;
  std::vector<float> first_;
  Status status_;
};

}  // namespace muster
