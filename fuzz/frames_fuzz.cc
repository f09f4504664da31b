// Whatever a peer sends, in any order: to the side that is dialled, while it waits for an answer, and to the side that
// dials. The input is a list of frames, each with a length of two bytes; the first byte says to which side, and whether
// an ask is open.
#include <memory>
#include <thread>

#include "wire/answerer.h"
#include "wire/remote_clients.h"

namespace muster {
namespace {

class DeafChannel final : public Channel {
 public:
  void send(Outgoing) override {}
  void close() override {}
};

class EmptyWorkplace final : public Workplace {
 public:
  Result<TrainAnswer> train(const TrainTask& task, GroupId, const Memory&, std::chrono::milliseconds) override {
    return TrainAnswer{Dropped{task.client, DropReason::kNoSamples}};
  }
  Result<ProfileReply> profile(const ProfileTask& task, const std::optional<Memory>&,
                               std::chrono::milliseconds) override {
    return ProfileReply{Dropped{task.client, DropReason::kNoSamples}};
  }
  Result<EvaluateReply> evaluate(const EvaluateTask& task, const std::optional<Memory>&,
                                 std::chrono::milliseconds) override {
    return EvaluateReply{Dropped{task.client, DropReason::kNoSamples}};
  }
  Result<GroupAnswer> train_group(const RoundCall&, const GroupTask& task, std::span<const Memory>,
                                  std::chrono::milliseconds) override {
    GroupAnswer answer;
    for (const ClientId member : task.members) answer.update.dropped.push_back({member, DropReason::kNoSamples});
    return answer;
  }
};

Result<std::vector<ClientId>> admit(const std::vector<v1::Client>& clients) {
  std::vector<ClientId> ids;
  for (const v1::Client& client : clients) {
    if (client.simulated() >= 8) return usage_error("client {}: want 0 to 7", client.simulated());
    ids.push_back({client.simulated()});
  }
  return ids;
}

void feed(ChannelUser& user, std::string_view input) {
  while (input.size() >= 2) {
    const std::size_t size = static_cast<std::uint8_t>(input[0]) | static_cast<std::uint8_t>(input[1]) << 8;
    input.remove_prefix(2);
    const std::string_view frame = input.substr(0, size);
    input.remove_prefix(frame.size());
    v1::Frame parsed;
    if (parsed.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) user.received(std::move(parsed));
  }
  user.closed("the input has ended");
}

void dialled(std::string_view input, bool edge, bool open) {
  RemoteClients clients(admit, {});
  WireRun run{.most_values = 64};
  run.welcome.set_run("r");
  run.welcome.set_incarnation(1);
  clients.begin(std::move(run));
  const auto user =
      clients.attach(std::make_shared<DeafChannel>(), "peer", edge, [](const v1::Client&) { return true; });
  std::thread asker;
  if (open) {
    asker = std::thread([&] {
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
      const auto model = clients.share(std::vector<float>(4));
      if (edge) {
        (void)clients.train_group(
            {.group = {0}, .round = 1, .model = model, .members = {{1}, {2}}, .memories = {{}, {}}}, until);
      } else {
        (void)clients.train({.client = {1}, .round = 1, .model = model}, until);
      }
    });
  }
  feed(*user, input);
  if (asker.joinable()) asker.join();
}

void dials(std::string_view input) {
  Answerer answerer({.threads = 1,
                     .limits = {.vector_values = 64, .held_values = 256, .held_vectors = 4},
                     .begin = [](const v1::Welcome&) -> Result<std::shared_ptr<Workplace>> {
                       return std::shared_ptr<Workplace>(std::make_shared<EmptyWorkplace>());
                     }});
  const auto user = answerer.attach(std::make_shared<DeafChannel>());
  v1::Frame welcome;
  welcome.mutable_welcome()->set_run("r");
  user->received(std::move(welcome));
  feed(*user, input);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    muster::dials(input);
  } else {
    muster::dialled(input, (data[0] & 2) != 0, (data[0] & 4) != 0);
  }
  return 0;
}
