// Asks and answers between a host and peers that come and go, are late, lie or say the wrong thing.
#include "wire/remote_clients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "wire/answerer.h"
#include "wire/memory_channel.h"

namespace muster {
namespace {

using std::chrono::milliseconds;

WireTime in(int ms) {
  return std::chrono::steady_clock::now() + milliseconds(ms);
}

// Adds its client's number to every value.
class AddingWorkplace final : public Workplace {
 public:
  Result<TrainAnswer> train(const TrainTask& task, GroupId, const Memory&, milliseconds) override {
    ++trained;
    while (held) std::this_thread::sleep_for(milliseconds(1));
    LocalUpdate update{.client = task.client, .model = {task.model.begin(), task.model.end()}, .samples = 5};
    for (float& value : update.model) value += static_cast<float>(task.client.value);
    return TrainAnswer{std::move(update), true};
  }
  Result<ProfileReply> profile(const ProfileTask&, const std::optional<Memory>&, milliseconds) override {
    return ProfileReply{ClientProfile{.labels = {1, 2, 3}}};
  }
  Result<EvaluateReply> evaluate(const EvaluateTask&, const std::optional<Memory>&, milliseconds) override {
    return EvaluateReply{Evaluation{.samples = 4, .correct = 3, .loss_sum = 0.5}};
  }
  Result<GroupAnswer> train_group(const RoundCall&, const GroupTask&, const GroupMembers&, milliseconds) override {
    return failure("not here");
  }

  std::atomic<int> trained{0};
  std::atomic<bool> held{false};
};

class RemoteClientsTest : public testing::Test {
 protected:
  RemoteClientsTest() {
    WireRun run{.most_values = 1000};
    run.welcome.set_run("r");
    run.welcome.set_incarnation(2);
    host.begin(std::move(run));
  }
  ~RemoteClientsTest() override {
    host.finish("");
    line.reset();
  }

  // A peer of the given kind that speaks for client 3.
  void connect(MemoryLine::Tap tap = {}) {
    if (!answerer) {
      Answerer::Options options{.threads = 1,
                                .limits = {.vector_values = 1000, .held_values = 10000, .held_vectors = 10},
                                .begin = [this](const v1::Welcome&) -> Result<std::shared_ptr<Workplace>> {
                                  return std::shared_ptr<Workplace>(place);
                                }};
      options.hello.set_version(1);
      options.hello.add_clients()->set_simulated(3);
      answerer = std::make_unique<Answerer>(std::move(options));
    }
    line.reset();
    line = std::make_unique<MemoryLine>(
        [this](std::shared_ptr<Channel> channel) { return answerer->attach(std::move(channel)); },
        [this](std::shared_ptr<Channel> channel) { return attach(std::move(channel), "peer"); }, std::move(tap));
    EXPECT_EQ(host.wait_for(three, in(5000), [](std::size_t) { return true; }), 1u);
  }
  std::shared_ptr<ChannelUser> attach(std::shared_ptr<Channel> channel, const std::string& name) {
    return host.attach(std::move(channel), name, false,
                       [](const v1::Client& client) { return client.simulated() == 3; });
  }
  TrainAnswer train(int ms = 5000) {
    const auto model = host.share(std::vector<float>(10, 1.0f));
    TrainAnswer answer = host.train({.client = {3}, .round = 1, .model = model}, in(ms));
    host.end_sharing(model);
    return answer;
  }

  long heard(const std::string& words) {
    const std::lock_guard lock(mutex);
    return std::ranges::count(said, words);
  }

