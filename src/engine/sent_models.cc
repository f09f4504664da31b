#include "engine/sent_models.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::uint8_t kLast = 0;

}  // namespace

void SentModels::member(const GroupUpdate& update, std::span<const float>) {
  if (!update.members.empty()) remember(update.members.front().client, update.model);
}

void SentModels::remember(ClientId client, std::span<const float> model) {
  if (Status stored = states_.put(client, kLast, model); !stored && status_) status_ = std::move(stored);
}

Status SentModels::last_of(ClientId client, std::span<float> out) {
  MUSTER_ASSIGN(const bool sent, states_.get(client, kLast, out));
  if (!sent) std::ranges::copy(first_, out.begin());
  return {};
}

}  // namespace muster
