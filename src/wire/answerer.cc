#include "wire/answerer.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/hash.h"

namespace muster {
namespace {

constexpr std::size_t kMostAlso = 8;  // who wait for one piece of work

// Everything that an answer depends on: equal numbers mean equal answers. Not the number of the ask, nor how the
// vectors are numbered; `digests` are of their values, 0 of none.
std::uint64_t content_of(const v1::Ask& ask, std::span<const std::uint64_t> digests) {
  v1::Ask bare = ask;
  bare.clear_within_ms();
  bare.mutable_id()->clear_number();
  bare.mutable_id()->clear_incarnation();
  if (bare.has_train()) {
    bare.mutable_train()->clear_model();
    bare.mutable_train()->clear_broadcast();
    bare.mutable_train()->mutable_memory()->clear_keep();
  }
  if (bare.has_sum()) {
    bare.mutable_sum()->mutable_said()->clear_vector();
    if (bare.sum().has_train()) {
      bare.mutable_sum()->mutable_train()->clear_model();
      bare.mutable_sum()->mutable_train()->clear_broadcast();
      bare.mutable_sum()->mutable_train()->mutable_memory()->clear_keep();
    }
  }
  if (bare.has_profile()) {
    bare.mutable_profile()->clear_models();
    if (bare.profile().has_memory()) bare.mutable_profile()->mutable_memory()->clear_keep();
  }
  if (bare.has_evaluate()) {
    bare.mutable_evaluate()->clear_model();
    if (bare.evaluate().has_memory()) bare.mutable_evaluate()->mutable_memory()->clear_keep();
  }
  if (bare.has_group()) {
    bare.mutable_group()->clear_model();
    bare.mutable_group()->clear_broadcast();
    bare.mutable_group()->clear_attempt();  // one that is under way is gone on with
    for (v1::Memory& memory : *bare.mutable_group()->mutable_memories()) memory.clear_keep();
  }
  Hasher hasher;
  hasher.add(bare.SerializeAsString());
  for (const std::uint64_t digest : digests) hasher.add(digest);
  return hasher.digest();
}

// The vectors that an ask names, in a fixed order; 0 is none.
void add_named(const v1::Ask& ask, std::vector<std::uint64_t>& numbers) {
  if (ask.has_train()) numbers.insert(numbers.end(), {ask.train().model(), ask.train().broadcast()});
  if (ask.has_group()) numbers.insert(numbers.end(), {ask.group().model(), ask.group().broadcast()});
  if (ask.has_sum()) {
    const v1::Sum& sum = ask.sum();
    numbers.insert(numbers.end(), {sum.said().vector(), sum.train().model(), sum.train().broadcast()});
  }
  if (ask.has_evaluate()) numbers.push_back(ask.evaluate().model());
  if (ask.has_profile()) {
    for (const std::uint64_t number : ask.profile().models()) numbers.push_back(number);
  }
}

template <typename Work>
std::optional<Memory> told_memory(const Work& work) {
  return work.has_memory() ? std::optional(take_memory(work.memory())) : std::nullopt;
}

std::span<const float> values_of(const std::shared_ptr<const WireVector>& vector) {
  return vector ? std::span<const float>(vector->values) : std::span<const float>();
}

TrainTask task_of(const v1::TaskId& id, const v1::Train& train, const std::shared_ptr<const WireVector>& model,
                  const std::shared_ptr<const WireVector>& broadcast) {
  return {.client = {id.client()},
          .round = id.round(),
          .part = id.part(),
          .model = values_of(model),
          .broadcast = values_of(broadcast),
          .own_model = train.own_model(),
          .epochs = train.has_epochs() ? std::optional(train.epochs()) : std::nullopt,
          .measure = train.measure()};
}

}  // namespace

// An ask, from when it came until its verdict.
struct Answerer::Job {
  std::uint64_t content = 0;
  v1::Ask ask;  // the latest that asked for this
  // Others that wait for the same: a cloud that lost an edge asks for itself, through that edge, what the edge is still
  // asking for its own group.
  std::vector<v1::TaskId> also = {};
  std::vector<std::shared_ptr<const WireVector>> vectors;
  std::chrono::steady_clock::time_point came;
  std::optional<OutgoingReply> kept;  // once it is done
  bool unwanted = false;              // its verdict came before it was done
};

class Answerer::User final : public ChannelUser {
 public:
  User(Answerer& owner, const ChunkReader::Limits& limits) : owner_(&owner), reader_(limits) {}

