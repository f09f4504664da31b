#include <atomic>
#include <set>

#include "train/thread_host.h"

namespace muster {
namespace {

TEST(WorkerPool, RunsEveryTaskOnceAtAnyThreadCount) {
  for (const std::uint32_t threads : {1u, 2u, 5u}) {
    WorkerPool pool(threads);
    for (const std::uint32_t tasks : {0u, 1u, 3u, 1000u}) {
      std::vector<std::atomic<int>> seen(tasks);
      ASSERT_TRUE(pool.run(tasks,
                           [&](std::uint32_t worker, std::uint32_t task) -> Status {
                             EXPECT_LT(worker, threads);
                             ++seen[task];
                             return {};
                           })
                      .ok());
      for (const auto& count : seen) EXPECT_EQ(count, 1);
    }
  }
}

TEST(WorkerPool, ReturnsTheFirstFailure) {
  WorkerPool pool(3);
  const Status status = pool.run(100, [](std::uint32_t, std::uint32_t task) -> Status {
    if (task >= 10) return failure("task {}", task);
    return {};
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "task 10");
}

class NoLink final : public ClientLink {
 public:
  Result<TrainReply> train(const TrainTask& task, LocalUpdate) override {
    return TrainReply{Dropped{task.client, DropReason::kUnreachable}};
  }
  Result<ProfileReply> profile(const ProfileTask& task) override {
    return ProfileReply{Dropped{task.client, DropReason::kUnreachable}};
  }
  Result<EvaluateReply> evaluate(const EvaluateTask&) override { return EvaluateReply{Evaluation{}}; }
};

// Takes longer for early tasks, so that late ones finish first.
class UnevenTrainer final : public GroupTrainer {
 public:
  std::uint32_t visits() const override { return 1; }
  Result<GroupUpdate> train(const RoundCall&, const GroupTask& task, ClientLink&, GroupUpdate reuse) const override {
    const int alive_now = ++alive;
    for (int seen = most.load(); alive_now > seen && !most.compare_exchange_weak(seen, alive_now);) {
    }
    volatile double spin = 0;
    for (std::uint32_t i = 0; i < (100 - task.group.value % 100) * 500; ++i) spin = spin + i;
    if (fail_at == static_cast<int>(task.group.value)) return failure("group {} broke", task.group.value);
    reuse.group = task.group;
    reuse.model.assign(1, static_cast<float>(task.group.value));
    return reuse;
  }
  mutable std::atomic<int> alive{0};
  mutable std::atomic<int> most{0};
  int fail_at = -1;
};

// A host whose links reach nobody, and as many groups as are asked for.
struct IdleHost {
  IdleHost(std::uint32_t threads, std::uint32_t groups) : pool(threads) {
    for (std::uint32_t i = 0; i < threads; ++i) links.push_back(std::make_unique<NoLink>());
    host = std::make_unique<ThreadHost>(pool, links, trainer);
    for (std::uint32_t g = 0; g < groups; ++g) tasks.push_back({.group = GroupId{g}, .members = {&nobody, 1}});
    call.models.push_back(model);
  }
  ClientId nobody;
  std::vector<float> model{0};
  RoundCall call{.round = 1};
  WorkerPool pool;
  UnevenTrainer trainer;
  std::vector<std::unique_ptr<ClientLink>> links;
  std::unique_ptr<ThreadHost> host;
  std::vector<GroupTask> tasks;
};

TEST(ThreadHost, AcceptsInOrderAndHoldsFewUpdates) {
  for (const std::uint32_t threads : {1u, 4u}) {
    IdleHost idle(threads, 300);
    UnevenTrainer& trainer = idle.trainer;
    std::vector<std::uint32_t> order;
    const UpdateSink sink{.group = [&](GroupUpdate& update) {
      order.push_back(update.group.value);
      --trainer.alive;
    }};
    ASSERT_TRUE(idle.host->run(idle.call, idle.tasks, sink).ok());
    ASSERT_EQ(order.size(), 300u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_LE(trainer.most, static_cast<int>(3 * threads + 3));
  }
}

TEST(ThreadHost, OtherWorkBeginsWhenNoGroupIsLeftToBegin) {
  for (const std::uint32_t threads : {1u, 3u}) {
    IdleHost idle(threads, 40);
    UnevenTrainer& trainer = idle.trainer;
    std::vector<int> begun_before(20, -1);  // groups that had begun when a piece did
    int accepted = 0;
    idle.host->set_meanwhile({.pieces = 20, .work = [&](std::uint32_t, std::uint32_t piece) {
                                begun_before[piece] = trainer.alive;
                                return Status();
                              }});
    ASSERT_TRUE(idle.host->run(idle.call, idle.tasks, {.group = [&](GroupUpdate&) { ++accepted; }}).ok());
    EXPECT_EQ(accepted, 40);
    // The other workers may have taken their last group and not have entered it.
    for (const int begun : begun_before) EXPECT_GE(begun, 40 - static_cast<int>(threads - 1));
  }
}

TEST(ThreadHost, StopsAtABrokenGroup) {
  IdleHost idle(4, 100);
  idle.trainer.fail_at = 17;
  const Status status = idle.host->run(idle.call, idle.tasks, {.group = [](GroupUpdate&) {}});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "group 17 broke");
}

// Every client adds something of its own to the model; every fourth vanishes.
class AddingLink final : public ClientLink {
 public:
  Result<TrainReply> train(const TrainTask& task, LocalUpdate reuse) override {
    const std::uint32_t k = task.client.value;
    if (k % 4 == 3) return TrainReply{Dropped{task.client, DropReason::kFault}};
    reuse.client = task.client;
    reuse.samples = 10 + 7 * k;
    reuse.steps = 1;
    reuse.samples_trained = reuse.samples;
    reuse.loss = 0.5 * k;
    reuse.model.assign(task.model.begin(), task.model.end());
    for (std::size_t i = 0; i < reuse.model.size(); ++i) reuse.model[i] += 0.1f * static_cast<float>(k + i);
    reuse.payload.assign(2, 1.0f / static_cast<float>(k + 3));
    return TrainReply{std::move(reuse)};
  }
  Result<ProfileReply> profile(const ProfileTask& task) override {
    return ProfileReply{Dropped{task.client, DropReason::kUnreachable}};
  }
  Result<EvaluateReply> evaluate(const EvaluateTask&) override { return EvaluateReply{Evaluation{}}; }
};

TEST(ThreadHost, MembersTrainedApartGiveTheUpdateOfTheirGroup) {
  const std::vector<float> model{0.3f, -1.7f, 0.01f};
  std::vector<ClientId> clients;
  for (std::uint32_t k = 0; k < 12; ++k) clients.push_back({k});
  const std::span<const ClientId> all(clients);
  const RoundCall call{.round = 1, .models = {model}};
  const std::vector<GroupTask> tasks{{.group = {0}, .members = all.first(7)},
                                     {.group = {4}, .members = all.subspan(7, 1)},
                                     {.group = {5}, .members = all.subspan(8)}};
  for (const char* weights : {"samples-weighted", "uniform"}) {
    const auto trainer = make_group_trainer({.mode = "parallel"}, {.in_group = weights}, {}, 1);
    WorkerPool pool(3);
    std::vector<std::unique_ptr<ClientLink>> links;
    for (int i = 0; i < 3; ++i) links.push_back(std::make_unique<AddingLink>());
    std::vector<GroupUpdate> apart;
    ThreadHost host(pool, links, **trainer);
    ASSERT_TRUE(host.run(call, tasks, {.group = [&](GroupUpdate& u) { apart.push_back(u); }}).ok());
    ASSERT_EQ(apart.size(), tasks.size());
    for (std::size_t g = 0; g < tasks.size(); ++g) {
      AddingLink link;
      const auto whole = (*trainer)->train(call, tasks[g], link, {});
      ASSERT_TRUE(whole.ok());
      EXPECT_EQ(apart[g].group, tasks[g].group);
      EXPECT_EQ(apart[g].members.size(), whole->members.size());
      EXPECT_EQ(apart[g].dropped.size(), whole->dropped.size());
      EXPECT_EQ(apart[g].samples, whole->samples);
      if (whole->members.empty()) continue;  // without a member there is no model to compare
      EXPECT_EQ(apart[g].model, whole->model);
      EXPECT_EQ(apart[g].payload, whole->payload);
    }
  }
}

TEST(GroupTrainers, SurviveAllMembersVanishing) {
  const ClientId members[] = {ClientId{0}, ClientId{1}, ClientId{2}};
  const std::vector<float> model{1, 2};
  NoLink link;
  const RoundCall call{.round = 1, .models = {model}};
  const GroupTask task{.group = GroupId{0}, .members = members};
  for (const char* mode : {"parallel", "sequential"}) {
    const auto trainer =
        make_group_trainer({.mode = mode, .group_rounds = 2, .passes = 2}, {.in_group = "uniform"}, {}, 1);
    ASSERT_TRUE(trainer.ok());
    const auto update = (*trainer)->train(call, task, link, {});
    ASSERT_TRUE(update.ok());
    EXPECT_TRUE(update->members.empty());
    EXPECT_EQ(update->samples, 0u);
    EXPECT_EQ(update->dropped.size(), 3u);  // each once, however often it was asked
  }
}

}  // namespace
}  // namespace muster
