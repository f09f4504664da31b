// Whatever a peer sends, in any order: to the side that is dialled, where an ask of every kind waits for its answer,
// and to the side that dials. All on one thread, so that an input always does the same: whoever would wait reads the
// input instead. What is accepted is within its bounds; what is said of a peer is one line; nothing of it stays when it
// is gone.
#include <pthread.h>

#include <cerrno>
#include <functional>
#include <memory>

#include "base/check.h"
#include "data/agreement.h"
#include "data/shown_text.h"
#include "frame_list.h"
#include "wire/answerer.h"
#include "wire/remote_clients.h"
#include "wire/wire_sheet.h"

namespace muster {
namespace {

std::function<void()> instead_of_waiting;

}  // namespace
}  // namespace muster

// All waiting with a deadline ends here. In place of the C library's.
extern "C" int pthread_cond_clockwait(pthread_cond_t*, pthread_mutex_t* mutex, clockid_t, const timespec*) {
  if (muster::instead_of_waiting) {
    pthread_mutex_unlock(mutex);
    std::exchange(muster::instead_of_waiting, {})();
    pthread_mutex_lock(mutex);
  }
  return ETIMEDOUT;
}

namespace muster {
namespace {

constexpr std::uint64_t kMostValues = 64;

class DeafChannel final : public Channel {
 public:
  void send(Outgoing outgoing) override { replies_ += outgoing.frame.has_reply() ? 1 : 0; }
  void close() override {}
  std::size_t replies_ = 0;
};

void check_line(const std::string& line) {
  MUSTER_CHECK(shown_text(line) == line && line.size() < 2000, "said {}", shown_text(line));
}

void check_note(const WireNote& note) {
  check_line(note.line);
  check_line(note.client);
}

// Does what it is asked with what it is sent.
class EchoingWorkplace final : public Workplace {
 public:
  Result<TrainAnswer> train(const TrainTask& task, GroupId, const Memory& memory, std::chrono::milliseconds) override {
    return TrainAnswer{LocalUpdate{.client = task.client,
                                   .model = {task.model.begin(), task.model.end()},
                                   .payload = {task.broadcast.begin(), task.broadcast.end()},
                                   .samples = 1,
                                   .steps = memory.keep.size()}};
  }
  Result<ChainKeyReply> chain_key(ClientId client, std::uint32_t, GroupId, std::chrono::milliseconds) override {
    return ChainKeyReply{ChainKey{.client = client, .name = "n", .key = {}, .credential = "c", .signature = "s"}};
  }
  Result<TrainAnswer> train_in_chain(const TrainTask& task, GroupId group, const Memory& memory,
                                     const ChainVisit& visit, std::chrono::milliseconds within) override {
    MUSTER_CHECK(visit.readers.size() <= kMostReaders && visit.from.has_value() == visit.sender.has_value(), "a visit");
    MUSTER_ASSIGN(TrainAnswer answer, train(task, group, memory, within));
    answer.sealed = visit.from;
    return answer;
  }
  Result<ProfileReply> profile(const ProfileTask& task, const std::optional<Memory>&,
                               std::chrono::milliseconds) override {
    MUSTER_CHECK(task.models.values.size() == task.models.count() * task.models.width, "uneven models");
    return ProfileReply{
        ClientProfile{.vector = {task.models.values.begin(), task.models.values.end()}, .labels = {1, 2}}};
  }
  Result<EvaluateReply> evaluate(const EvaluateTask& task, const std::optional<Memory>&,
                                 std::chrono::milliseconds) override {
    if (task.model.empty()) return failure("no model\x07 to score");
    return EvaluateReply{Evaluation{.samples = task.model.size()}};
  }
  Result<SummedAnswer> sum(SumPhase phase, SumAsk ask, GroupId, const Memory&, std::chrono::milliseconds) override {
    MUSTER_CHECK(phase < SumPhase::kDone, "phase {}", static_cast<int>(phase));
    SumAnswer answer{.message = std::move(ask.message)};
    if (phase == SumPhase::kInput) answer.update = {.client = ask.task.client, .samples = 1};
    return SummedAnswer{std::move(answer)};
  }
  Result<GroupAnswer> train_group(const RoundCall& call, const GroupTask& task, const GroupMembers& members,
                                  std::chrono::milliseconds) override {
    MUSTER_CHECK(!task.members.empty() && members.memories.size() == task.members.size(), "members and memories");
    MUSTER_CHECK(members.names.empty() || members.names.size() == task.members.size(), "members and names");
    MUSTER_CHECK(task.epochs.empty() || task.epochs.size() == task.members.size(), "members and epochs");
    GroupAnswer answer;
    answer.update.model = {call.models[0].begin(), call.models[0].end()};
    for (const ClientId member : task.members) {
      answer.update.members.push_back({.client = member, .visits = 1});
      answer.bases.push_back({});
    }
    return answer;
  }
};

// Whatever a sheet says, clients can be brought together by it once it is taken for sound.
Result<RemoteClients::Admitted> look_at(const v1::Client& client) {
  DataOptions options;
  options.source = client.data().columns_size() > 0 ? "csv" : "npz";
  options.missing = client.data().test_rows() % 2 > 0 ? "mean" : "error";
  options.normalize = client.data().sums_size() > 0;
  const std::vector<SheetOf> sheets{{client.name(), take_sheet(client.data())}};
  MUSTER_TRY(check_sheet(sheets[0].sheet, options));
  MUSTER_ASSIGN(const DataAgreement agreement, agree(sheets, options));
  MUSTER_CHECK(parse_preparation(to_json(agreement.preparation)).ok(), "{}", to_json(agreement.preparation));
  MUSTER_CHECK(check_fits(sheets[0].sheet, agreement.preparation).ok(), "{}", to_json(agreement.preparation));
  return RemoteClients::Admitted();
}

Result<RemoteClients::Admitted> admit(const std::vector<v1::Client>& clients) {
  std::vector<ClientId> ids;
  for (const v1::Client& client : clients) {
    if (client.has_name()) return look_at(client);
    if (!client.has_simulated() || client.simulated() >= 8) return usage_error("want clients 0 to 7");
    ids.push_back({client.simulated()});
  }
  return RemoteClients::Admitted(std::move(ids));
}

template <typename After>
std::size_t feed(ChannelUser& user, std::string_view input, const After& after) {
  std::size_t frames = 0;
  each_frame(input, [&](std::string_view bytes) {
    v1::Frame frame;
    if (!frame.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
    user.received(std::move(frame));
    after();
    ++frames;
  });
  user.closed("the input has ended");
  return frames;
}

// Each step is done while the one before it waits.
void one_in_another(std::span<const std::function<void()>> steps) {
  if (steps.size() > 1) instead_of_waiting = [steps] { one_in_another(steps.subspan(1)); };
  steps.front()();
  instead_of_waiting = {};
}

void bounded(const std::vector<float>& values) {
  MUSTER_CHECK(values.size() <= kMostValues, "{} values", values.size());
}

void dialled(std::string_view input, bool edge) {
  RemoteClients clients(admit, {.say = check_note});
  WireRun run{.most_values = kMostValues};
  run.welcome.set_run("r");
  run.welcome.set_incarnation(1);
  clients.begin(std::move(run));
  const auto user =
      clients.attach(std::make_shared<DeafChannel>(), "peer", edge, [](const v1::Client&) { return true; });
  const RemoteClients::Vector sent = clients.share(std::vector<float>(4));
  const WireTime now = std::chrono::steady_clock::now();  // waits once
  const std::vector<std::function<void()>> steps{
      [&] {
        const TrainAnswer answer = clients.train({.client = {1}, .round = 1, .model = sent}, now);
        if (const auto* const update = std::get_if<LocalUpdate>(&answer.reply)) {
          MUSTER_CHECK(update->client.value == 1, "an update of client {}", update->client.value);
          bounded(update->model);
          bounded(update->payload);
        }
      },
      [&] {
        const ProfileReply answer = clients.profile({.client = {2}, .kind = "losses", .models = {sent}}, now);
        if (const auto* const told = std::get_if<ClientProfile>(&answer)) bounded(told->vector);
      },
      [&] {
        const EvaluateReply answer = clients.evaluate({.client = {3}, .model = sent}, now);
        const auto* const told = std::get_if<Evaluation>(&answer);
        if (told && told->predictions) bounded(told->predictions->negative_scores);
      },
      [&] {
        const GroupAnswer answer = clients.train_group(
            {.group = {0}, .round = 1, .model = sent, .members = {{4}, {5}}, .memories = {{}, {}}}, now);
        MUSTER_CHECK(answer.bases.size() >= answer.update.members.size(), "a member without a state");
        bounded(answer.update.model);
      },
      [&] { (void)clients.profile({.client = {5}, .kind = "losses", .models = {sent}}, now); },
      [&] {
        const ChainKeyReply answer = clients.chain_key({6}, {0}, 1, now);
        const auto* const key = std::get_if<ChainKey>(&answer);
        MUSTER_CHECK(!key || (key->client.value == 6 && key->credential.size() <= kMostCredentialBytes), "a key");
      },
      [&] {
        const TrainAnswer answer = clients.train(
            {.client = {7}, .round = 1, .model = sent, .chain = ChainVisit{.readers = {ChainKey{}}}}, now);
        const auto* const update = std::get_if<LocalUpdate>(&answer.reply);
        MUSTER_CHECK(!update || (answer.sealed && answer.sealed->keys.size() <= kMostReaders + 1 &&
                                 update->model.size() == 4 + kSealedExtraValues),
                     "an update that is not sealed");
      },
      [&] {
        const std::vector<std::byte> said(12);
        const SummedAnswer answer =
            clients.sum({SumPhase::kInput, 0, said, {.client = {7}, .round = 1, .model = sent}}, now);
        if (const auto* const summed = std::get_if<SumAnswer>(&answer.reply)) {
          MUSTER_CHECK(summed->message.size() <= kMostValues * sizeof(float), "{} bytes", summed->message.size());
          if (summed->update) bounded(summed->update->model);
        }
      },
      [&] { feed(*user, input, [] {}); }};
  one_in_another(steps);
  clients.end_sharing(sent);
  const RemoteClients::Figures left = clients.figures();
  MUSTER_CHECK(left.clients == 0 && left.peers == 0 && left.asks_open == 0, "{} clients and {} peers are still here",
               left.clients, left.peers);
}

void dials(std::string_view input) {
  Answerer answerer({.threads = 0,
                     .limits = {.vector_values = kMostValues, .held_values = 256, .held_vectors = 4},
                     .begin = [](const v1::Welcome&) -> Result<std::shared_ptr<Workplace>> {
                       return std::shared_ptr<Workplace>(std::make_shared<EchoingWorkplace>());
                     },
                     .say = check_note});
  const auto channel = std::make_shared<DeafChannel>();
  const auto user = answerer.attach(channel);
  v1::Frame welcome;
  welcome.mutable_welcome()->set_run("r");
  user->received(std::move(welcome));
  const std::size_t frames = feed(*user, input, [&] {
    while (answerer.work_on()) {
    }
  });
  MUSTER_CHECK(channel->replies_ <= frames, "{} replies to {} frames", channel->replies_, frames);
  check_line(answerer.why_closed());
  if (const auto end = answerer.end()) check_line(end->text);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    muster::dials(input);
  } else {
    muster::dialled(input, (data[0] & 2) != 0);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
  return muster::mutate_frame_list(data, size, most, seed);
}
