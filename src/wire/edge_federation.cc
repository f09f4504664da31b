#include "wire/edge_federation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/stopwatch.h"
#include "train/group_pieces.h"
#include "train/update_check.h"

namespace muster {
namespace {

// How many clients or groups are waited for at a time: as many as keep everybody busy, as few as bound the answers that
// wait for their turn.
std::uint32_t waiting_threads(const Network& network) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{512} << 20;
  const std::uint64_t model_bytes = std::max<std::uint64_t>(1, network.size() * sizeof(float));
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kMostBytes / model_bytes / 2, 4, 64));
}

// Tells how long it lived.
class TimedPhase {
 public:
  TimedPhase(const EdgeFederationOptions& options, const char* phase) : options_(options), phase_(phase) {}
  ~TimedPhase() {
    watch_.reset();
    if (options_.spent) options_.spent(phase_, seconds_);
  }
  TimedPhase(const TimedPhase&) = delete;
  TimedPhase& operator=(const TimedPhase&) = delete;

 private:
  const EdgeFederationOptions& options_;
  const char* phase_;
  double seconds_ = 0;
  std::optional<Stopwatch> watch_{std::in_place, &seconds_};
};

}  // namespace

EdgeFederation::EdgeFederation(std::unique_ptr<LocalFederation> local, std::unique_ptr<ProfileKind> profile,
                               std::unique_ptr<GroupTrainer> trainer, RemoteClients& clients,
                               EdgeFederationOptions options)
    : Federation(local->shared_network(), std::move(profile), std::move(trainer)),
      local_(std::move(local)),
      roster_(local_->roster()),
      clients_(clients),
      options_(std::move(options)),
      waiting_(waiting_threads(network())),
      asking_(waiting_threads(network())),
      scoring_(local_->threads()) {}

EdgeFederation::~EdgeFederation() {
  if (evaluation_.joinable()) evaluation_.join();
}

void EdgeFederation::set_client(ClientId client, ClientInfo told) {
  told.edge = roster_.edge(client);
  roster_.set(client, told);
}

WireTime EdgeFederation::deadline() const {
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                std::chrono::duration<double>(options_.round_deadline_s));
}

Result<GroupUpdate> EdgeFederation::train_group(const RoundCall& call, const GroupTask& task,
                                                const SharedVectors& shared, WireTime deadline,
                                                const RemoteClients::EnoughPtr& enough) {
  const RemoteClients::Figures at = clients_.figures();
  const auto name_of = [this](ClientId client) { return roster_.name(client); };
  // A group that is begun again is another attempt at its secure sums, also after the cloud has started again.
  std::uint64_t attempt = std::uint64_t{at.incarnation} << 32;
  for (; task.members.size() > 1 && clients_.share_an_edge(task.members); ++attempt) {
    RemoteClients::GroupAsk ask{.group = task.group,
                                .round = call.round,
                                .model = shared.find(call.models[task.model]),
                                .broadcast = shared.find(call.broadcast),
                                .own_models = call.own_models,
                                .measure = call.measure,
                                .members = {task.members.begin(), task.members.end()},
                                .epochs = {task.epochs.begin(), task.epochs.end()},
                                .enough = task.enough,
                                .parameters = call.parameters,
                                .attempt = attempt};
    for (const ClientId member : task.members) {
      ask.memories.push_back(book_.memory_of(member));
      if (options_.members_by_name) ask.names.push_back(name_of(member));
    }
    GroupAnswer answer = clients_.train_group(ask, deadline);
    if (answer.lost && std::chrono::steady_clock::now() < deadline) continue;
    const auto note = [&](ClientId member, StateVersion basis) {
      const bool asked = std::ranges::find(task.members, member) != task.members.end();
      if (asked && basis.round != 0) book_.used(member, basis);
    };
    for (std::size_t i = 0; i < answer.bases.size(); ++i) note(answer.update.members[i].client, answer.bases[i]);
    for (std::size_t i = 0; i < answer.dropped_bases.size(); ++i) {
      note(answer.update.dropped[i].client, answer.dropped_bases[i]);
    }
    return std::move(answer.update);
  }
  const std::size_t visits = trainer().in_sequence() ? task.members.size() * trainer().visits() : 0;
  SumHost sums{.run = at.run, .attempt = attempt, .verifier = options_.verifier.get()};
  if (options_.members_by_name) sums.name_of = name_of;
  GroupLink link(clients_, book_, shared,
                 {task.group, deadline, visits, task.enough, enough, std::move(sums), trainer().visits()});
  return trainer().train(call, task, link, {});
}

