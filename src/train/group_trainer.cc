#include "train/group_trainer.h"

#include <algorithm>
#include <cmath>

#include "base/finite.h"
#include "base/names.h"
#include "train/reply_check.h"

namespace muster {

double GroupTrainer::member_weight(const GroupUpdate&) const {
  MUSTER_CHECK(divisible(), "members of this mode do not train apart");
  return 1;
}

void CombinedUpdate::begin(GroupId group, std::size_t size) {
  mean_.reset(size);
  update_ = start_update({.group = group}, std::move(update_));
  update_.payload.clear();
}

void CombinedUpdate::add(const GroupTrainer& trainer, const GroupUpdate& member) {
  update_.dropped.insert(update_.dropped.end(), member.dropped.begin(), member.dropped.end());
  if (member.members.empty()) return;
  update_.members.insert(update_.members.end(), member.members.begin(), member.members.end());
  update_.samples += member.samples;
  if (!member.model.empty()) mean_.add(member.model, trainer.member_weight(member));
  add_payload(member.payload, update_.payload);
}

GroupUpdate& CombinedUpdate::finish() {
  if (mean_.weight() > 0) {
    update_.model.resize(mean_.size());
    mean_.store(update_.model);
  }
  return update_;
}

GroupUpdate start_update(const GroupTask& task, GroupUpdate reuse) {
  reuse.group = task.group;
  reuse.samples = 0;
  reuse.members.clear();
  reuse.dropped.clear();
  return reuse;
}

namespace {

std::optional<double> epochs_of(const GroupTask& task, ClientId client) {
  if (task.epochs.empty()) return std::nullopt;
  const auto place = std::find(task.members.begin(), task.members.end(), client) - task.members.begin();
  return task.epochs[static_cast<std::size_t>(place)];
}

}  // namespace

TrainTask train_task(const RoundCall& call, const GroupTask& task, ClientId client, std::span<const float> model,
                     std::uint32_t part) {
  return {.client = client,
          .round = call.round,
          .part = part,
          .model = model,
          .broadcast = call.broadcast,
          .own_model = call.own_models,
          .epochs = epochs_of(task, client),
          .measure = call.measure};
}

std::optional<DropReason> fault_in(const TrainReply& reply, const TrainTask& task, std::span<const float> payload) {
  const auto* const update = std::get_if<LocalUpdate>(&reply);
  if (!update) return std::get<Dropped>(reply).reason;
  const bool fits = update->client == task.client && update->samples > 0 &&
                    update->model.size() == (task.own_model ? 0 : task.model.size()) &&
                    update->payload.size() <= task.model.size() &&
                    (payload.empty() || update->payload.size() == payload.size());
  if (!fits) return DropReason::kMalformed;
  const bool finite = all_finite(update->model) && all_finite(update->payload) && std::isfinite(update->loss) &&
                      std::isfinite(update->loss_after.value_or(0));
  if (!finite) return DropReason::kNonFinite;
  return std::nullopt;
}

TrainReply checked_reply(const TrainTask& task, TrainReply reply, std::span<const float> payload) {
  if (const std::optional<DropReason> fault = fault_in(reply, task, payload)) return Dropped{task.client, *fault};
  return reply;
}

void record_member(const LocalUpdate& update, GroupUpdate& result) {
  std::erase_if(result.dropped, [&](const Dropped& dropped) { return dropped.client == update.client; });
  const auto known = std::find_if(result.members.begin(), result.members.end(),
                                  [&](const MemberReport& member) { return member.client == update.client; });
  if (known == result.members.end()) {
    result.samples += update.samples;
    result.members.push_back({.client = update.client,
                              .samples = update.samples,
                              .steps = update.steps,
                              .samples_trained = update.samples_trained,
                              .loss = update.loss,
                              .loss_after = update.loss_after,
                              .visits = 1,
                              .own_model = update.own_model});
  } else {
    known->steps += update.steps;
    known->samples_trained += update.samples_trained;
    ++known->visits;
    known->loss = update.loss;
    known->loss_after = update.loss_after;
    known->own_model = update.own_model;
  }
}

void record_drop(const Dropped& dropped, GroupUpdate& result) {
  const auto is_client = [&](const auto& known) { return known.client == dropped.client; };
  if (std::ranges::any_of(result.members, is_client) || std::ranges::any_of(result.dropped, is_client)) return;
  result.dropped.push_back(dropped);
}

void add_payload(std::span<const float> payload, std::vector<float>& sum) {
  if (payload.empty()) return;
  if (sum.empty()) sum.assign(payload.size(), 0.0f);
  MUSTER_CHECK(payload.size() == sum.size(), "{} != {}", payload.size(), sum.size());
  for (std::size_t i = 0; i < payload.size(); ++i) sum[i] += payload[i];
}

Result<std::unique_ptr<GroupTrainer>> make_group_trainer(const TrainingOptions& options, const std::string& in_group,
                                                         std::uint64_t seed) {
  if (in_group != "samples-weighted" && in_group != "uniform") {
    const std::vector<std::string> accepted{"samples-weighted", "uniform"};
    return Error{ErrorCode::kUsage, "aggregation.in-group: " + unknown_name("aggregation", in_group, accepted)};
  }
  if (options.mode == "parallel") return make_parallel(options.group_rounds, in_group == "samples-weighted");
  if (options.mode == "sequential") return make_sequential(options.passes, options.shuffle, seed);
  const std::vector<std::string> accepted{"parallel", "sequential"};
  return Error{ErrorCode::kUsage, "training.mode: " + unknown_name("mode", options.mode, accepted)};
}

}  // namespace muster
