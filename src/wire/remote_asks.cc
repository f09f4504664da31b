// What is asked: asks that wait for their answer, are sent again to whoever comes back, and get one verdict each.
#include <algorithm>
#include <utility>

#include "wire/remote_peer.h"

namespace muster {
namespace {

constexpr const char* kLateReason = "the round did not wait for it any longer";
constexpr std::uint64_t kMostReplyBytes = 4 << 20;  // of the frame itself

v1::Frame verdict(const v1::TaskId& id, bool used, std::string reason = "") {
  v1::Frame frame;
  *frame.mutable_verdict()->mutable_id() = id;
  frame.mutable_verdict()->set_used(used);
  frame.mutable_verdict()->set_reason(std::move(reason));
  return frame;
}

bool same(const v1::TaskId& a, const v1::TaskId& b) {
  return a.run() == b.run() && a.incarnation() == b.incarnation() && a.number() == b.number() &&
         a.round() == b.round() && a.group() == b.group() && a.client() == b.client() && a.part() == b.part();
}

}  // namespace

RemoteClients::Vector RemoteClients::share(std::span<const float> values) {
  return numbers_.make({values.begin(), values.end()});
}

void RemoteClients::end_sharing(const Vector& vector) {
  if (!vector) return;
  v1::Frame frame;
  frame.mutable_forget()->add_vectors(vector->number);
  const std::lock_guard lock(mutex_);
  for (const auto& peer : peers_) {
    if (peer->sent_.erase(vector->number) > 0) peer->channel_->send({frame});
  }
}

// With the lock held.
void RemoteClients::send(Peer& peer, Pending& pending) {
  if (pending.sent_to == &peer) return;
  pending.sent_to = &peer;
  for (const Vector& vector : pending.vectors) {
    if (!peer.sent_.insert(vector->number).second) continue;
    moved_.down += vector->values.size() * sizeof(float);
    peer.channel_->send({{}, vector});
  }
  v1::Frame frame;
  *frame.mutable_ask() = pending.ask;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(pending.deadline - std::chrono::steady_clock::now());
  frame.mutable_ask()->set_within_ms(static_cast<std::uint32_t>(std::clamp<std::int64_t>(left.count(), 1, INT32_MAX)));
  peer.channel_->send({std::move(frame)});
  peer.allowance_.earn(answer_to_an_ask());
}

// As much as its answer may take, twice: an answer that was on its way when the line broke comes again.
Allowance::Amount RemoteClients::answer_to_an_ask() const {
  const std::uint64_t vector_bytes = run_->most_values * sizeof(float);
  const std::uint64_t chunks = run_->most_values / kChunkValues + 1;
  return {.frames = 2.0 * static_cast<double>(kReplyVectors * chunks + 1),
          .bytes = 2.0 * static_cast<double>(kReplyVectors * (vector_bytes + chunks * 64) + kMostReplyBytes)};
}

DropReason RemoteClients::why_none(Outcome outcome) {
  if (outcome == Outcome::kNotNeeded) return DropReason::kNotNeeded;
  return outcome == Outcome::kLate ? DropReason::kStraggler : DropReason::kUnreachable;
}

RemoteClients::Outcome RemoteClients::ask(v1::Ask ask, std::vector<Vector> vectors, WireTime deadline, const Take& take,
                                          const EnoughPtr& enough) {
  const auto pending = std::make_shared<Pending>();
  pending->enough = enough;
  std::erase(vectors, nullptr);
  pending->vectors = std::move(vectors);
  pending->deadline = deadline;
  std::unique_lock lock(mutex_);
  MUSTER_CHECK(run_.has_value(), "an ask before the run has begun");
  if (enough && enough->reached()) return Outcome::kNotNeeded;
  const std::uint64_t number = ++last_ask_;
  last_round_ = ask.id().round();
  v1::TaskId& id = *ask.mutable_id();
  id.set_run(run_->welcome.run());
  id.set_incarnation(run_->welcome.incarnation());
  id.set_number(number);
  pending->ask = std::move(ask);
  pending_[number] = pending;
  if (events_.log) events_.log->asked(pending->ask);
  const auto route = route_.find(pending->ask.id().client());
  if (route != route_.end()) send(*route->second, *pending);
  pending->answered.wait_until(
      lock, deadline, [&] { return pending->done || pending->lost || finished_ || !pending->unwanted.empty(); });
  pending_.erase(number);
  if (!pending->done) {
    const bool late = pending->unwanted.empty();
    const Outcome outcome = !late ? Outcome::kNotNeeded : pending->sent_to ? Outcome::kLate : Outcome::kUnreachable;
    if (events_.log) events_.log->missed(pending->ask, name(why_none(outcome)));
    if (!pending->sent_to) return outcome;
    // So that the client stops, and undoes what it may have done.
    pending->sent_to->channel_->send({verdict(pending->ask.id(), false, late ? kLateReason : pending->unwanted)});
    return late ? Outcome::kLate : Outcome::kNotNeeded;
  }
  lock.unlock();
  const TaskAnswer answer = take(pending->reply, *pending->answer);
  if (events_.log) events_.log->answered(pending->ask, pending->reply.id(), answer);
  // Who says that there is nothing to be used has been taken at its word.
  const v1::Reply& reply = pending->reply;
  const bool nothing = reply.has_dropped() || (reply.has_group() && reply.group().members().empty());
  pending->from->channel_->send({verdict(reply.id(), answer.used || nothing, std::string(answer.reason))});
  return Outcome::kAnswered;
}

void RemoteClients::count(const EnoughPtr& enough) {
  if (!enough) return;
  const std::lock_guard lock(mutex_);
  ++enough->came;
  if (!enough->reached()) return;
  for (const auto& [number, pending] : pending_) {
    if (pending->enough != enough) continue;
    pending->unwanted = "enough others had answered";
    pending->answered.notify_all();
  }
}

void RemoteClients::withdraw(std::uint32_t round, GroupId group, std::optional<ClientId> client) {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, pending] : pending_) {
    const v1::TaskId& id = pending->ask.id();
    if ((!pending->ask.has_train() && !pending->ask.has_sum()) || id.round() != round || id.group() != group.value)
      continue;
    if (client && id.client() != client->value) continue;
    pending->unwanted = kLateReason;
    pending->answered.notify_all();
  }
}