  void received(v1::Frame frame) override { owner_->receive(*this, std::move(frame)); }
  void closed(const std::string& why) override {
    const std::lock_guard lock(owner_->mutex_);
    if (owner_->user_ != this) return;
    owner_->user_ = nullptr;
    owner_->channel_.reset();
    owner_->closed_ = true;
    if (!std::exchange(owner_->told_why_, false)) owner_->why_closed_ = told_text(why);
    owner_->changed_.notify_all();
  }

  // Of a whole vector that the reader has. Many asks name one model: its values are hashed once.
  std::uint64_t digest_of(const WireVector& vector) {
    const auto [known, fresh] = digests_.try_emplace(vector.number);
    if (fresh) known->second = hash_bytes(vector.values.data(), vector.values.size() * sizeof(float));
    return known->second;
  }
  void forget(std::uint64_t number) {
    reader_.forget(number);
    digests_.erase(number);
  }

  Answerer* owner_;
  ChunkReader reader_;
  std::map<std::uint64_t, std::uint64_t> digests_;  // by the vector's number
};

Answerer::Answerer(Options options) : options_(std::move(options)) {
  for (std::uint32_t i = 0; i < options_.threads; ++i) crew_.emplace_back([this] { work(); });
}

Answerer::~Answerer() {
  std::shared_ptr<Channel> channel;
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
    channel = channel_;
  }
  changed_.notify_all();
  if (channel) channel->close();
  for (std::thread& one : crew_) one.join();
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(10), [&] { return user_ == nullptr; });
}

std::shared_ptr<ChannelUser> Answerer::attach(std::shared_ptr<Channel> channel) {
  auto user = std::make_shared<User>(*this, options_.limits);
  const std::lock_guard lock(mutex_);
  channel_ = std::move(channel);
  user_ = user.get();
  closed_ = false;
  welcomed_ = false;
  told_why_ = false;
  news_.clear();  // what the channel before had to say
  v1::Frame frame;
  *frame.mutable_hello() = options_.hello;
  for (const v1::Client& client : behind_) {
    if (!client.has_name()) *frame.mutable_hello()->add_clients() = client;
  }
  channel_->send({std::move(frame)});
  for (const v1::Client& client : behind_) {
    if (client.has_name()) tell_of(client);
  }
  return user;
}

// With the lock held. A sheet may be long: each goes in a frame of its own.
void Answerer::tell_of(const v1::Client& client) {
  v1::Frame frame;
  *frame.mutable_presence()->add_came() = client;
  channel_->send({std::move(frame)});
}

void Answerer::presence(const std::vector<v1::Client>& came, const std::vector<v1::Client>& went) {
  const std::lock_guard lock(mutex_);
  v1::Frame frame;
  for (const v1::Client& client : went) {
    std::erase_if(behind_, [&](const v1::Client& one) {
      return one.who_case() == client.who_case() && one.simulated() == client.simulated() &&
             one.name() == client.name();
    });
    v1::Client& told = *frame.mutable_presence()->add_went();
    told = client;
    told.clear_data();
  }
  for (const v1::Client& client : came) {
    behind_.push_back(client);
    if (!client.has_name()) *frame.mutable_presence()->add_came() = client;
  }
  if (!channel_) return;
  if (frame.has_presence()) channel_->send({std::move(frame)});
  for (const v1::Client& client : came) {
    if (client.has_name()) tell_of(client);
  }
}

