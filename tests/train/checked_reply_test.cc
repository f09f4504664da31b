// What a client sends is not trusted: a group does without whoever sends nonsense.
#include <limits>

#include "train/group_trainer.h"

namespace muster {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

LocalUpdate good(ClientId client) {
  return {.client = client, .model = {3, 4}, .payload = {1}, .samples = 5, .loss = 0.5};
}

// Client 1 answers with what it is told to; the others are honest.
class LyingLink final : public ClientLink {
 public:
  explicit LyingLink(LocalUpdate lie) : lie_(std::move(lie)) {}
  Result<TrainReply> train(const TrainTask& task, LocalUpdate) override {
    return TrainReply{task.client.value == 1 ? lie_ : good(task.client)};
  }
  Result<ProfileReply> profile(const ProfileTask& task) override {
    return ProfileReply{Dropped{task.client, DropReason::kUnreachable}};
  }
  Result<EvaluateReply> evaluate(const EvaluateTask&) override { return EvaluateReply{Evaluation{}}; }

 private:
  LocalUpdate lie_;
};

TEST(CheckedReply, AGroupDoesWithoutAClientThatSendsNonsense) {
  const ClientId members[] = {{0}, {1}, {2}};
  const std::vector<float> start{1, 2};
  const RoundCall call{.round = 1, .models = {start}};
  const GroupTask task{.group = {0}, .members = members};
  std::vector<std::pair<LocalUpdate, DropReason>> lies(9, {good({1}), DropReason::kMalformed});
  lies[0].first.client = {7};
  lies[1].first.model = {1};
  lies[2].first.model.clear();
  lies[3].first.payload = {1, 2, 3};
  lies[4].first.payload = {1, 2};
  lies[5].first.samples = 0;
  lies[6] = {good({1}), DropReason::kNonFinite};
  lies[6].first.model[1] = kNan;
  lies[7] = {good({1}), DropReason::kNonFinite};
  lies[7].first.payload[0] = std::numeric_limits<float>::infinity();
  lies[8] = {good({1}), DropReason::kNonFinite};
  lies[8].first.loss_after = kNan;
  for (const char* mode : {"parallel", "sequential"}) {
    for (std::size_t i = 0; i < lies.size(); ++i) {
      LyingLink link(lies[i].first);
      const auto trainer = make_group_trainer({.mode = mode}, {.in_group = "uniform"}, {}, 1);
      const auto update = (*trainer)->train(call, task, link, {});
      ASSERT_TRUE(update.ok());
      // In a chain the liar may come first: then nothing tells that its payload is longer than the others'.
      if (i == 4 && update->dropped.size() == 2) continue;
      ASSERT_EQ(update->dropped.size(), 1u) << mode << " " << i;
      EXPECT_EQ(update->dropped[0].client, ClientId{1}) << mode << " " << i;
      EXPECT_EQ(update->dropped[0].reason, lies[i].second) << mode << " " << i;
      EXPECT_EQ(update->members.size(), 2u);
      EXPECT_EQ(update->model, (std::vector<float>{3, 4}));
      EXPECT_EQ(update->payload, std::vector<float>{2});
      EXPECT_EQ(update->samples, 10u);
    }
  }
}

TEST(CheckedReply, AGroupOfOneIsCheckedToo) {
  const ClientId member{1};
  const std::vector<float> start{1, 2};
  const RoundCall call{.round = 1, .models = {start}};
  const GroupTask task{.group = {0}, .members = {&member, 1}};
  std::vector<std::pair<LocalUpdate, DropReason>> lies(3, {good({1}), DropReason::kMalformed});
  lies[0].first.client = {7};
  lies[1].first.model = {1};
  lies[2] = {good({1}), DropReason::kNonFinite};
  lies[2].first.model[1] = kNan;
  for (const char* mode : {"parallel", "sequential"}) {
    for (const auto& [lie, reason] : lies) {
      LyingLink link(lie);
      const auto trainer = make_group_trainer({.mode = mode}, {.in_group = "uniform"}, {}, 1);
      const auto update = (*trainer)->train(call, task, link, {});
      ASSERT_TRUE(update.ok());
      EXPECT_TRUE(update->members.empty()) << mode;
      ASSERT_EQ(update->dropped.size(), 1u) << mode;
      EXPECT_EQ(update->dropped[0].client, member) << mode;
      EXPECT_EQ(update->dropped[0].reason, reason) << mode;
    }
  }
}

}  // namespace
}  // namespace muster
