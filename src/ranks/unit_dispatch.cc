#include "ranks/unit_dispatch.h"

#include <algorithm>
#include <numeric>

#include "base/stopwatch.h"

namespace muster {
namespace {

// Answers that may be in memory at a time: of small models as many as there are, of large ones as on threads.
constexpr std::size_t kAnswersBytes = std::size_t{256} << 20;

std::size_t window_of(const RankCall& call, std::size_t threads) {
  const std::size_t least = 2 * threads + 2;
  return std::max(least, kAnswersBytes / std::max<std::size_t>(1, call.answer_bytes()));
}

}  // namespace

UnitDispatch::UnitDispatch(Ranks& ranks, std::vector<std::uint32_t> threads)
    : ranks_(ranks),
      threads_(std::move(threads)),
      all_threads_(std::accumulate(threads_.begin(), threads_.end(), std::size_t{0})),
      models_(ranks.size()),
      outstanding_(ranks.size(), 0) {
  for (std::uint32_t worker = 0; worker < threads_[0]; ++worker) {
    crew_.emplace_back([this, worker] { work(worker); });
  }
}

UnitDispatch::~UnitDispatch() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  for (std::thread& one : crew_) one.join();
}

std::optional<UnitDispatch::Picked> UnitDispatch::pick() {
  for (Active& active : active_) {
    if (const auto unit = active.schedule.next()) return Picked{&active, *unit};
  }
  return std::nullopt;
}

void UnitDispatch::work(std::uint32_t worker) {
  std::unique_lock lock(mutex_);
  while (!quit_) {
    const std::optional<Picked> picked = open_ ? pick() : std::nullopt;
    if (!picked) {
      if (news_) {
        out_of_work_ = true;
        finished_.notify_one();
      }
      changed_.wait(lock);
      continue;
    }
    ++busy_;
    lock.unlock();
    Status status = picked->active->call->do_here(worker, picked->unit);
    lock.lock();
    --busy_;
    if (status) {
      picked->active->schedule.finish(picked->unit);
    } else {
      if (!error_) error_ = std::move(status).error();
      open_ = false;
    }
    news_ = true;
  }
}

std::size_t UnitDispatch::left_to_begin() const {
  std::size_t left = 0;
  for (const Active& active : active_) left += active.schedule.left_to_begin();
  return left;
}

// Tells the other ranks of a call, and gives them what all of them need.
void UnitDispatch::announce(Active& active) {
  std::vector<std::span<const float>> given;
  for (const std::span<const float> model : active.call->for_all()) {
    if (models_.give_to_all(models_.number(model))) given.push_back(model);
  }
  for (std::uint32_t rank = 1; rank < ranks_.size(); ++rank) {
    ParcelWriter out;
    out.put(Message::kCall);
    out.put(active.id);
    out.put(active.call->kind());
    out.put(std::uint64_t{given.size()});
    for (const std::span<const float> model : given) {
      out.put(models_.number(model));
      out.put(std::uint64_t{model.size()});
    }
    active.call->describe(models_, out);
    ranks_.send(rank, std::move(out).finish());
  }
  for (const std::span<const float> model : given) ranks_.give_all(model);
}

// Units that a thread of another rank has to go on with while answers travel. Large answers are fewer, and take long.
std::size_t UnitDispatch::ahead() const {
  constexpr std::size_t kAhead = 8;
  constexpr std::size_t kSmallAnswer = std::size_t{1} << 20;
  const bool small =
      std::ranges::all_of(active_, [](const Active& one) { return one.call->answer_bytes() <= kSmallAnswer; });
  return std::min(small ? kAhead : 1, left_to_begin() / all_threads_);
}

// A rank has as many units as threads, and some to go on with; at the end no more than its share of what is left.
Status UnitDispatch::hand_out() {
  for (std::uint32_t rank = 1; rank < ranks_.size(); ++rank) {
    while (true) {
      std::optional<Picked> picked;
      {
        const std::lock_guard lock(mutex_);
        if (outstanding_[rank] < threads_[rank] * (1 + ahead())) picked = pick();
      }
      if (!picked) break;
      ParcelWriter out;
      out.put(Message::kUnit);
      out.put(picked->active->id);
      out.put(picked->unit);
      MUSTER_TRY(picked->active->call->ask(rank, picked->unit, models_, out));
      picked->active->given[picked->unit] = rank;
      ++outstanding_[rank];
      ranks_.send(rank, std::move(out).finish());
    }
  }
  return {};
}