void Answerer::say(const WireNote& note) const {
  if (!options_.say) return;
  WireNote shown = note;
  shown.line = told_text(note.line);
  options_.say(shown);
}

bool Answerer::wait_closed(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return closed_; });
  return closed_;
}

std::optional<Answerer::End> Answerer::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

bool Answerer::welcomed() const {
  const std::lock_guard lock(mutex_);
  return welcomed_;
}

std::string Answerer::why_closed() const {
  const std::lock_guard lock(mutex_);
  return why_closed_;
}

void Answerer::stop(const End& end) {
  if (!end_) end_ = End{end.kind, told_text(end.text)};
  if (channel_) channel_->close();
  changed_.notify_all();
}

void Answerer::refuse(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (channel_) {
    v1::Frame frame;
    frame.mutable_refusal()->set_reason(reason);
    channel_->send({std::move(frame)});
  }
  stop({End::Kind::kFailed, reason});
}

void Answerer::receive(User& user, v1::Frame frame) {
  switch (frame.body_case()) {
    case v1::Frame::kWelcome:
    case v1::Frame::kHowToRead:
    case v1::Frame::kAdmission: {
      const std::lock_guard lock(mutex_);
      if (user_ != &user) return;
      if (frame.has_welcome()) {
        welcomed_ = true;
        std::erase_if(news_, [](const v1::Frame& one) { return one.has_welcome(); });
      }
      news_.push_back(std::move(frame));
      changed_.notify_all();
      return;
    }
    case v1::Frame::kChunk:
      if (const Status status = user.reader_.add(frame.chunk()); !status) {
        const std::lock_guard lock(mutex_);
        say({.line = status.error().message});
        if (channel_) channel_->close();  // and dial again
      }
      return;
    case v1::Frame::kAsk:
      return take_ask(user, frame.ask());
    case v1::Frame::kVerdict:
      return take_verdict(frame.verdict());
    case v1::Frame::kForget:
      for (const std::uint64_t number : frame.forget().vectors()) user.forget(number);
      return;
    case v1::Frame::kRefusal: {
      const std::lock_guard lock(mutex_);
      why_closed_ = told_text(frame.refusal().reason());
      told_why_ = true;
      if (frame.refusal().again()) {
        if (channel_) channel_->close();
        return;
      }
      return stop({End::Kind::kRefused, why_closed_});
    }
    case v1::Frame::kFinished: {
      const std::lock_guard lock(mutex_);
      return stop({End::Kind::kFinished, frame.finished().signature()});
    }
    default:
      say({.line = "a frame that is not expected here"});
  }
}

void Answerer::take_ask(User& user, const v1::Ask& ask) {
  auto job = std::make_shared<Job>();
  job->ask = ask;
  job->came = std::chrono::steady_clock::now();
  bool whole = ask.work_case() != v1::Ask::WORK_NOT_SET;
  std::vector<std::uint64_t> numbers;
  add_named(ask, numbers);
  for (const std::uint64_t number : numbers) {
    job->vectors.push_back(number == 0 ? nullptr : user.reader_.find(number));
    whole = whole && (number == 0 || job->vectors.back());
  }
  if (whole && ask.has_group()) {
    const v1::TrainGroup& group = ask.group();
    whole = group.members_size() > 0 && group.memories_size() == group.members_size() &&
            (group.epochs_size() == 0 || group.epochs_size() == group.members_size()) &&
            (group.names_size() == 0 || group.names_size() == group.members_size());
  }
  whole = whole && (!ask.has_sum() || ask.sum().phase() < static_cast<std::uint32_t>(SumPhase::kDone));
  if (!whole) {
    v1::Frame frame;
    *frame.mutable_reply()->mutable_id() = ask.id();
    frame.mutable_reply()->mutable_dropped()->set_client(ask.id().client());
    frame.mutable_reply()->mutable_dropped()->set_reason(v1::DROP_REASON_MALFORMED);
    const std::lock_guard lock(mutex_);
    if (channel_) channel_->send({std::move(frame)});
    return;
  }
  std::vector<std::uint64_t> digests;
  for (const auto& vector : job->vectors) digests.push_back(vector ? user.digest_of(*vector) : 0);
  job->content = content_of(ask, digests);
  const std::lock_guard lock(mutex_);
  const auto known = jobs_.find(job->content);
  if (known != jobs_.end() && !known->second->unwanted) {
    Job& same = *known->second;
    const v1::TaskId before = same.ask.id();
    same.ask = ask;
    std::erase_if(same.also, [&](const v1::TaskId& id) {
      return id.incarnation() != ask.id().incarnation() || id.number() == ask.id().number();
    });
    const bool another = before.incarnation() == ask.id().incarnation() && before.number() != ask.id().number();
    if (another && !same.kept && same.also.size() < kMostAlso) same.also.push_back(before);
    if (same.kept) {
      *same.kept->reply.mutable_id() = ask.id();
      send(*same.kept);
    }
    return;
  }
  // Something new for a client: what is kept of its training, or its key for a chain, is of no use any more.
  if (ask.has_train() || ask.has_group() || ask.has_sum() || ask.has_chain_key()) {
    std::erase_if(jobs_, [&](const auto& entry) {
      const Job& old = *entry.second;
      return old.kept && old.ask.work_case() == ask.work_case() && old.ask.id().client() == ask.id().client();
    });
  }
  jobs_[job->content] = job;
  queue_.push_back(std::move(job));
  changed_.notify_all();
}

