// Training of groups: a unit is a group, or a member of one. A group's sum is made where its members train, wherever
// whole groups keep all threads busy; else members travel alone and their sum is made at rank 0, in member order, which
// gives the same bits.
#include <algorithm>
#include <array>
#include <mutex>

#include "ranks/rank_call.h"
#include "ranks/travelling_state.h"
#include "ranks/unit_schedule.h"
#include "train/group_pieces.h"

namespace muster {
namespace {

// No state of a client is larger than that many models.
constexpr std::size_t kStateModels = 4;

double work_of(const GroupTask& task, const Roster& roster) {
  double work = 0;
  for (std::size_t i = 0; i < task.members.size(); ++i) {
    work += roster.train_samples(task.members[i]) * (task.epochs.empty() ? 1.0 : task.epochs[i]);
  }
  return work;
}

std::vector<double> work_of(std::span<const GroupTask> tasks, const Roster& roster) {
  std::vector<double> work;
  for (const GroupTask& task : tasks) work.push_back(work_of(task, roster));
  return work;
}

class TrainCall final : public RankCall {
 public:
  TrainCall(LocalFederation& federation, const RoundCall& call, std::span<const GroupTask> tasks,
            const UpdateSink& sink, CombinedUpdate& combined, bool apart)
      : federation_(federation),
        call_(call),
        cut_(call, tasks, federation.trainer(), sink, combined, apart),
        updates_(cut_.pieces().size()) {}

  CallKind kind() const override { return CallKind::kTrain; }
  std::vector<double> work() const override { return work_of(cut_.pieces(), federation_.roster()); }
  std::size_t answer_bytes() const override { return federation_.network().size() * sizeof(float); }

  std::vector<std::span<const float>> for_all() const override {
    std::vector<std::span<const float>> shared;
    if (call_.models.size() == 1) shared.push_back(call_.models.front());
    if (!call_.broadcast.empty()) shared.push_back(call_.broadcast);
    return shared;
  }

  void describe(NumberedModels& models, ParcelWriter& out) const override {
    out.put(call_.round);
    out.put(static_cast<std::uint8_t>(call_.own_models));
    out.put(static_cast<std::uint8_t>(call_.measure));
    out.put(models.number(call_.broadcast));
  }

  Status ask(std::uint32_t rank, std::uint32_t unit, NumberedModels& models, ParcelWriter& out) override {
    const GroupTask& task = cut_.pieces()[unit];
    out.put(task.group);
    out.put_list(task.members);
    out.put_list(task.epochs);
    models.put(rank, call_.models[task.model], out);
    MUSTER_ASSIGN(std::vector<StateCopy> states, copies_of(federation_.states(), task.members, kStateSlots));
    put_copies(std::move(states), out);
    return {};
  }

  Status answered(std::uint32_t unit, ParcelReader& in) override {
    GroupUpdate update = take_update(in, federation_.network().size());
    const std::vector<StateCopy> states =
        take_copies(in, cut_.pieces()[unit].members, kStateModels * federation_.network().size());
    MUSTER_TRY(in.finish("an update"));
    MUSTER_TRY(store_copies(federation_.states(), states));
    updates_[unit] = std::move(update);
    return {};
  }

  Status do_here(std::uint32_t worker, std::uint32_t unit) override {
    GroupUpdate reuse;
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        reuse = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    MUSTER_ASSIGN(updates_[unit],
                  federation_.trainer().train(call_, cut_.pieces()[unit], federation_.link(worker), std::move(reuse)));
    return {};
  }

  void accept(std::uint32_t unit) override {
    cut_.accept(updates_[unit]);
    GroupUpdate done = std::move(updates_[unit]);
    const std::lock_guard lock(mutex_);
    if (spare_.size() < federation_.threads()) spare_.push_back(std::move(done));
  }

 private:
  LocalFederation& federation_;
  const RoundCall& call_;
  GroupPieces cut_;
  std::vector<GroupUpdate> updates_;  // of each unit, from when it is done until it is accepted
  std::mutex mutex_;
  std::vector<GroupUpdate> spare_;  // their memory; guarded by mutex_
};

class ServedTraining final : public ServedCall {
 public:
  ServedTraining(LocalFederation& federation, RoundCall call, ReceivedModels::Model broadcast)
      : federation_(federation), call_(std::move(call)), broadcast_(std::move(broadcast)) {
    if (broadcast_.values) call_.broadcast = *broadcast_.values;
  }

  Result<Unit> read(ReceivedModels& models, ParcelReader& in) override {
    const std::size_t size = federation_.network().size();
    auto asked = std::make_shared<Asked>();
    asked->group = in.take<GroupId>();
    asked->members = in.take_list<ClientId>();
    asked->epochs = in.take_list<double>();
    asked->model = models.take(in, size);
    asked->states = take_copies(in, asked->members, kStateModels * size);
    MUSTER_TRY(in.finish("a group to train"));
    const auto known = [&](ClientId client) { return client.value < federation_.roster().clients(); };
    if (asked->members.empty() || !std::ranges::all_of(asked->members, known) ||
        (!asked->epochs.empty() && asked->epochs.size() != asked->members.size()) || !asked->model.values ||
        asked->model.values->size() != size) {
      return failure("a group to train is malformed");
    }
    return Unit([this, asked](std::uint32_t worker, ParcelWriter& answer) { return train(worker, *asked, answer); });
  }

 private:
  struct Asked {
    GroupId group;
    std::vector<ClientId> members;
    std::vector<double> epochs;
    ReceivedModels::Model model;
    std::vector<StateCopy> states;
  };

  Status train(std::uint32_t worker, const Asked& asked, ParcelWriter& answer) {
    ClientStates& states = federation_.states();
    MUSTER_TRY(store_copies(states, asked.states));
    RoundCall call = call_;
    call.models = {*asked.model.values};
    const GroupTask task{.group = asked.group, .members = asked.members, .epochs = asked.epochs};
    MUSTER_ASSIGN(GroupUpdate update, federation_.trainer().train(call, task, federation_.link(worker), {}));
    MUSTER_ASSIGN(std::vector<StateCopy> changed, take_changed(states, asked.members, kStateSlots, asked.states));
    put_update(std::move(update), answer);
    put_copies(std::move(changed), answer);
    return {};
  }

  LocalFederation& federation_;
  RoundCall call_;
  ReceivedModels::Model broadcast_;
};

}  // namespace

std::unique_ptr<RankCall> make_train_call(LocalFederation& federation, const RoundCall& call,
                                          std::span<const GroupTask> tasks, const UpdateSink& sink,
                                          CombinedUpdate& combined, std::size_t threads) {
  const bool apart = sink.member || !packs_well(work_of(tasks, federation.roster()), threads);
  return std::make_unique<TrainCall>(federation, call, tasks, sink, combined, apart);
}

Result<std::unique_ptr<ServedCall>> serve_train(LocalFederation& federation, ReceivedModels& models, ParcelReader& in) {
  RoundCall call;
  call.parameters = federation.network().parameters();
  call.round = in.take<std::uint32_t>();
  call.own_models = in.take_flag();
  call.measure = in.take_flag();
  const auto broadcast = in.take<std::uint64_t>();
  MUSTER_TRY(in.finish("a call to train"));
  ReceivedModels::Model sent = models.find(broadcast);
  if ((broadcast != 0) != (sent.values != nullptr)) return failure("a call to train names something that was not sent");
  return std::unique_ptr<ServedCall>(new ServedTraining(federation, std::move(call), std::move(sent)));
}

}  // namespace muster
