#include "engine/rank_run.h"

#include <algorithm>
#include <thread>

#include "base/isa.h"
#include "base/peak_memory.h"
#include "engine/rank_sweep.h"
#include "engine/simulated_federation.h"
#include "ranks/messages.h"
#include "ranks/patience.h"
#include "ranks/rank_server.h"

namespace muster {
namespace {

struct Begun {
  std::uint32_t threads = 0;
  Recipe recipe;
};

Result<Begun> read_begin(ParcelReader& in) {
  Begun begun;
  begun.threads = in.take<std::uint32_t>();
  const std::string isa = in.take_text();
  const std::string recipe = in.take_text();
  MUSTER_TRY(in.finish("a run"));
  MUSTER_TRY(use_isa_named(isa));
  MUSTER_ASSIGN(begun.recipe, parse_recipe(recipe, "rank 0"));
  return begun;
}

// A run, as one of the ranks that serve it.
class ServedRun {
 public:
  explicit ServedRun(Ranks& ranks) : ranks_(ranks) {}

  // Makes the data.
  Status begin(ParcelReader& in) {
    MUSTER_ASSIGN(Begun begun, read_begin(in));
    threads_ = rank_threads(ranks_, begun.threads);
    MUSTER_ASSIGN(data_, make_federated_data(begun.recipe.data, begun.recipe.data_seed.value_or(begun.recipe.seed)));
    return {};
  }

  // Makes the clients, and works until the run is over.
  Status serve(ParcelReader& in) {
    const std::string text = in.take_text();
    MUSTER_TRY(in.finish("a recipe"));
    if (!data_) return failure("a recipe came before its data");
    MUSTER_ASSIGN(const Recipe recipe, parse_recipe(text, "rank 0"));
    // What clients remember is kept by rank 0: no folder.
    MUSTER_ASSIGN(const std::unique_ptr<LocalFederation> federation,
                  make_simulated_federation(recipe, threads_, nullptr, *data_, {}));
    ParcelWriter ready;
    ready.put(Message::kReady);
    ready.put(threads_);
    ranks_.send(0, std::move(ready).finish());
    RankServer(ranks_, *federation).serve();
    return {};
  }

 private:
  Ranks& ranks_;
  std::uint32_t threads_ = 1;
  std::shared_ptr<const FederatedData> data_;
};

}  // namespace

std::uint32_t rank_threads(const Ranks& ranks, std::uint32_t threads) {
  if (threads > 0) return threads;
  return std::max(1u, std::thread::hardware_concurrency() / ranks.on_this_machine());
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

Result<std::vector<std::uint32_t>> wait_until_ready(Ranks& ranks, std::uint32_t threads) {
  std::vector<std::uint32_t> all(ranks.size(), 0);
  all[0] = rank_threads(ranks, threads);
  for (std::uint32_t ready = 1; ready < ranks.size(); ++ready) {
    MUSTER_ASSIGN(Ranks::Arrived arrived, wait_for_parcel(ranks));
    ParcelReader in(std::move(arrived.parcel));
    const auto message = in.take_below<Message>(kMessages);
    if (message == Message::kFailed) return take_error(in).within(ranks.name(arrived.from));
    all[arrived.from] = in.take<std::uint32_t>();
    if (message != Message::kReady || all[arrived.from] == 0) in.fail();
    if (Status status = in.finish("what it said"); !status)
      return std::move(status).error().within(ranks.name(arrived.from));
  }
  return all;
}

RankRun::RankRun(Ranks& ranks, RankTimes* times) : ranks_(ranks), times_(times), before_(ranks.traffic()) {}

void RankRun::begin(const Recipe& recipe, std::uint32_t threads) {
  threads_ = threads;
  begun_ = true;
  ParcelWriter out;
  out.put(Message::kBegin);
  out.put(threads);
  out.put_text(name(current_isa()));
  out.put_text(format_recipe(recipe));
  tell_others(ranks_, out);
}

Result<std::unique_ptr<RankFederation>> RankRun::federation(const Recipe& recipe, const FederatedData& data,
                                                            const std::filesystem::path& states) {
  ParcelWriter out;
  out.put(Message::kRecipe);
  out.put_text(format_recipe(recipe));
  tell_others(ranks_, out);
  MUSTER_ASSIGN(std::unique_ptr<LocalFederation> local,
                make_simulated_federation(recipe, rank_threads(ranks_, threads_), nullptr, data, states));
  MUSTER_ASSIGN(std::vector<std::uint32_t> threads, wait_until_ready(ranks_, threads_));
  MUSTER_ASSIGN(std::unique_ptr<ProfileKind> profile, make_profile_kind(recipe.profile));
  MUSTER_ASSIGN(std::unique_ptr<GroupTrainer> trainer,
                make_group_trainer(recipe.training, recipe.aggregation.in_group, recipe.seed));
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
    if (times_) times_->peak_rss_bytes.push_back(in.take<std::uint64_t>());
  }
  if (!times_) return;
  const Traffic now = ranks_.traffic();
  times_->bytes += now.sent_bytes - before_.sent_bytes + now.received_bytes - before_.received_bytes;
}

int serve_runs(Ranks& ranks) {
  std::optional<ServedRun> run;
  while (true) {
    Result<Ranks::Arrived> arrived = wait_for_parcel(ranks);
    if (!arrived) return 1;
    ParcelReader in(std::move(arrived->parcel));
    const auto message = in.take_below<Message>(kMessages);
    Status status;
    bool over = false;
    if (message == Message::kQuit) return in.take<std::int32_t>();
    if (message == Message::kBegin) {
      status = run.emplace(ranks).begin(in);
    } else if (message == Message::kRecipe && run) {
      status = run->serve(in);
      over = status.ok();
    } else if (message == Message::kSweep) {
      status = serve_sweep(ranks, in);
      over = status.ok();
    } else if (message == Message::kOver) {
      over = true;
    }
    if (!status) {
      run.reset();
      ranks.send(0, failed_parcel(status.error()));
    }
    if (!over) continue;
    run.reset();
    ParcelWriter done;
    done.put(Message::kDone);
    done.put(peak_rss_bytes());
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
