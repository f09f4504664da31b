#include "deploy/client_workplace.h"

#include <array>
#include <condition_variable>
#include <map>
#include <mutex>

#include "base/parcel.h"
#include "deploy/sealed_chains.h"
#include "engine/simulated_federation.h"
#include "secure/key_agreement.h"
#include "train/change_words.h"

namespace muster {
namespace {

constexpr std::size_t kClientLocks = 64;
constexpr double kMostEpochs = 1'000'000;  // as many as a recipe may ask for

class ClientWorkplace final : public Workplace {
 public:
  ClientWorkplace(std::shared_ptr<const FederatedData> data, std::unique_ptr<LocalFederation> federation,
                  const std::filesystem::path& states, ClientSecrecy secrecy)
      : data_(std::move(data)),
        members_(secrecy.sums.members),
        federation_(std::move(federation)),
        versions_(federation_->states(), kStateSlots, states),
        chains_(std::move(secrecy)) {
    for (std::uint32_t worker = 0; worker < federation_->threads(); ++worker) free_.push_back(worker);
  }

  Result<TrainAnswer> train(const TrainTask& task, GroupId group, const Memory& memory,
                            std::chrono::milliseconds) override {
    if (members_) {  // nobody who keeps to the recipe asks for a model by itself
      members_->refuse(task.client, "it asks for the model itself");
      return TrainAnswer{Dropped{task.client, DropReason::kRefused}};
    }
    MUSTER_ASSIGN(TrainAnswer answer, train_here(task, memory));
    chains_.send_alone(task, group, answer);
    return answer;
  }

  Result<TrainAnswer> train_here(const TrainTask& task, const Memory& memory) {
    if (!knows(task.client) || !fits(task)) {
      return TrainAnswer{Dropped{task.client, DropReason::kMalformed}};
    }
    const std::lock_guard one_at_a_time(lock_of(task.client));
    const Worker worker(*this);
    if (!versions_.recall(task.client, memory.basis))
      return TrainAnswer{Dropped{task.client, DropReason::kUnreachable}};
    versions_.prune(task.client, memory);
    TrainAnswer answer;
    MUSTER_ASSIGN(answer.reply, federation_->link(worker.number()).train(task, {}));
    if (std::holds_alternative<LocalUpdate>(answer.reply)) {
      MUSTER_ASSIGN(answer.remembers, versions_.keep(task.client, {task.round, task.part}));
    } else {
      versions_.spoil(task.client);
    }
    return answer;
  }

  Result<ChainKeyReply> chain_key(ClientId client, std::uint32_t round, GroupId group,
                                  std::chrono::milliseconds) override {
    if (!knows(client)) return ChainKeyReply{Dropped{client, DropReason::kMalformed}};
    return chains_.key(client, round, group);
  }

  Result<TrainAnswer> train_in_chain(const TrainTask& asked, GroupId group, const Memory& memory,
                                     const ChainVisit& visit, std::chrono::milliseconds) override {
    std::vector<float> came;
    const std::optional<DropReason> fault = chains_.receive(asked, group, visit, came);
    if (fault) return TrainAnswer{Dropped{asked.client, *fault}};
    TrainTask task = asked;
    if (visit.from) task.model = came;
    if (visit.open) {
      if (!fits(task)) return TrainAnswer{Dropped{task.client, DropReason::kMalformed}};
      return TrainAnswer{LocalUpdate{.client = task.client, .model = std::move(came), .samples = 1}};
    }
    MUSTER_ASSIGN(TrainAnswer answer, train_here(task, memory));
    chains_.send(task, group, visit, answer);
    return answer;
  }

  Result<SummedAnswer> sum(SumPhase phase, SumAsk ask, GroupId, const Memory& memory,
                           std::chrono::milliseconds) override {
    const TrainTask& task = ask.task;
    const ClientId client = task.client;
    const bool trains = phase == SumPhase::kInput;
    if (!members_ || !knows(client) || (trains && (task.own_model || !fits(task)))) {
      return SummedAnswer{Dropped{client, DropReason::kMalformed}};
    }
    const std::lock_guard one_at_a_time(lock_of(client));
    // Whoever hosts the sum asks again where an answer was lost on its way, e.g. with an edge that had taken it. The
    // same ask has the same answer, which shows nothing new; to take part in a phase twice would be refused.
    const PublicBytes asked = digest_of_ask(phase, ask);
    if (std::optional<SummedAnswer> before = answered_.find(client, asked)) return std::move(*before);
    MUSTER_ASSIGN(SummedAnswer answer, take_part(phase, std::move(ask), memory));
    if (std::holds_alternative<SumAnswer>(answer.reply)) answered_.keep(client, asked, answer);
    return answer;
  }

