#include "train/group_trainer.h"

#include <algorithm>
#include <cmath>

#include "base/finite.h"
#include "base/names.h"
#include "train/reply_check.h"

namespace muster {

std::unique_ptr<MemberMerge> GroupTrainer::make_merge() const {
  MUSTER_CHECK(divisible(), "members of this mode do not train apart");
  return nullptr;
}

void CombinedUpdate::begin(const GroupTrainer& trainer, const RoundCall& call, const GroupTask& task) {
  if (!merge_) merge_ = trainer.make_merge();
  const std::span<const float> start = call.models[task.model];
  size_ = start.size();
  merge_->begin(merge_call(call, task, start, 0));
  merged_.clear();
  update_ = start_update(task, std::move(update_));
  update_.payload.clear();
}

void CombinedUpdate::add(const GroupUpdate& member) {
  update_.dropped.insert(update_.dropped.end(), member.dropped.begin(), member.dropped.end());
  if (member.members.empty()) return;
  update_.members.insert(update_.members.end(), member.members.begin(), member.members.end());
  update_.samples += member.samples;
  if (!member.model.empty()) {
    merge_->add(member.members.front().client, member.model, member.samples);
    merged_.push_back(member.members.front().client);
  }
  add_payload(member.payload, update_.payload);
}

GroupUpdate& CombinedUpdate::finish() {
  if (!merged_.empty()) {
    update_.model.resize(size_);
    record_merge(merge_->finish(update_.model), merged_, update_);
  }
  return update_;
}

GroupUpdate start_update(const GroupTask& task, GroupUpdate reuse) {
  reuse.group = task.group;
  reuse.samples = 0;
  reuse.members.clear();
  reuse.dropped.clear();
  reuse.fell_back = false;
  reuse.secure = {};
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

void record_merge(const MergeReport& report, std::span<const ClientId> added, GroupUpdate& result) {
  const auto report_of = [&](std::uint32_t place) -> MemberReport& {
    const auto found = std::ranges::find(result.members, added[place], &MemberReport::client);
    MUSTER_CHECK(found != result.members.end(), "client {} was merged and did not report", added[place].value);
    return *found;
  };
  for (const MergeReport::Filtered& filtered : report.filtered) {
    MemberReport& member = report_of(filtered.place);
    member.filtered = filtered.reason;
    ++member.times_filtered;
  }
  for (const std::uint32_t place : report.clipped) ++report_of(place).times_clipped;
  result.fell_back = result.fell_back || report.fell_back;
}

bool clip_change(std::span<const float> start, std::size_t parameters, double most, std::span<float> model) {
  double squares = 0;
  for (std::size_t i = 0; i < parameters; ++i) {
    const double change = double{model[i]} - start[i];
    squares += change * change;
  }
  const double length = std::sqrt(squares);
  if (length <= most) return false;
  for (std::size_t i = 0; i < parameters; ++i) {
    model[i] = static_cast<float>(start[i] + (double{model[i]} - start[i]) * (most / length));
  }
  return true;
}

MemberMergeCall merge_call(const RoundCall& call, const GroupTask& task, std::span<const float> start,
                           std::uint32_t part) {
  return {.start = start, .parameters = call.parameters, .round = call.round, .group = task.group, .part = part};
}

void add_payload(std::span<const float> payload, std::vector<float>& sum) {
  if (payload.empty()) return;
  if (sum.empty()) sum.assign(payload.size(), 0.0f);
  MUSTER_CHECK(payload.size() == sum.size(), "{} != {}", payload.size(), sum.size());
  for (std::size_t i = 0; i < payload.size(); ++i) sum[i] += payload[i];
}

Result<std::unique_ptr<GroupTrainer>> make_group_trainer(const TrainingOptions& options,
                                                         const AggregationOptions& aggregation,
                                                         const PrivacyOptions& privacy, std::uint64_t seed) {
  const InGroupEntry* const in_group = find_in_group(aggregation.in_group);
  if (!in_group) {
    std::vector<std::string> accepted;
    for (const InGroupEntry& entry : in_group_choices()) accepted.push_back(entry.name);
    return Error{ErrorCode::kUsage,
                 "aggregation.in-group: " + unknown_name("aggregation", aggregation.in_group, accepted)};
  }
  if (options.mode == "parallel" && aggregation.in_group == kSecureSum) {
    return make_secure_parallel(options.group_rounds, options.secure, privacy, takes_payload(aggregation.global));
  }
  if (options.mode == "parallel") {
    return make_parallel(options.group_rounds,
                         {.make = [in_group, aggregation, seed] { return in_group->make(aggregation, seed); },
                          .merges_one = in_group->changes_one,
                          .clip = privacy.clip});
  }
  if (options.mode == "sequential") {
    return make_sequential(options.passes, options.shuffle, seed, options.relay == kSealedRelay);
  }
  const std::vector<std::string> accepted{"parallel", "sequential"};
  return Error{ErrorCode::kUsage, "training.mode: " + unknown_name("mode", options.mode, accepted)};
}

}  // namespace muster
