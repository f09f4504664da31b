#include "engine/rank_run.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/isa.h"
#include "base/own_memory.h"
#include "data/shared_data.h"
#include "engine/rank_sweep.h"
#include "engine/simulated_federation.h"
#include "ranks/messages.h"
#include "ranks/patience.h"
#include "ranks/rank_server.h"

namespace muster {
namespace {

// Whether the ranks of this machine have one copy of the data.
bool shares_data(const Ranks& ranks, const DataOptions& options) {
  return stores_samples(options) && ranks.neighbours().size() > 1;
}

// Moves the data to shared memory and tells the others on this machine where they are; null: nowhere. If that cannot be
// done they make their own; the answer then says why.
std::optional<std::string> share_with_neighbours(Ranks& ranks, std::uint64_t run, FederatedData* data) {
  std::optional<SharedPlace> place;
  std::optional<std::string> note;
  if (data) {
    const Result<std::shared_ptr<const SharedMemory>> memory = data->share();
    if (!memory) note = "every rank of this machine has a copy of the data: " + memory.error().message;
    if (memory && *memory) place = (*memory)->place();
  }
  for (const std::uint32_t other : ranks.neighbours()) {
    if (other == ranks.rank()) continue;
    ParcelWriter out;
    out.put(Message::kData);
    out.put(run);
    out.put(std::uint8_t{place.has_value()});
    out.put(place.value_or(SharedPlace{}));
    ranks.send(other, std::move(out).finish());
  }
  return note;
}

// What share_with_neighbours() said.
struct GivenData {
  std::uint64_t run = 0;
  std::optional<SharedPlace> place;
};

GivenData take_given(ParcelReader& in) {
  GivenData given{.run = in.take<std::uint64_t>()};
  const bool shared = in.take_flag();
  const auto place = in.take<SharedPlace>();
  if (shared && !in.failed()) given.place = place;
  return given;
}

// A run, as one of the ranks that serve it: begin(), then take_data() if the data come from another rank, and
// take_recipe(), in any order; then serve().
class ServedRun {
 public:
  explicit ServedRun(Ranks& ranks) : ranks_(ranks) {}

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] bool ready() const { return data_ && !recipe_.empty(); }
  [[nodiscard]] const RankMemory& memory() const { return memory_; }

  // Makes the data, unless another rank of this machine does.
  Status begin(ParcelReader& in) {
    number_ = in.take<std::uint64_t>();
    const auto threads = in.take<std::uint32_t>();
    const std::string isa = in.take_text();
    const std::string recipe = in.take_text();
    MUSTER_TRY(in.finish("a run"));
    MUSTER_TRY(use_isa_named(isa));
    MUSTER_ASSIGN(begun_, parse_recipe(recipe, "rank 0"));
    threads_ = rank_threads(ranks_, threads);
    const bool shares = shares_data(ranks_, begun_.data);
    if (shares && ranks_.neighbours().front() != ranks_.rank()) return {};
    MUSTER_TRY(make_data());
    if (shares) note_ = share_with_neighbours(ranks_, number_, data_.get()).value_or("");
    return {};
  }

  Status take_data(const GivenData& given) {
    if (!given.place) return make_data();
    Result<std::shared_ptr<const SharedMemory>> memory = SharedMemory::attach(*given.place);
    if (!memory) {
      note_ = "has its own copy of the data: " + memory.error().message;
      return make_data();
    }
    MUSTER_ASSIGN(data_, attach_data(std::move(*memory)));
    return {};
  }

  Status take_recipe(ParcelReader& in) {
    recipe_ = in.take_text();
    if (const std::vector<std::uint8_t> key = in.take_list<std::uint8_t>(); !key.empty()) {
      if (key.size() != SecretKey::size()) in.fail();
      NoiseKey noise;
      if (key.size() == SecretKey::size()) std::ranges::copy(key, noise.bytes.data());
      noise_ = std::make_shared<const NoiseKey>(std::move(noise));
    }
    return in.finish("a recipe");
  }

