#include "ranks/rank_server.h"

#include <utility>

#include "ranks/patience.h"

namespace muster {
namespace {

// Numbers of one block that rank 0 may give to all: no model is larger.
constexpr std::uint64_t kMostGiven = std::uint64_t{1} << 36;

Status do_unit(const ServedCall::Unit& unit, std::uint32_t worker, ParcelWriter& answer) {
  try {
    return unit(worker, answer);
  } catch (const std::bad_alloc&) {
    return failure("out of memory");
  }
}

}  // namespace

RankServer::RankServer(Ranks& ranks, LocalFederation& federation) : ranks_(ranks), federation_(federation) {
  for (std::uint32_t worker = 0; worker < federation.threads(); ++worker) {
    crew_.emplace_back([this, worker] { work(worker); });
  }
}

RankServer::~RankServer() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
    queue_.clear();
  }
  asked_.notify_all();
  for (std::thread& one : crew_) one.join();
}

void RankServer::work(std::uint32_t worker) {
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [&] { return quit_ || !queue_.empty(); });
    if (quit_) return;
    const Asked asked = std::move(queue_.front());
    queue_.pop_front();
    ++busy_;
    lock.unlock();
    ParcelWriter answer;
    answer.put(Message::kAnswer);
    answer.put(asked.call);
    answer.put(asked.number);
    const Status status = do_unit(asked.unit, worker, answer);
    Parcel parcel = status ? std::move(answer).finish() : failed_parcel(status.error());
    lock.lock();
    --busy_;
    answers_.push_back(std::move(parcel));
    if (runs_low()) answered_.notify_one();
  }
}

Status RankServer::begin_call(ParcelReader& in) {
  const auto id = in.take<std::uint64_t>();
  const auto kind = in.take_below<CallKind>(kCallKinds);
  struct Given {
    std::uint64_t number = 0;
    std::uint64_t size = 0;
  };
  std::vector<Given> given(in.take_count(sizeof(Given)));
  for (Given& model : given) {
    model.number = in.take<std::uint64_t>();
    model.size = in.take_below<std::uint64_t>(kMostGiven);
  }
  if (in.failed()) return in.finish("a call");
  for (const Given& model : given) {
    std::vector<float> values(model.size);
    ranks_.take_all(values);
    models_.keep(model.number, std::move(values));
  }
  std::unique_ptr<ServedCall> call;
  switch (kind) {
    case CallKind::kTrain: {
      MUSTER_ASSIGN(call, serve_train(federation_, models_, in));
      break;
    }
    case CallKind::kProfile: {
      MUSTER_ASSIGN(call, serve_profile(federation_, models_, in));
      break;
    }
    case CallKind::kEvaluate: {
      MUSTER_ASSIGN(call, serve_evaluate(federation_, in));
      break;
    }
  }
  calls_[id] = std::move(call);
  return {};
}

Status RankServer::take_unit(ParcelReader& in) {
  const auto call = in.take<std::uint64_t>();
  const auto number = in.take<std::uint32_t>();
  const auto known = calls_.find(call);
  if (known == calls_.end()) return failure("a unit of a call that was not announced");
  MUSTER_ASSIGN(ServedCall::Unit unit, known->second->read(models_, in));
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({call, number, known->second, std::move(unit)});
  }
  asked_.notify_one();
  return {};
}

bool RankServer::hear(Parcel parcel) {
  ParcelReader in(std::move(parcel));
  const auto message = in.take_below<Message>(kMessages);
  if (!in.failed() && message == Message::kOver) return false;
  Status status;
  if (!in.failed() && message == Message::kCall) {
    status = begin_call(in);
  } else if (!in.failed() && message == Message::kUnit) {
    status = take_unit(in);
  } else if (!in.failed() && message == Message::kData) {
    // Of a run that ended before it began.
  } else if (!in.failed() && message == Message::kEndCalls) {
    calls_.clear();
    models_.forget();
  } else {
    status = failure("rank 0 said something that is not understood");
  }
  if (!status) ranks_.send(0, failed_parcel(status.error()));
  return true;
}

bool RankServer::send_answers() {
  std::deque<Parcel> answers;
  {
    const std::lock_guard lock(mutex_);
    answers.swap(answers_);
  }
  for (Parcel& answer : answers) ranks_.send(0, std::move(answer));
  return !answers.empty();
}

Patience::Crew RankServer::crew_state() {
  const std::lock_guard lock(mutex_);
  if (!queue_.empty()) return Patience::Crew::kFed;
  return busy_ > 0 ? Patience::Crew::kBusy : Patience::Crew::kIdle;
}

void RankServer::serve() {
  Patience patience;
  while (true) {
    bool moved = false;
    while (std::optional<Ranks::Arrived> arrived = ranks_.receive()) {
      if (!hear(std::move(arrived->parcel))) return;
      moved = true;
    }
    moved = send_answers() || moved;
    if (moved) {
      patience.moved();
      continue;
    }
    const std::chrono::microseconds nap = patience.next(ranks_, crew_state());
    std::unique_lock lock(mutex_);
    const auto urgent = [&] { return !answers_.empty() && runs_low(); };
    answered_.wait_for(lock, nap, urgent);
  }
}

}  // namespace muster