void RemoteClients::take_reply(const std::shared_ptr<Peer>& peer, const v1::Reply& reply) {
  std::unique_lock lock(mutex_);
  if (peer->gone_) return;  // it was refused, and what it still says counts for nothing
  if (!peer->reader_ || !run_) {
    lock.unlock();
    return peer->refuse("a reply to nothing", false);
  }
  // The vectors that came before it are its own, whether it is used or not.
  ChunkReader vectors = std::exchange(*peer->reader_, ChunkReader(reply_limits()));
  const v1::TaskId& id = reply.id();
  const auto refuse = [&](const char* reason) {
    if (events_.log) events_.log->refused(peer->name_, id, reason);
    peer->channel_->send({verdict(id, false, reason)});
  };
  if (id.run() != run_->welcome.run() || id.incarnation() != run_->welcome.incarnation()) {
    return refuse("the cloud has started again since it was asked");
  }
  const auto found = pending_.find(id.number());
  if (found == pending_.end() || !found->second->unwanted.empty()) return refuse(kLateReason);
  if (found->second->done) return refuse("it has been answered already");
  Pending& pending = *found->second;
  // An edge may have lost the client since it answered: what counts is that the edge was asked.
  const bool its_own = pending.sent_to == peer.get() || peer->clients_.contains(id.client());
  if (!same(pending.ask.id(), id) || !its_own) {
    if (events_.log) events_.log->refused(peer->name_, id, "it is for a task that is not its own");
    lock.unlock();
    return peer->refuse(fmt::format("a reply for a task that is not its own ({})", to_text(id)), false);
  }
  pending.reply = reply;
  pending.answer = std::move(vectors);
  pending.from = peer;
  pending.done = true;
  pending.answered.notify_all();
}

}  // namespace muster