void Answerer::take_verdict(const v1::Verdict& verdict) {
  std::unique_lock lock(mutex_);
  for (auto entry = jobs_.begin(); entry != jobs_.end(); ++entry) {
    Job& job = *entry->second;
    const auto is_meant = [&](const v1::TaskId& one) {
      return one.number() == verdict.id().number() && one.incarnation() == verdict.id().incarnation();
    };
    if (std::erase_if(job.also, is_meant) > 0) return;  // whoever asked last waits still
    const v1::TaskId& id = job.ask.id();
    if (!is_meant(id)) continue;
    if (!job.kept && !job.also.empty()) {
      *job.ask.mutable_id() = job.also.back();
      job.also.pop_back();
      return;
    }
    if (!verdict.used()) {
      say({.line = fmt::format("{}: its work was not used: {}", to_text(verdict.id()), verdict.reason()),
           .client = job.ask.has_group() ? "" : fmt::format("client {}", id.client()),
           .clients = job.ask.has_group() ? static_cast<std::size_t>(job.ask.group().members_size()) : 1});
    }
    if (job.kept) {
      jobs_.erase(entry);
      return;
    }
    const auto waiting = std::ranges::find(queue_, entry->second);
    if (waiting != queue_.end()) {
      queue_.erase(waiting);
      jobs_.erase(entry);
      return;
    }
    job.unwanted = true;
    const std::shared_ptr<Workplace> place = workplace_;
    const bool trains = job.ask.has_train() || job.ask.has_group() || job.ask.has_sum();
    const auto client = job.ask.has_group() ? std::nullopt : std::optional(ClientId{id.client()});
    const std::uint32_t round = id.round();
    const GroupId group{id.group()};
    lock.unlock();  // an edge has clients of its own to tell
    if (place && trains) place->withdraw(round, group, client);
    return;
  }
}

// The vectors of a reply come right before it.
void Answerer::send(const OutgoingReply& reply) {
  if (!channel_) return;
  for (const auto& vector : reply.vectors) channel_->send({{}, vector});
  v1::Frame frame;
  *frame.mutable_reply() = reply.reply;
  channel_->send({std::move(frame)});
}

void Answerer::prepare(const v1::Welcome& welcome) {
  Result<std::shared_ptr<Workplace>> made = [&]() -> Result<std::shared_ptr<Workplace>> {
    try {
      return options_.begin(welcome);
    } catch (const std::bad_alloc&) {
      return failure("out of memory");
    }
  }();
  if (!made) return refuse(made.error().message);
  // The one before goes without the lock: an edge's has clients of its own to tell.
  std::shared_ptr<Workplace> place = std::move(made).value();
  const std::lock_guard lock(mutex_);
  workplace_.swap(place);
}