  // Makes the clients, and works until the run is over.
  Status serve() {
    MUSTER_ASSIGN(const Recipe recipe, parse_recipe(recipe_, "rank 0"));
    // What clients remember is kept by rank 0: no folder.
    MUSTER_ASSIGN(const std::unique_ptr<LocalFederation> federation,
                  make_simulated_federation(recipe, threads_, nullptr, *data_, {}, {.noise = noise_}));
    ParcelWriter ready;
    ready.put(Message::kReady);
    ready.put(threads_);
    ready.put_text(note_);
    ranks_.send(0, std::move(ready).finish());
    RankServer(ranks_, *federation).serve();
    memory_.own_bytes = own_memory_bytes();
    for (std::uint32_t worker = 0; worker < federation->threads(); ++worker) {
      memory_.arena_bytes += federation->solver(worker).arena_bytes();
    }
    return {};
  }

 private:
  Status make_data() {
    MUSTER_ASSIGN(data_, make_federated_data(begun_.data, begun_.data_seed.value_or(begun_.seed)));
    return {};
  }

  Ranks& ranks_;
  std::uint64_t number_ = 0;
  Recipe begun_;        // as it was before the data settled it
  std::string recipe_;  // as it is run; "" until it is known
  std::shared_ptr<const NoiseKey> noise_;
  std::uint32_t threads_ = 1;
  std::unique_ptr<FederatedData> data_;
  std::string note_;
  RankMemory memory_;
};

}  // namespace

std::uint32_t rank_threads(const Ranks& ranks, std::uint32_t threads) {
  if (threads > 0) return threads;
  return std::max(1u, std::thread::hardware_concurrency() / static_cast<std::uint32_t>(ranks.neighbours().size()));
}

void tell_others(Ranks& ranks, const ParcelWriter& said) {
  for (std::uint32_t rank = 1; rank < ranks.size(); ++rank) {
    ParcelWriter copy = said;
    ranks.send(rank, std::move(copy).finish());
  }
}

Status use_isa_named(const std::string& wanted) {
  if (name(current_isa()) == wanted) return {};
  for (const Isa isa : available_isas()) {
    if (name(isa) != wanted) continue;
    use_isa(isa);
    return {};
  }
  return failure("this processor has no {}, which rank 0 uses; set MUSTER_ISA={} for all ranks", wanted,
                 name(available_isas().back()));
}

Result<std::vector<std::uint32_t>> wait_until_ready(Ranks& ranks, std::uint32_t threads,
                                                    std::vector<std::string>& notes) {
  std::vector<std::uint32_t> all(ranks.size(), 0);
  all[0] = rank_threads(ranks, threads);
  for (std::uint32_t ready = 1; ready < ranks.size(); ++ready) {
    MUSTER_ASSIGN(Ranks::Arrived arrived, wait_for_parcel(ranks));
    ParcelReader in(std::move(arrived.parcel));
    const auto message = in.take_below<Message>(kMessages);
    if (message == Message::kFailed) return take_error(in).within(ranks.name(arrived.from));
    all[arrived.from] = in.take<std::uint32_t>();
    if (const std::string note = in.take_text(); !note.empty()) {
      notes.push_back(fmt::format("{}: {}", ranks.name(arrived.from), note));
    }
    if (message != Message::kReady || all[arrived.from] == 0) in.fail();
    if (Status status = in.finish("what it said"); !status)
      return std::move(status).error().within(ranks.name(arrived.from));
  }
  return all;
}

RankRun::RankRun(Ranks& ranks, RankTimes* times) : ranks_(ranks), times_(times), before_(ranks.traffic()) {}

void RankRun::begin(const Recipe& recipe, std::uint32_t threads) {
  static std::atomic<std::uint64_t> runs{0};
  number_ = ++runs;
  threads_ = threads;
  shares_ = shares_data(ranks_, recipe.data);
  begun_ = true;
  ParcelWriter out;
  out.put(Message::kBegin);
  out.put(number_);
  out.put(threads);
  out.put_text(name(current_isa()));
  out.put_text(format_recipe(recipe));
  tell_others(ranks_, out);
}

void RankRun::give_data(FederatedData* data) {
  if (!shares_) return;
  if (std::optional<std::string> note = share_with_neighbours(ranks_, number_, data)) {
    notes_.push_back(std::move(*note));
  }
}

