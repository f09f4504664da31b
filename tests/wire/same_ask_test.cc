// What the side that dials takes for the same ask, and what it does not.
#include <gtest/gtest.h>

#include <atomic>

#include "wire/answerer.h"
#include "wire/memory_channel.h"

namespace muster {
namespace {

// Sends back the model that it got.
class EchoWorkplace final : public Workplace {
 public:
  Result<TrainAnswer> train(const TrainTask& task, GroupId, const Memory&, std::chrono::milliseconds) override {
    ++trained;
    return TrainAnswer{
        LocalUpdate{.client = task.client, .model = {task.model.begin(), task.model.end()}, .samples = 1}};
  }
  Result<ProfileReply> profile(const ProfileTask&, const std::optional<Memory>&, std::chrono::milliseconds) override {
    return failure("not asked for");
  }
  Result<EvaluateReply> evaluate(const EvaluateTask&, const std::optional<Memory>&,
                                 std::chrono::milliseconds) override {
    return failure("not asked for");
  }
  Result<GroupAnswer> train_group(const RoundCall&, const GroupTask&, const GroupMembers&,
                                  std::chrono::milliseconds) override {
    return failure("not asked for");
  }
  std::atomic<int> trained{0};
};

// Keeps the models that come back, by the number of the ask.
struct Asker final : ChannelUser {
  void received(v1::Frame frame) override {
    const std::lock_guard lock(mutex);
    if (frame.has_chunk()) last.assign(frame.chunk().values());
    if (!frame.has_reply()) return;
    models[frame.reply().id().number()] = last;
    changed.notify_all();
  }
  void closed(const std::string&) override {}
  std::vector<float> wait_for(std::uint64_t number) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(20), [&] { return models.contains(number); });
    const std::string& bytes = models[number];
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::string last;
  std::map<std::uint64_t, std::string> models;
};

TEST(Answerer, KnowsAModelByItsValuesAlsoWhereANumberIsUsedAgain) {
  const auto place = std::make_shared<EchoWorkplace>();
  Answerer::Options options{.limits = {.vector_values = 10, .held_values = 100, .held_vectors = 10},
                            .begin = [&](const v1::Welcome&) -> Result<std::shared_ptr<Workplace>> {
                              return std::shared_ptr<Workplace>(place);
                            }};
  Answerer answerer(std::move(options));
  const auto asker = std::make_shared<Asker>();
  std::shared_ptr<Channel> out;
  MemoryLine line([&](std::shared_ptr<Channel> channel) { return answerer.attach(std::move(channel)); },
                  [&](std::shared_ptr<Channel> channel) {
                    out = std::move(channel);
                    return asker;
                  });
  v1::Frame welcome;
  welcome.mutable_welcome()->set_run("r");
  out->send({welcome});
  // The same question each time, but for what the model is; none of them has had its verdict.
  const auto ask = [&](std::uint64_t number, std::uint64_t vector, float value) {
    out->send({{}, std::make_shared<WireVector>(WireVector{vector, std::vector<float>(4, value)})});
    v1::Frame frame;
    frame.mutable_ask()->mutable_id()->set_number(number);
    frame.mutable_ask()->set_within_ms(10000);
    frame.mutable_ask()->mutable_train()->set_model(vector);
    out->send({frame});
    const std::vector<float> answer = asker->wait_for(number);
    v1::Frame forget;
    forget.mutable_forget()->add_vectors(vector);
    out->send({forget});
    return answer;
  };
  EXPECT_EQ(ask(1, 1, 5.0f), std::vector<float>(4, 5.0f));
  EXPECT_EQ(ask(2, 2, 5.0f), std::vector<float>(4, 5.0f));
  EXPECT_EQ(place->trained, 1) << "the same model by another number is the same ask";
  EXPECT_EQ(ask(3, 2, 6.0f), std::vector<float>(4, 6.0f));
  EXPECT_EQ(place->trained, 2) << "another model by the same number is not";
  line.cut();
}

// Keeps which asks were answered.
class NotingChannel final : public Channel {
 public:
  explicit NotingChannel(std::vector<std::uint64_t>& answered) : answered_(answered) {}
  void send(Outgoing outgoing) override {
    if (outgoing.frame.has_reply()) answered_.push_back(outgoing.frame.reply().id().number());
  }
  void close() override {}

 private:
  std::vector<std::uint64_t>& answered_;
};

class TwoAskers : public testing::Test {
 protected:
  TwoAskers()
      : answerer_({.threads = 0,
                   .limits = {.vector_values = 10, .held_values = 100, .held_vectors = 10},
                   .begin = [this](const v1::Welcome&) -> Result<std::shared_ptr<Workplace>> {
                     return std::shared_ptr<Workplace>(place_);
                   }}),
        user_(answerer_.attach(std::make_shared<NotingChannel>(answered_))) {
    v1::Frame welcome;
    welcome.mutable_welcome()->set_run("r");
    user_->received(welcome);
    work();
  }
  void TearDown() override { user_->closed("over"); }

  void work() {
    while (answerer_.work_on()) {
    }
  }
  void ask(std::uint64_t number, std::uint64_t incarnation = 1) {
    v1::Frame frame;
    frame.mutable_ask()->mutable_id()->set_number(number);
    frame.mutable_ask()->mutable_id()->set_incarnation(incarnation);
    frame.mutable_ask()->set_within_ms(10000);
    frame.mutable_ask()->mutable_train();
    user_->received(frame);
  }
  void give_verdict(std::uint64_t number, bool used) {
    v1::Frame frame;
    frame.mutable_verdict()->mutable_id()->set_number(number);
    frame.mutable_verdict()->mutable_id()->set_incarnation(1);
    frame.mutable_verdict()->set_used(used);
    user_->received(frame);
  }

  std::shared_ptr<EchoWorkplace> place_ = std::make_shared<EchoWorkplace>();
  std::vector<std::uint64_t> answered_;
  Answerer answerer_;
  std::shared_ptr<ChannelUser> user_;
};

TEST_F(TwoAskers, AreBothAnsweredByTheSameWork) {
  ask(7);
  ask(8);
  ask(8);  // the line was cut in between
  work();
  EXPECT_EQ(answered_, (std::vector<std::uint64_t>{7, 8}));
  EXPECT_EQ(place_->trained, 1);
  give_verdict(7, true);
  ask(8);
  EXPECT_EQ(answered_.back(), 8u) << "it is kept until whoever asked last has it";
  EXPECT_EQ(place_->trained, 1);
}

TEST_F(TwoAskers, OfWhomOneDoesNotWaitAnyLonger) {
  for (const std::uint64_t gone : {7u, 8u}) {
    answered_.clear();
    ask(7);
    ask(8);
    give_verdict(gone, false);
    work();
    EXPECT_EQ(answered_, std::vector<std::uint64_t>{gone == 7 ? 8u : 7u});
    give_verdict(gone == 7 ? 8 : 7, true);
  }
}

TEST_F(TwoAskers, OfWhomOneIsOfAnEarlierIncarnation) {
  ask(7);
  ask(1, 2);
  work();
  EXPECT_EQ(answered_, std::vector<std::uint64_t>{1}) << "the cloud has started again, and 7 is of before";
}

}  // namespace
}  // namespace muster