bool Answerer::has_work() const {
  return !preparing_ && (!news_.empty() || (workplace_ && !queue_.empty()));
}

bool Answerer::work_on() {
  std::unique_lock lock(mutex_);
  if (!has_work()) return false;
  do_next(lock);
  return true;
}

void Answerer::heed(const v1::Frame& news) {
  if (news.has_welcome()) return prepare(news.welcome());
  if (options_.pass_on) return options_.pass_on(news);
  if (news.has_how_to_read()) tell(news.how_to_read());
}

void Answerer::tell(const v1::HowToRead& how) {
  Result<v1::Hello> hello = [&]() -> Result<v1::Hello> {
    if (!options_.tell) return failure("the cloud asks for data of one's own, and there are none here");
    try {
      return options_.tell(how);
    } catch (const std::bad_alloc&) {
      return failure("out of memory");
    }
  }();
  if (!hello) return refuse(hello.error().message);
  v1::Frame frame;
  *frame.mutable_hello() = std::move(hello).value();
  const std::lock_guard lock(mutex_);
  if (channel_) channel_->send({std::move(frame)});
}

void Answerer::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return quit_ || has_work(); });
    if (quit_) return;
    do_next(lock);
  }
}

void Answerer::do_next(std::unique_lock<std::mutex>& lock) {
  if (!news_.empty()) {
    preparing_ = true;
    const v1::Frame news = std::move(news_.front());
    news_.pop_front();
    lock.unlock();
    heed(news);
    lock.lock();
    preparing_ = false;
    changed_.notify_all();
    return;
  }
  const std::shared_ptr<Job> job = std::move(queue_.front());
  queue_.pop_front();
  std::shared_ptr<Workplace> workplace = workplace_;
  lock.unlock();
  Result<OutgoingReply> reply = answer(*job, *workplace);
  workplace.reset();
  if (!reply) {
    refuse(reply.error().message);
    lock.lock();
    return;
  }
  lock.lock();
  if (job->unwanted) {
    const auto known = jobs_.find(job->content);
    if (known != jobs_.end() && known->second == job) jobs_.erase(known);
    return;
  }
  for (const v1::TaskId& id : std::exchange(job->also, {})) {
    *reply->reply.mutable_id() = id;
    send(*reply);
  }
  *reply->reply.mutable_id() = job->ask.id();
  send(*reply);
  job->kept = std::move(reply).value();
  job->vectors.clear();
}