std::optional<Memory> EdgeFederation::memory_of(ClientId client, bool matters) const {
  return matters ? std::optional(book_.memory_of(client)) : std::nullopt;
}

void EdgeFederation::apply_quorum(const GroupTask& task, GroupUpdate& update) const {
  const std::size_t wanted = task.enough > 0 ? task.enough : task.members.size();
  const auto asked = static_cast<double>(wanted);
  if (update.members.empty() || static_cast<double>(update.members.size()) >= options_.member_quorum * asked) return;
  if (options_.say) {
    options_.say(fmt::format("group {} is left out: {} of {} members answered, want {:.0f} %", task.group.value,
                             update.members.size(), wanted, 100 * options_.member_quorum));
  }
  std::vector<Dropped> dropped = std::move(update.dropped);
  for (const MemberReport& report : update.members) dropped.push_back({report.client, DropReason::kUnreachable});
  drop_all(task.group, {}, DropReason::kUnreachable, update);
  update.dropped = std::move(dropped);
}

Status EdgeFederation::do_train(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) {
  const TimedPhase timed(options_, "train");
  SharedVectors shared(clients_);
  for (const std::span<const float> model : call.models) shared.add(model);
  shared.add(call.broadcast);
  const WireTime until = deadline();
  // Held back until it is known whether enough groups answered.
  std::vector<GroupUpdate> held;
  std::size_t group = 0;
  UpdateSink kept = sink;
  kept.group = [&](GroupUpdate& update) {
    apply_quorum(tasks[group++], update);
    if (options_.group_quorum > 0) {
      held.push_back(std::move(update));
    } else {
      sink.group(update);
    }
  };
  const auto apart = [&](const GroupTask& task) {
    return task.members.size() > 1 && !clients_.share_an_edge(task.members);
  };
  GroupPieces cut(call, tasks, trainer(), kept, combined_, sink.member || std::ranges::any_of(tasks, apart));
  const std::span<const GroupTask> pieces = cut.pieces();
  // What is enough is counted for all clients that are alone together, else for each group that was cut.
  const RemoteClients::EnoughPtr enough_alone = RemoteClients::enough(call.enough_groups);
  std::map<std::uint32_t, RemoteClients::EnoughPtr> enough_of;
  for (const GroupTask& task : tasks) enough_of[task.group.value] = RemoteClients::enough(task.enough);
  const auto enough_for = [&](const GroupTask& piece) {
    return enough_alone || piece.members.size() > 1 ? enough_alone : enough_of.at(piece.group.value);
  };
  MUSTER_TRY(in_order<GroupUpdate>(
      waiting_, static_cast<std::uint32_t>(pieces.size()),
      [&](std::uint32_t, std::uint32_t i) {
        return train_group(call, pieces[i], shared, until, enough_for(pieces[i]));
      },
      [&](std::uint32_t i, GroupUpdate& update) {
        // Before it is put together with others: who is wrong is dropped alone.
        const GroupTask& piece = pieces[i];
        if (const auto fault = fault_of(update, piece.group, piece.members, roster(), network(), call.own_models)) {
          drop_all(piece.group, piece.members, *fault, update);
        }
        cut.accept(update);
      }));
  if (options_.group_quorum <= 0) return {};
  const auto answered = static_cast<std::size_t>(
      std::ranges::count_if(held, [](const GroupUpdate& update) { return !update.members.empty(); }));
  const std::size_t wanted = call.enough_groups > 0 ? call.enough_groups : tasks.size();
  const bool enough = static_cast<double>(answered) >= options_.group_quorum * static_cast<double>(wanted);
  if (!enough && options_.say) {
    options_.say(fmt::format("round {} is abandoned: {} of {} groups answered, want {:.0f} %", call.round, answered,
                             wanted, 100 * options_.group_quorum));
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (!enough) drop_all(tasks[i].group, tasks[i].members, DropReason::kUnreachable, held[i]);
    sink.group(held[i]);
  }
  return {};
}

