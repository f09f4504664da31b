// The side that dials, on one thread: it does what it is asked when it is told to work, and shows what it is told as
// one line.
#include "wire/answerer.h"

#include <gtest/gtest.h>

#include "wire/noted_channel.h"

namespace muster {
namespace {

class CountingWorkplace final : public Workplace {
 public:
  Result<TrainAnswer> train(const TrainTask& task, GroupId, const Memory&, std::chrono::milliseconds) override {
    ++trained;
    return TrainAnswer{LocalUpdate{.client = task.client, .model = {task.model.begin(), task.model.end()}}};
  }
  Result<ProfileReply> profile(const ProfileTask& task, const std::optional<Memory>&,
                               std::chrono::milliseconds) override {
    return ProfileReply{Dropped{task.client, DropReason::kNoSamples}};
  }
  Result<EvaluateReply> evaluate(const EvaluateTask&, const std::optional<Memory>&,
                                 std::chrono::milliseconds) override {
    return failure("nothing to score");
  }
  Result<GroupAnswer> train_group(const RoundCall&, const GroupTask&, const GroupMembers&,
                                  std::chrono::milliseconds) override {
    return failure("not here");
  }
  int trained = 0;
};

class AnswererTest : public testing::Test {
 protected:
  ~AnswererTest() override { user->closed("over"); }

  static v1::Frame ask(std::uint64_t number) {
    v1::Frame frame;
    frame.mutable_ask()->mutable_id()->set_number(number);
    frame.mutable_ask()->mutable_id()->set_client(7);
    frame.mutable_ask()->mutable_train();
    return frame;
  }
  static v1::Frame refusal(const std::string& reason, bool again) {
    v1::Frame frame;
    frame.mutable_refusal()->set_reason(reason);
    frame.mutable_refusal()->set_again(again);
    return frame;
  }

  std::shared_ptr<CountingWorkplace> place = std::make_shared<CountingWorkplace>();
  std::string said;
  Answerer answerer{{.threads = 0,
                     .begin = [this](const v1::Welcome&) -> Result<std::shared_ptr<Workplace>> {
                       return std::shared_ptr<Workplace>(place);
                     },
                     .say = [this](const WireNote& note) { said += note.line; }}};
  std::shared_ptr<NotedChannel> channel = std::make_shared<NotedChannel>();
  std::shared_ptr<ChannelUser> user = answerer.attach(channel);
};

TEST_F(AnswererTest, WorksOnWhenItIsToldTo) {
  user->received(ask(1));
  EXPECT_FALSE(answerer.work_on()) << "before it is part of a run";
  v1::Frame welcome;
  welcome.mutable_welcome()->set_run("r");
  user->received(welcome);
  EXPECT_TRUE(answerer.work_on()) << "prepares";
  EXPECT_EQ(place->trained, 0);
  EXPECT_TRUE(answerer.work_on());
  EXPECT_EQ(place->trained, 1);
  EXPECT_FALSE(answerer.work_on());
  EXPECT_EQ(channel->replies(), 1u);
  user->received(ask(2));
  EXPECT_FALSE(answerer.work_on()) << "the same under another number: the kept reply goes out again";
  EXPECT_EQ(channel->replies(), 2u);
}

TEST_F(AnswererTest, KeepsTheReasonThatItWasTold) {
  user->received(refusal("it is here already", true));
  user->closed("the connection ended");
  EXPECT_EQ(answerer.why_closed(), "it is here already");
  const auto next = std::make_shared<NotedChannel>();
  const auto again = answerer.attach(next);
  again->closed("the connection ended");
  EXPECT_EQ(answerer.why_closed(), "the connection ended");
}

TEST_F(AnswererTest, ShowsWhatItIsToldAsOneLine) {
  user->received(refusal("first\n\x1b[2Jsecond", true));
  EXPECT_EQ(answerer.why_closed(), "first\\n\\x1b[2Jsecond");
  v1::Frame verdict;
  user->received(ask(1));
  verdict.mutable_verdict()->mutable_id()->set_number(1);
  verdict.mutable_verdict()->set_reason("because\r\nof\x07");
  user->received(verdict);
  EXPECT_NE(said.find("was not used: because\\r\\nof\\x07"), std::string::npos) << said;
  user->received(refusal(std::string(100'000, 'x'), false));
  ASSERT_TRUE(answerer.end().has_value());
  EXPECT_EQ(answerer.end()->text, fmt::format("{:x>400}...", ""));
}

}  // namespace
}  // namespace muster