  Result<SummedAnswer> take_part(SumPhase phase, SumAsk ask, const Memory& memory) {
    const TrainTask& task = ask.task;
    const ClientId client = task.client;
    const bool trains = phase == SumPhase::kInput;
    const Worker worker(*this);
    if (trains) {
      const SumClient* const under_way = members_->find(client, ask.attempt);
      if (const char* const why = under_way ? differs(task, under_way->terms()) : nullptr) {
        members_->leave(client, why);
        return SummedAnswer{Dropped{client, DropReason::kRefused}};
      }
      if (!versions_.recall(client, memory.basis)) return SummedAnswer{Dropped{client, DropReason::kUnreachable}};
      versions_.prune(client, memory);
    }
    SummedAnswer answer;
    MUSTER_TRY(federation_->link(worker.number()).sum_each(phase, {&ask, 1}, [&](std::size_t, SumReply reply) {
      answer.reply = std::move(reply);
    }));
    if (!trains) return answer;
    if (std::holds_alternative<SumAnswer>(answer.reply)) {
      MUSTER_ASSIGN(answer.remembers, versions_.keep(client, {task.round, task.part}));
    } else {
      versions_.spoil(client);
    }
    return answer;
  }

  Result<ProfileReply> profile(const ProfileTask& asked, const std::optional<Memory>& memory,
                               std::chrono::milliseconds) override {
    if (!knows(asked.client)) return ProfileReply{Dropped{asked.client, DropReason::kMalformed}};
    if (asked.kind != federation_->profile_kind().entry().name && hides(asked.client, "losses over its samples")) {
      return ProfileReply{Dropped{asked.client, DropReason::kRefused}};
    }
    const std::lock_guard one_at_a_time(lock_of(asked.client));
    const Worker worker(*this);
    if (memory && !versions_.recall(asked.client, memory->basis))
      return ProfileReply{Dropped{asked.client, DropReason::kUnreachable}};
    ProfileTask task = asked;
    task.exemplars = data_->exemplars();
    return federation_->link(worker.number()).profile(task);
  }

  Result<EvaluateReply> evaluate(const EvaluateTask& task, const std::optional<Memory>& memory,
                                 std::chrono::milliseconds) override {
    const Network& network = federation_->network();
    const bool fits =
        (task.model.empty() || task.model.size() == network.size()) && (network.classes() == 2 || !task.details.scores);
    if (!knows(task.client) || !fits) return EvaluateReply{Dropped{task.client, DropReason::kMalformed}};
    if (hides(task.client, "a score of its test samples")) {
      return EvaluateReply{Dropped{task.client, DropReason::kRefused}};
    }
    const std::lock_guard one_at_a_time(lock_of(task.client));
    const Worker worker(*this);
    if (memory && !versions_.recall(task.client, memory->basis))
      return EvaluateReply{Dropped{task.client, DropReason::kUnreachable}};
    if (task.model.empty() && !(task.own_model && federation_->states().size_of(task.client, kModelSlot))) {
      return EvaluateReply{Dropped{task.client, DropReason::kMalformed}};
    }
    return federation_->link(worker.number()).evaluate(task);
  }

  Result<GroupAnswer> train_group(const RoundCall&, const GroupTask& task, const GroupMembers&,
                                  std::chrono::milliseconds) override {
    GroupAnswer answer;
    for (const ClientId member : task.members) answer.update.dropped.push_back({member, DropReason::kMalformed});
    return answer;  // groups are hosted by edges
  }

 private:
  // Whether the recipe hides how many samples the client has, so that nobody who keeps to it asks for this.
  bool hides(ClientId client, const char* asked) {
    if (!federation_->roster().hides_samples()) return false;
    if (members_) members_->refuse(client, fmt::format("it asks for {}, and how many there are is hidden", asked));
    return true;
  }