Status EdgeFederation::do_profile(const ProfileRequest& request, const ProfileSink& sink) {
  const TimedPhase timed(options_, "profile");
  SharedVectors shared(clients_);
  std::vector<RemoteClients::Vector> models;
  for (std::uint32_t i = 0; i < request.models.count(); ++i) models.push_back(shared.add(request.models.row(i)));
  const std::string kind = request.losses ? losses_profile().entry().name : profile_kind().entry().name;
  const WireTime until = deadline();
  return in_order<ProfileReply>(
      waiting_, static_cast<std::uint32_t>(request.clients.size()),
      [&](std::uint32_t, std::uint32_t i) -> Result<ProfileReply> {
        return clients_.profile({.client = request.clients[i],
                                 .kind = kind,
                                 .round = request.round,
                                 .as_of_round = request.as_of_round,
                                 .models = models,
                                 .memory = memory_of(request.clients[i], options_.keeps_parts)},
                                until);
      },
      sink);
}

void EdgeFederation::do_begin_evaluation(const EvaluationRequest& request) {
  local_->evaluation().begin(request);
  evaluation_s_ = 0;
  evaluation_ = std::thread([this] {
    const Stopwatch watch(&evaluation_s_);
    evaluated_ = evaluate_all();
  });
}

// The server's samples here, and beside it all that clients score themselves.
Status EdgeFederation::evaluate_all() {
  EvaluationPieces& pieces = local_->evaluation();
  const EvaluationRequest& request = pieces.request();
  std::vector<std::uint32_t> here;
  std::vector<std::uint32_t> elsewhere;
  for (std::uint32_t number = 0; number < pieces.count(); ++number) {
    (pieces.piece(number).global ? here : elsewhere).push_back(number);
  }
  Status scored;
  std::thread scorer([&] {
    scored = scoring_.run(static_cast<std::uint32_t>(here.size()),
                          [&](std::uint32_t worker, std::uint32_t i) { return pieces.work(worker, here[i]); });
  });
  std::vector<EvaluateReply> replies(request.clients.size());
  {
    SharedVectors shared(clients_);
    std::vector<RemoteClients::Vector> models;
    for (const std::span<const float> model : request.models) models.push_back(shared.add(model));
    const WireTime until = deadline();
    const Status asked =
        asking_.run(static_cast<std::uint32_t>(replies.size()), [&](std::uint32_t, std::uint32_t i) -> Status {
          replies[i] =
              clients_.evaluate({.client = request.clients[i],
                                 .round = request.round,
                                 .model = models[request.model_of[i]],
                                 .own_model = request.own_models,
                                 .held_out = request.held_out,
                                 .details = request.details,
                                 .memory = memory_of(request.clients[i], options_.keeps_parts || request.own_models)},
                                until);
          return {};
        });
    scorer.join();
    MUSTER_TRY(asked);
    MUSTER_TRY(scored);
  }
  for (const std::uint32_t number : elsewhere) {
    const EvaluationPieces::Piece piece = pieces.piece(number);
    const auto first = replies.begin() + static_cast<std::ptrdiff_t>(piece.first);
    pieces.put(
        number,
        {std::make_move_iterator(first), std::make_move_iterator(first + static_cast<std::ptrdiff_t>(piece.count))}, 0);
  }
  return {};
}

Result<EvaluationResult> EdgeFederation::do_end_evaluation() {
  double waited_s = 0;
  {
    const Stopwatch watch(&waited_s);
    evaluation_.join();
  }
  if (options_.spent) options_.spent("evaluate", waited_s);
  MUSTER_TRY(std::exchange(evaluated_, {}));
  EvaluationResult result = local_->evaluation().end();
  result.seconds = waited_s;
  return result;
}

}  // namespace muster
