#include "deploy/status_page.h"

#include <fmt/format.h>

#include "deploy/prometheus_text.h"

namespace muster {
namespace {

void add_wire(PrometheusText& text, const RemoteClients::Figures& wire) {
  text.gauge("muster_incarnation", "How often the cloud has started with this run.").sample(wire.incarnation);
  text.gauge("muster_clients_connected", "Clients that can be asked now.").sample(static_cast<double>(wire.clients));
  text.gauge("muster_peers", "Processes that have dialled this one, by what they are.")
      .sample(static_cast<double>(wire.edges), {"kind", "edge"})
      .sample(static_cast<double>(wire.peers - wire.edges), {"kind", "client"});
  text.gauge("muster_asks_open", "Asks that wait for an answer.").sample(static_cast<double>(wire.asks_open));
  text.counter("muster_asks_total", "Asks of clients and groups.").sample(static_cast<double>(wire.asks));
  text.counter("muster_vector_bytes_total", "Bytes of models and other vectors, up from and down to peers.")
      .sample(static_cast<double>(wire.moved.up), {"direction", "up"})
      .sample(static_cast<double>(wire.moved.down), {"direction", "down"});
}

}  // namespace

Status StatusPage::start(const StatusPageOptions& options) {
  if (!options.port) return {};
  MUSTER_ASSIGN(server_, HttpServer::start(static_cast<std::uint16_t>(*options.port),
                                           [this](const std::string& path) { return answer(path); }));
  if (options.listening) options.listening(fmt::format("127.0.0.1:{}", server_->port()));
  return {};
}

void StatusPage::watch(const RemoteClients& clients) {
  const std::lock_guard lock(mutex_);
  clients_ = &clients;
}

void StatusPage::set_health(std::string reason) {
  const std::lock_guard lock(mutex_);
  health_ = std::move(reason);
}

void StatusPage::set_health_check(std::function<std::string()> check) {
  const std::lock_guard lock(mutex_);
  check_ = std::move(check);
  health_.clear();
}

void StatusPage::begin_run(std::uint32_t rounds, std::uint32_t roster, const RunTimes* times) {
  const std::lock_guard lock(mutex_);
  run_ = RunState{.rounds = rounds, .roster = roster};
  for (const DropReason reason :
       {DropReason::kFault, DropReason::kStraggler, DropReason::kNoSamples, DropReason::kNonFinite,
        DropReason::kUnreachable, DropReason::kMalformed, DropReason::kNotNeeded}) {
    run_->drops[name(reason)] = 0;
  }
  times_ = times;
}

void StatusPage::spent(const std::string& phase, double seconds) {
  const std::lock_guard lock(mutex_);
  seconds_[phase] += seconds;
}

void StatusPage::prepare(RoundTasks& tasks) {
  const std::lock_guard lock(mutex_);
  if (run_) run_->round = tasks.round;
}

void StatusPage::end(const Models&, RoundRecord& record) {
  const std::lock_guard lock(mutex_);
  if (!run_) return;
  run_->round = record.round;
  run_->rounds_done = record.round;
  run_->participants = record.participants;
  run_->groups = record.groups;
  for (const Dropped& dropped : record.dropped) ++run_->drops[name(dropped.reason)];
  if (!times_) return;
  seconds_["setup"] = times_->prepare_s;
  seconds_["group"] = times_->group_s;
  seconds_["plan"] = times_->plan_s;
  seconds_["aggregate"] = times_->aggregate_s;
  seconds_["records"] = times_->records_s;
  seconds_["checkpoints"] = times_->checkpoints_s;
}

std::string StatusPage::metrics() const {
  const std::lock_guard lock(mutex_);
  PrometheusText text;
  const RemoteClients::Figures wire = clients_ ? clients_->figures() : RemoteClients::Figures{};
  const PrometheusText::Label about[]{{"role", role_}, {"run", wire.run}};
  text.gauge("muster_info", "What this process is, and the run that it is part of.").sample(1, about);
  // An edge knows the round by what it is asked.
  text.gauge("muster_round", "The round that goes on, or the last one.").sample(run_ ? run_->round : wire.round);
  if (run_) {
    text.gauge("muster_rounds_done", "The last round that is done.").sample(run_->rounds_done);
    text.gauge("muster_rounds_wanted", "Rounds that the recipe wants.").sample(run_->rounds);
    text.gauge("muster_clients_roster", "Clients that the run has, here or not.").sample(run_->roster);
    text.gauge("muster_round_participants", "Clients whose work counts in the last round.").sample(run_->participants);
    text.gauge("muster_round_groups", "Groups that took part in the last round.").sample(run_->groups);
    text.counter("muster_drops_total", "Clients that were asked to train and do not count, by reason.");
    for (const auto& [reason, count] : run_->drops) text.sample(static_cast<double>(count), {"reason", reason});
  }
  add_wire(text, wire);
  if (!seconds_.empty()) {
    text.counter("muster_phase_seconds_total", "Seconds that the round loop spent, by phase.");
    for (const auto& [phase, seconds] : seconds_) text.sample(seconds, {"phase", phase});
  }
  return text.text();
}

std::string StatusPage::health() const {
  std::function<std::string()> check;
  {
    const std::lock_guard lock(mutex_);
    if (!health_.empty() || !check_) return health_;
    check = check_;
  }
  return check();
}

HttpAnswer StatusPage::answer(const std::string& path) const {
  if (path == "/metrics") return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics()};
  if (path == "/healthz") {
    const std::string reason = health();
    return {.status = reason.empty() ? 200 : 503, .body = (reason.empty() ? "ok" : reason) + "\n"};
  }
  return {.status = 404, .body = "not here; there are /metrics and /healthz\n"};
}

}  // namespace muster