  const std::vector<ClientId> three{{3}};
  std::mutex mutex;
  std::vector<std::string> said;
  std::shared_ptr<AddingWorkplace> place = std::make_shared<AddingWorkplace>();
  RemoteClients host{[](const std::vector<v1::Client>& clients) -> Result<RemoteClients::Admitted> {
                       std::vector<ClientId> ids;
                       for (const v1::Client& client : clients) ids.push_back({client.simulated()});
                       return RemoteClients::Admitted(std::move(ids));
                     },
                     WireEvents{.say = [this](const WireNote& note) {
                       const std::lock_guard lock(mutex);
                       said.push_back(note.line);
                     }}};
  std::unique_ptr<Answerer> answerer;
  std::unique_ptr<MemoryLine> line;
};

TEST_F(RemoteClientsTest, AnAskIsAnswered) {
  connect();
  const TrainAnswer answer = train();
  const auto* const update = std::get_if<LocalUpdate>(&answer.reply);
  ASSERT_TRUE(update);
  EXPECT_EQ(update->model, std::vector<float>(10, 4.0f));
  EXPECT_TRUE(answer.remembers);
  const ProfileReply told = host.profile({.client = {3}, .kind = "label-histogram"}, in(5000));
  EXPECT_EQ(std::get<ClientProfile>(told).labels, (std::vector<std::uint32_t>{1, 2, 3}));
  const EvaluateReply scored = host.evaluate({.client = {3}}, in(5000));
  EXPECT_EQ(std::get<Evaluation>(scored).correct, 3u);
}

TEST_F(RemoteClientsTest, AClientThatIsNotThereIsUnreachableAndOneThatIsLateAStraggler) {
  EXPECT_EQ(std::get<Dropped>(train(20).reply).reason, DropReason::kUnreachable);
  connect();
  place->held = true;
  EXPECT_EQ(std::get<Dropped>(train(50).reply).reason, DropReason::kStraggler);
  place->held = false;
  EXPECT_TRUE(std::holds_alternative<LocalUpdate>(train().reply)) << "and the next ask is answered";
}

TEST_F(RemoteClientsTest, WhoComesBackSendsTheKeptReplyInsteadOfTrainingAgain) {
  // The reply is lost with the line.
  connect([](v1::Frame& frame, bool up) { return !(up && frame.has_reply()); });
  std::thread asker([this] { EXPECT_TRUE(std::holds_alternative<LocalUpdate>(train(10000).reply)); });
  while (host.connected({3})) std::this_thread::sleep_for(milliseconds(1));
  connect();
  asker.join();
  EXPECT_EQ(place->trained, 1);
}

TEST_F(RemoteClientsTest, WhoIsCutOffWhileItTrainsAnswersThroughTheNextLine) {
  connect();
  place->held = true;
  std::thread asker([this] { EXPECT_TRUE(std::holds_alternative<LocalUpdate>(train(10000).reply)); });
  while (place->trained == 0) std::this_thread::sleep_for(milliseconds(1));
  line->cut();
  while (host.connected({3})) std::this_thread::sleep_for(milliseconds(1));
  connect();
  place->held = false;
  asker.join();
  EXPECT_EQ(place->trained, 1);
}

TEST_F(RemoteClientsTest, AReplyOfAnEarlierIncarnationIsNotUsed) {
  std::atomic<bool> refused = false;
  connect([&](v1::Frame& frame, bool up) {
    if (up && frame.has_reply()) frame.mutable_reply()->mutable_id()->set_incarnation(1);
    if (!up && frame.has_verdict()) refused = !frame.verdict().used();
    return true;
  });
  EXPECT_TRUE(std::holds_alternative<Dropped>(train(200).reply));
  for (int waited = 0; waited < 5000 && !refused; ++waited) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(refused);
  line.reset();  // which still looks at `refused`
}

TEST_F(RemoteClientsTest, ADuplicateCountsOnce) {
  connect();
  // The second copy of a reply is of a task that is not awaited any more.
  std::optional<v1::Frame> reply;
  connect([&](v1::Frame& frame, bool up) {
    if (up && frame.has_reply()) reply = frame;
    return true;
  });
  EXPECT_TRUE(std::holds_alternative<LocalUpdate>(train().reply));
  ASSERT_TRUE(reply.has_value());
  EXPECT_TRUE(std::holds_alternative<LocalUpdate>(train().reply));
  EXPECT_EQ(place->trained, 2) << "another number is another task";
  line.reset();  // which still looks at `reply`
}

// Says what the test says, and hears why it is refused.
struct Stranger final : ChannelUser {
  void received(v1::Frame frame) override {
    if (!frame.has_refusal()) return;
    const std::lock_guard lock(mutex);
    reason = frame.refusal().reason();
  }
  void closed(const std::string&) override {
    const std::lock_guard lock(mutex);
    gone = true;
  }
  std::string refusal() {
    for (int waited = 0; waited < 5000; ++waited) {
      {
        const std::lock_guard lock(mutex);
        if (gone) return reason;
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    return "was not refused";
  }
  std::mutex mutex;
  std::string reason;
  bool gone = false;
};

class Refused : public RemoteClientsTest {
 protected:
  std::string say(const std::vector<v1::Frame>& frames) {
    auto stranger = std::make_shared<Stranger>();
    std::shared_ptr<Channel> out;
    MemoryLine own(
        [&](std::shared_ptr<Channel> channel) {
          out = std::move(channel);
          return stranger;
        },
        [this](std::shared_ptr<Channel> channel) { return attach(std::move(channel), "stranger"); });
    for (const v1::Frame& frame : frames) out->send({frame});
    return stranger->refusal();
  }
  static v1::Frame hello(std::uint32_t client, std::uint32_t version = 1) {
    v1::Frame frame;
    frame.mutable_hello()->set_version(version);
    frame.mutable_hello()->add_clients()->set_simulated(client);
    return frame;
  }
};

TEST_F(Refused, WhoSpeaksForAnother) {
  EXPECT_EQ(say({hello(4)}), "its certificate does not speak for client 4");
}

TEST_F(Refused, WhoIsHereAlready) {
  connect();
  EXPECT_EQ(say({hello(3)}), "client 3 is here already, by peer");
  EXPECT_TRUE(std::holds_alternative<LocalUpdate>(train().reply)) << "and the first one stays";
}

TEST_F(Refused, AnotherVersionOfTheProtocol) {
  EXPECT_EQ(say({hello(3, 9)}), "protocol version 9, want 1");
}

TEST_F(Refused, AClientThatTellsOfOthersOrHostsGroups) {
  v1::Frame presence;
  presence.mutable_presence()->add_came()->set_simulated(7);
  EXPECT_EQ(say({hello(3), presence}), "only an edge tells of other clients");
  v1::Frame hosting = hello(3);
  hosting.mutable_hello()->set_hosts_groups(true);
  EXPECT_EQ(say({hosting}), "only an edge hosts groups");
}

TEST_F(Refused, FramesThatOnlyTheHostSends) {
  v1::Frame ask;
  ask.mutable_ask();
  EXPECT_EQ(say({hello(3), ask}), "a frame that is not expected here");
  v1::Frame nothing;
  EXPECT_EQ(say({hello(3), nothing}), "a frame that is not expected here");
}

TEST_F(Refused, AVectorThatIsTooLong) {
  v1::Frame chunk = chunk_of({1, std::vector<float>(10)}, 0);
  chunk.mutable_chunk()->set_size(1001);
  EXPECT_EQ(say({hello(3), chunk}), "a vector of 1001 values, want at most 1000");
}

TEST_F(Refused, WhoSpeaksBeforeItsHello) {
  EXPECT_EQ(say({chunk_of({1, std::vector<float>(10)}, 0)}), "its first frame is not a Hello");
}

// A peer that floods is read slowly: what it sends waits at its own side, and others are served meanwhile.
TEST_F(Refused, NotWhoFloodsButItIsSlowedDown) {
  connect();
  v1::Frame garbage;
  garbage.mutable_reply()->mutable_id()->set_number(99);
  v1::Frame greeting;
  greeting.mutable_hello()->set_version(1);
  auto flooder = std::make_shared<Stranger>();
  std::shared_ptr<Channel> out;
  std::atomic<int> read{0};
  MemoryLine own(
      [&](std::shared_ptr<Channel> channel) {
        out = std::move(channel);
        return flooder;
      },
      [this](std::shared_ptr<Channel> channel) { return attach(std::move(channel), "flooder"); },
      [&](v1::Frame&, bool up) {
        read += up ? 1 : 0;
        return true;
      });
  const auto begun = std::chrono::steady_clock::now();
  out->send({greeting});
  for (int i = 0; i < 5000; ++i) out->send({garbage});
  while (read < 1000) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_TRUE(std::holds_alternative<LocalUpdate>(train().reply)) << "the others are served";
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
  EXPECT_LE(read.load(), 1002 + 100 * passed.count());
  EXPECT_EQ(heard("flooder sends more than it was asked for, and is read more slowly"), 1);
}

TEST_F(RemoteClientsTest, WhoAnswersWhatItIsAskedIsNeverSlowedDown) {
  connect();
  for (int i = 0; i < 1200; ++i) {
    ASSERT_TRUE(std::holds_alternative<Evaluation>(host.evaluate({.client = {3}}, in(5000))));
  }
  EXPECT_EQ(heard("peer sends more than it was asked for, and is read more slowly"), 0);
}

TEST_F(Refused, AForgedIdOfATaskThatIsOpen) {
  connect();
  place->held = true;
  std::thread asker([this] { EXPECT_TRUE(std::holds_alternative<LocalUpdate>(train(10000).reply)); });
  while (place->trained == 0) std::this_thread::sleep_for(milliseconds(1));
  v1::Frame forged;
  v1::TaskId& id = *forged.mutable_reply()->mutable_id();
  id.set_run("r");
  id.set_incarnation(2);
  id.set_number(1);
  id.set_round(1);
  id.set_client(3);
  forged.mutable_reply()->mutable_dropped()->set_client(3);
  v1::Frame empty;
  empty.mutable_hello()->set_version(1);
  EXPECT_EQ(say({empty, forged}), "a reply for a task that is not its own (round 1, group 0, client 3, part 0)");
  place->held = false;
  asker.join();
}

}  // namespace
}  // namespace muster