  // What a member is asked to do that its terms do not say, or null. All members do the same: a server that has them
  // train more or less, each as it likes, could have all but one train nothing, and the sum would be that one's.
  [[nodiscard]] static const char* differs(const TrainTask& task, const SumTerms& terms) {
    if (digest_of_start(task.model, task.broadcast) != terms.model) {
      return "it sends another model than the one in its terms";
    }
    if (task.round != terms.round || task.part != terms.part) return "it asks for another round than its terms do";
    if (task.epochs) return "it tells this client how long to train";
    return nullptr;
  }

  // What each client answered last in a secure sum.
  class LastAnswers {
   public:
    std::optional<SummedAnswer> find(ClientId client, const PublicBytes& asked) const {
      const std::lock_guard lock(mutex_);
      const auto found = answers_.find(client);
      if (found == answers_.end() || found->second.first != asked) return std::nullopt;
      return found->second.second;
    }
    void keep(ClientId client, const PublicBytes& asked, const SummedAnswer& answer) {
      const std::lock_guard lock(mutex_);
      answers_.insert_or_assign(client, std::pair(asked, answer));
    }

   private:
    mutable std::mutex mutex_;
    std::map<ClientId, std::pair<PublicBytes, SummedAnswer>> answers_;
  };

  static PublicBytes digest_of_ask(SumPhase phase, const SumAsk& ask) {
    ParcelWriter out;
    out.put(phase);
    out.put(ask.attempt);
    out.put(ask.task.round);
    out.put(ask.task.part);
    out.put_list(std::span<const std::byte>(ask.message));
    const PublicBytes start = digest_of_start(ask.task.model, ask.task.broadcast);
    out.put_list(std::span<const std::uint8_t>(start));
    return digest_of(std::move(out).finish().words);
  }

  // One of the federation's workers, for as long as it lives.
  class Worker {
   public:
    explicit Worker(ClientWorkplace& place) : place_(place) {
      std::unique_lock lock(place_.mutex_);
      place_.freed_.wait(lock, [&] { return !place_.free_.empty(); });
      number_ = place_.free_.back();
      place_.free_.pop_back();
    }
    ~Worker() {
      {
        const std::lock_guard lock(place_.mutex_);
        place_.free_.push_back(number_);
      }
      place_.freed_.notify_one();
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    [[nodiscard]] std::uint32_t number() const { return number_; }

   private:
    ClientWorkplace& place_;
    std::uint32_t number_ = 0;
  };

  // Whatever the asker sends: a solver trusts its task.
  [[nodiscard]] bool fits(const TrainTask& task) const {
    const Network& network = federation_->network();
    const double epochs = task.epochs.value_or(1);
    return task.round > 0 && task.model.size() == network.size() &&
           (task.broadcast.empty() || task.broadcast.size() == network.parameters()) && epochs >= 0 &&
           epochs <= kMostEpochs;
  }
  [[nodiscard]] bool knows(ClientId client) const { return client.value < data_->clients(); }
  [[nodiscard]] std::mutex& lock_of(ClientId client) { return locks_[client.value % kClientLocks]; }

  std::shared_ptr<const FederatedData> data_;
  std::shared_ptr<SumMembers> members_;
  std::unique_ptr<LocalFederation> federation_;
  StateVersions versions_;
  SealedChains chains_;
  LastAnswers answered_;
  std::array<std::mutex, kClientLocks> locks_;
  std::mutex mutex_;  // of free_
  std::condition_variable freed_;
  std::vector<std::uint32_t> free_;
};

}  // namespace

Result<std::shared_ptr<Workplace>> make_client_workplace(const Recipe& recipe,
                                                         std::shared_ptr<const FederatedData> data,
                                                         std::uint32_t threads, const std::filesystem::path& states,
                                                         ClientSecrecy secrecy) {
  MUSTER_ASSIGN(std::unique_ptr<LocalFederation> federation,
                make_simulated_federation(recipe, threads, nullptr, *data, {}, secrecy.sums));
  return std::shared_ptr<Workplace>(
      std::make_shared<ClientWorkplace>(std::move(data), std::move(federation), states, std::move(secrecy)));
}

}  // namespace muster