Status UnitDispatch::hear(Ranks::Arrived arrived) {
  ParcelReader in(std::move(arrived.parcel));
  const auto message = in.take_below<Message>(kMessages);
  if (!in.failed() && message == Message::kAnswer) return hear_answer(arrived.from, in);
  if (!in.failed() && message == Message::kFailed) return take_error(in);
  return failure("said something that was not asked for");
}

Status UnitDispatch::hear_answer(std::uint32_t from, ParcelReader& in) {
  const auto id = in.take<std::uint64_t>();
  const auto unit = in.take<std::uint32_t>();
  const auto active = std::ranges::find_if(active_, [&](const Active& one) { return one.id == id; });
  if (active == active_.end()) return {};  // of a call that failed
  const auto given = active->given.find(unit);
  if (given == active->given.end() || given->second != from) return failure("answered a unit that it was not given");
  active->given.erase(given);
  --outstanding_[from];
  MUSTER_TRY(active->call->answered(unit, in));
  const std::lock_guard lock(mutex_);
  active->schedule.finish(unit);
  return {};
}

// Whether anything was accepted.
bool UnitDispatch::accept() {
  const Stopwatch watch(times_ ? &times_->accept_s : nullptr);
  bool any = false;
  for (Active& active : active_) {
    while (true) {
      std::optional<std::uint32_t> unit;
      {
        const std::lock_guard lock(mutex_);
        unit = active.schedule.accept();
      }
      if (!unit) break;
      active.call->accept(*unit);
      any = true;
    }
  }
  if (any) changed_.notify_all();  // the window has moved
  return any;
}

Patience::Crew UnitDispatch::crew_state() const {
  bool fed = left_to_begin() > 0;
  for (std::uint32_t rank = 1; rank < ranks_.size(); ++rank) fed = fed && outstanding_[rank] >= 2 * threads_[rank];
  if (fed) return Patience::Crew::kFed;
  return busy_ > 0 ? Patience::Crew::kBusy : Patience::Crew::kIdle;
}

Status UnitDispatch::drive() {
  Patience patience;
  while (true) {
    bool moved = false;
    while (std::optional<Ranks::Arrived> arrived = ranks_.receive()) {
      const std::uint32_t from = arrived->from;
      if (Status status = hear(std::move(*arrived)); !status)
        return std::move(status).error().within(ranks_.name(from));
      MUSTER_TRY(hand_out());
      moved = true;
    }
    moved = accept() || moved;
    MUSTER_TRY(hand_out());
    if (const auto gone = ranks_.lost()) return lost_rank(ranks_, *gone);
    Patience::Crew crew;
    {
      const std::lock_guard lock(mutex_);
      if (error_) return std::move(*error_);
      if (std::ranges::all_of(active_, [](const Active& one) { return one.schedule.done(); })) return {};
      moved = std::exchange(news_, false) || moved;
      out_of_work_ = false;
      crew = crew_state();
    }
    if (moved) {
      patience.moved();
      continue;
    }
    const std::chrono::microseconds nap = patience.next(ranks_, crew);
    std::unique_lock lock(mutex_);
    // Whoever finishes a unit and finds another goes on with it, and is heard of after the nap.
    finished_.wait_for(lock, nap, [&] { return out_of_work_; });
  }
}

Status UnitDispatch::run(RankCall& call, RankCall* meanwhile) {
  const Stopwatch watch(times_ ? &times_->calls_s : nullptr);
  if (const auto gone = ranks_.lost()) return lost_rank(ranks_, *gone);
  {
    const std::lock_guard lock(mutex_);
    active_.clear();
    for (RankCall* const one : {&call, meanwhile}) {
      if (!one) continue;
      active_.push_back(
          {.call = one, .id = ++last_id_, .schedule = UnitSchedule(one->work(), window_of(*one, all_threads_))});
    }
    error_.reset();
    open_ = true;
  }
  changed_.notify_all();
  for (Active& active : active_) announce(active);
  Status outcome = drive();
  {
    std::unique_lock lock(mutex_);
    open_ = false;
    finished_.wait(lock, [&] { return busy_ == 0; });
    active_.clear();
    error_.reset();
  }
  for (std::uint32_t rank = 1; rank < ranks_.size(); ++rank) {
    ParcelWriter out;
    out.put(Message::kEndCalls);
    ranks_.send(rank, std::move(out).finish());
  }
  models_.forget();
  return outcome;
}

}  // namespace muster