Result<std::unique_ptr<RankFederation>> RankRun::federation(const Recipe& recipe, const FederatedData& data,
                                                            const std::filesystem::path& states,
                                                            const MemberSecrets& secrets) {
  ParcelWriter out;
  out.put(Message::kRecipe);
  out.put_text(format_recipe(recipe));
  std::span<const std::uint8_t> key;
  if (secrets.noise) key = {secrets.noise->bytes.data(), SecretKey::size()};
  out.put_list(key);
  tell_others(ranks_, out);
  MUSTER_ASSIGN(std::unique_ptr<LocalFederation> local,
                make_simulated_federation(recipe, rank_threads(ranks_, threads_), nullptr, data, states, secrets));
  MUSTER_ASSIGN(std::vector<std::uint32_t> threads, wait_until_ready(ranks_, threads_, notes_));
  MUSTER_ASSIGN(std::unique_ptr<ProfileKind> profile, make_profile_kind(recipe.profile));
  MUSTER_ASSIGN(std::unique_ptr<GroupTrainer> trainer,
                make_group_trainer(recipe.training, recipe.aggregation, recipe.dp, recipe.seed));
  auto made = std::make_unique<RankFederation>(std::move(local), std::move(profile), std::move(trainer), ranks_,
                                               std::move(threads));
  if (times_) made->set_times(*times_);
  return made;
}

// Waits for the last word of each, so that none of this run is taken for one of the next.
RankRun::~RankRun() {
  if (!begun_) return;
  ParcelWriter out;
  out.put(Message::kOver);
  tell_others(ranks_, out);
  for (std::uint32_t done = 1; done < ranks_.size();) {
    Result<Ranks::Arrived> arrived = wait_for_parcel(ranks_);
    if (!arrived) return;
    ParcelReader in(std::move(arrived->parcel));
    if (in.take<Message>() != Message::kDone) continue;
    ++done;
    const auto own = in.take<std::uint64_t>();
    const auto arenas = in.take<std::uint64_t>();
    if (times_) times_->others.push_back({.own_bytes = own, .arena_bytes = arenas});
  }
  if (!times_) return;
  const Traffic now = ranks_.traffic();
  times_->bytes += now.sent_bytes - before_.sent_bytes + now.received_bytes - before_.received_bytes;
}

int serve_runs(Ranks& ranks) {
  std::optional<ServedRun> run;
  GivenData given;  // the last; it may come before its run begins, or after that is over
  while (true) {
    Result<Ranks::Arrived> arrived = wait_for_parcel(ranks);
    if (!arrived) return 1;
    ParcelReader in(std::move(arrived->parcel));
    const auto message = in.take_below<Message>(kMessages);
    Status status;
    RankMemory memory;
    bool over = message == Message::kOver;
    if (message == Message::kQuit) return in.take<std::int32_t>();
    if (message == Message::kBegin) {
      status = run.emplace(ranks).begin(in);
    } else if (message == Message::kRecipe && run) {
      status = run->take_recipe(in);
    } else if (message == Message::kData) {
      given = take_given(in);
    }
    const bool can_begin = status.ok() && run && !over;
    if (can_begin && given.run == run->number()) status = run->take_data(std::exchange(given, {}));
    if (status && can_begin && run->ready()) {
      status = run->serve();
      memory = run->memory();
      over = status.ok();
    } else if (status && message == Message::kSweep) {
      status = serve_sweep(ranks, in);
      over = status.ok();
    }
    if (!status) {
      run.reset();
      ranks.send(0, failed_parcel(status.error()));
    }
    if (!over) continue;
    run.reset();
    ParcelWriter done;
    done.put(Message::kDone);
    done.put(memory.own_bytes);
    done.put(memory.arena_bytes);
    ranks.send(0, std::move(done).finish());
  }
}

void quit_ranks(Ranks& ranks, int status) {
  ParcelWriter out;
  out.put(Message::kQuit);
  out.put(static_cast<std::int32_t>(status));
  tell_others(ranks, out);
}

}  // namespace muster