Result<OutgoingReply> Answerer::answer(Job& job, Workplace& workplace) {
  const v1::Ask ask = [&] {
    const std::lock_guard lock(mutex_);
    return job.ask;
  }();
  const v1::TaskId& id = ask.id();
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - job.came);
  const std::chrono::milliseconds within =
      std::max(std::chrono::milliseconds(ask.within_ms()) - since, std::chrono::milliseconds(1));
  OutgoingReply out;
  try {
    switch (ask.work_case()) {
      case v1::Ask::kTrain: {
        const v1::Train& train = ask.train();
        const TrainTask task = task_of(id, train, job.vectors[0], job.vectors[1]);
        const std::optional<ChainVisit> visit =
            train.has_chain() ? take_chain_visit(train.chain()) : std::optional(ChainVisit());
        if (!visit) {
          put_answer(TrainAnswer{Dropped{task.client, DropReason::kMalformed}}, numbers_, out);
          break;
        }
        const Memory memory = take_memory(train.memory());
        MUSTER_ASSIGN(TrainAnswer told, train.has_chain()
                                            ? workplace.train_in_chain(task, {id.group()}, memory, *visit, within)
                                            : workplace.train(task, {id.group()}, memory, within));
        put_answer(std::move(told), numbers_, out);
        break;
      }
      case v1::Ask::kSum: {
        const v1::Sum& sum = ask.sum();
        std::optional<std::vector<std::byte>> said = bytes_of_values(values_of(job.vectors[0]), sum.said().size());
        if (!said) {
          put_answer(SummedAnswer{Dropped{{id.client()}, DropReason::kMalformed}}, numbers_, out);
          break;
        }
        MUSTER_ASSIGN(SummedAnswer told,
                      workplace.sum(static_cast<SumPhase>(sum.phase()),
                                    {.task = task_of(id, sum.train(), job.vectors[1], job.vectors[2]),
                                     .attempt = sum.attempt(),
                                     .message = std::move(*said)},
                                    {id.group()}, take_memory(sum.train().memory()), within));
        put_answer(std::move(told), numbers_, out);
        break;
      }
      case v1::Ask::kProfile: {
        const std::size_t width = job.vectors.empty() || !job.vectors[0] ? 0 : job.vectors[0]->values.size();
        std::vector<float> rows;
        bool even = true;
        for (const auto& vector : job.vectors) {
          even = even && vector && vector->values.size() == width;
          if (even) rows.insert(rows.end(), vector->values.begin(), vector->values.end());
        }
        if (!even) {
          put_answer(ProfileReply{Dropped{{id.client()}, DropReason::kMalformed}}, numbers_, out);
          break;
        }
        const ProfileTask task{.client = {id.client()},
                               .kind = ask.profile().kind(),
                               .round = ask.profile().as_of_round(),
                               .asked_in = id.round(),
                               .models = {rows, width}};
        MUSTER_ASSIGN(ProfileReply told, workplace.profile(task, told_memory(ask.profile()), within));
        put_answer(std::move(told), numbers_, out);
        break;
      }
      case v1::Ask::kEvaluate: {
        const v1::Evaluate& evaluate = ask.evaluate();
        const EvaluateTask task{.client = {id.client()},
                                .model = values_of(job.vectors[0]),
                                .round = id.round(),
                                .own_model = evaluate.own_model(),
                                .held_out = evaluate.validation() ? HeldOut::kValidation : HeldOut::kTest,
                                .details = {.predictions = evaluate.predictions(), .scores = evaluate.scores()}};
        MUSTER_ASSIGN(EvaluateReply told, workplace.evaluate(task, told_memory(evaluate), within));
        put_answer(std::move(told), numbers_, out);
        break;
      }
      case v1::Ask::kGroup: {
        const v1::TrainGroup& group = ask.group();
        std::vector<ClientId> members;
        for (const std::uint32_t member : group.members()) members.push_back({member});
        const std::vector<double> epochs(group.epochs().begin(), group.epochs().end());
        std::vector<Memory> memories;
        for (const v1::Memory& memory : group.memories()) memories.push_back(take_memory(memory));
        const std::span<const float> model = values_of(job.vectors[0]);
        const RoundCall call{.round = id.round(),
                             .models = {model},
                             .broadcast = values_of(job.vectors[1]),
                             .own_models = group.own_models(),
                             .measure = group.measure(),
                             .parameters = std::min<std::uint64_t>(group.parameters(), model.size())};
        const GroupTask task{.group = {id.group()},
                             .model = 0,
                             .members = members,
                             .epochs = epochs,
                             .enough = std::min(group.enough(), static_cast<std::uint32_t>(members.size()))};
        const std::vector<std::string> names(group.names().begin(), group.names().end());
        MUSTER_ASSIGN(GroupAnswer told, workplace.train_group(call, task, {memories, group.attempt(), names}, within));
        put_answer(std::move(told), numbers_, out);
        break;
      }
      case v1::Ask::kChainKey: {
        MUSTER_ASSIGN(ChainKeyReply told, workplace.chain_key({id.client()}, id.round(), {id.group()}, within));
        put_answer(std::move(told), out);
        break;
      }
      case v1::Ask::WORK_NOT_SET:
        break;
    }
  } catch (const std::bad_alloc&) {
    return failure("out of memory");
  }
  return out;
}

}  // namespace muster
