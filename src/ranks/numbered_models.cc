#include "ranks/numbered_models.h"

#include <algorithm>

namespace muster {

NumberedModels::Sent& NumberedModels::find(std::span<const float> model) {
  Sent& sent = models_[model.data()];
  if (sent.number == 0) sent = {.number = ++last_, .has = std::vector<bool>(ranks_, false)};
  return sent;
}

std::uint64_t NumberedModels::number(std::span<const float> model) {
  return model.empty() ? 0 : find(model).number;
}

bool NumberedModels::give_to_all(std::uint64_t number) {
  const auto known = std::ranges::find_if(models_, [&](const auto& model) { return model.second.number == number; });
  if (known == models_.end()) return false;
  std::vector<bool>& has = known->second.has;
  if (std::ranges::find(has, true) != has.end()) return false;
  has.assign(ranks_, true);
  return true;
}

void NumberedModels::put(std::uint32_t rank, std::span<const float> model, ParcelWriter& out) {
  if (model.empty()) return out.put(std::uint64_t{0});
  Sent& sent = find(model);
  out.put(sent.number);
  out.put(static_cast<std::uint8_t>(!sent.has[rank]));
  if (sent.has[rank]) return;
  sent.has[rank] = true;
  out.put_block({model.begin(), model.end()});
}

ReceivedModels::Model ReceivedModels::take(ParcelReader& in, std::size_t most) {
  const auto number = in.take<std::uint64_t>();
  if (number == 0) return {};
  if (in.take_flag()) keep(number, in.take_block(most));
  Model found = find(number);
  if (!found.values) in.fail();
  return found;
}

ReceivedModels::Model ReceivedModels::find(std::uint64_t number) const {
  const auto known = models_.find(number);
  if (known == models_.end()) return {};
  return {number, known->second};
}

void ReceivedModels::keep(std::uint64_t number, std::vector<float> values) {
  models_[number] = std::make_shared<const std::vector<float>>(std::move(values));
}

}  // namespace muster
