#include "deploy/cloud_run.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/file.h"
#include "base/isa.h"
#include "deploy/run_ledger.h"
#include "engine/simulated_federation.h"
#include "recipe/choices.h"
#include "record/progress_remark.h"
#include "wire/edge_federation.h"

namespace muster {
namespace {

// How long the cloud stays to tell those who are away that the run is over.
constexpr std::chrono::seconds kLinger{5};

// How often the cloud has started with this run, this time included; on disk before anybody is asked anything.
Result<std::uint32_t> count_start(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "incarnation";
  std::uint32_t last = 0;
  if (std::filesystem::exists(path)) {
    MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, 64));
    const char* const text = reinterpret_cast<const char*>(bytes.data());
    const auto [end, error] = std::from_chars(text, text + bytes.size(), last);
    if (error != std::errc()) return failure("{}: want a number", path.string());
  }
  MUSTER_TRY(write_file(path, fmt::format("{}\n", last + 1)));
  return last + 1;
}

// Clients that were asked and do not count, since this process began.
class DropCount final : public RoundObserver {
 public:
  void end(const Models&, RoundRecord& record) override { count_ += record.dropped.size(); }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::size_t count_ = 0;
};

// Everything that listens, for as long as the run lasts.
class CloudNetwork {
 public:
  CloudNetwork(const CloudRunOptions& options, StatusPage& page, RunLedger& ledger, const RunTimes* times)
      : options_(options), page_(page), ledger_(ledger), times_(times) {}

  Result<std::unique_ptr<Federation>> make(const Recipe& recipe, std::unique_ptr<LocalFederation> here,
                                           const std::filesystem::path& folder) {
    const Roster& roster = here->roster();
    const std::uint32_t count = roster.clients();
    roster_ = count;
    clients_ = std::make_unique<RemoteClients>(simulated_admission(count),
                                               WireEvents{.say = options_.simulation.say, .log = &ledger_});
    MUSTER_ASSIGN(WireRun run, next_incarnation(recipe, *here, folder));
    MUSTER_TRY(ledger_.begin(folder, run.welcome, recipe, count));
    clients_->begin(std::move(run));
    page_.watch(*clients_);
    page_.begin_run(recipe.rounds, count, times_);
    MUSTER_ASSIGN(listener_, Listener::start({.address = options_.listen,
                                              .credentials = options_.security.credentials,
                                              .attach =
                                                  [this](const std::string& certificate, const std::string& address,
                                                         std::shared_ptr<Channel> channel) {
                                                    return let_in(*clients_, options_.security, true, certificate,
                                                                  address, std::move(channel));
                                                  },
                                              .say = options_.simulation.say}));
    if (options_.listening) MUSTER_TRY(options_.listening(listener_->port(), count));
    MUSTER_TRY(wait_for_clients(roster, recipe.deployment));
    page_.set_health("");
    MUSTER_ASSIGN(std::unique_ptr<ProfileKind> profile, make_profile_kind(recipe.profile));
    MUSTER_ASSIGN(std::unique_ptr<GroupTrainer> trainer,
                  make_group_trainer(recipe.training, recipe.aggregation.in_group, recipe.seed));
    return std::unique_ptr<Federation>(std::make_unique<EdgeFederation>(
        std::move(here), std::move(profile), std::move(trainer), *clients_,
        EdgeFederationOptions{
            .round_deadline_s = recipe.deployment.round_deadline_s,
            .member_quorum = recipe.deployment.quorum,
            .group_quorum = recipe.deployment.quorum,
            .keeps_parts = keeps_parts_in_clients(recipe),
            .say = options_.simulation.say,
            .spent = [this](const std::string& phase, double seconds) { page_.spent(phase, seconds); }}));
  }

  // Who is here, for people.
  [[nodiscard]] std::string shown(const DropCount& drops) const {
    if (!clients_) return "";
    return fmt::format("{} of {} clients here, {} dropped", clients_->figures().clients, roster_, drops.count());
  }

  void finish(const std::string& signature) {
    if (clients_) {
      clients_->finish(signature);
      clients_->wait_until_told(std::chrono::steady_clock::now() + kLinger);
    }
    listener_.reset();
  }

 private:
  // Those that are there from the first round on; with fewer than deployment.wait-clients of them nothing begins.
  Status wait_for_clients(const Roster& roster, const DeploymentOptions& deployment) {
    const std::vector<ClientId> wanted = roster.present(1);
    const std::uint32_t least = deployment.wait_clients.of(static_cast<std::uint32_t>(wanted.size()));
    const WireTime deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(std::llround(1000 * deployment.round_deadline_s));
    std::size_t told = SIZE_MAX;
    const std::size_t there = clients_->wait_for(wanted, deadline, [&](std::size_t came) {
      if (came != told) {
        const std::string line = fmt::format("waiting for clients: {} of {} are here", came, wanted.size());
        page_.set_health(line);
        if (options_.simulation.say) options_.simulation.say(line);
      }
      told = came;
      return came < least && !(options_.simulation.interrupt && *options_.simulation.interrupt);
    });
    if (there >= least) return {};
    if (options_.simulation.interrupt && *options_.simulation.interrupt) {
      return failure("interrupted while {} of {} clients were here", there, wanted.size());
    }
    return failure("{} of {} clients came within {:.0f} s; deployment.wait-clients wants {}", there, wanted.size(),
                   deployment.round_deadline_s, least);
  }

  const CloudRunOptions& options_;
  StatusPage& page_;
  RunLedger& ledger_;
  const RunTimes* times_;
  std::uint32_t roster_ = 0;
  std::unique_ptr<RemoteClients> clients_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace

RemoteClients::Admit simulated_admission(std::uint32_t clients) {
  return [clients](const std::vector<v1::Client>& told) -> Result<std::vector<ClientId>> {
    std::vector<ClientId> ids;
    for (const v1::Client& client : told) {
      if (!client.has_simulated()) return usage_error("{}: this run's clients are simulated", client.name());
      if (client.simulated() >= clients) {
        return usage_error("client {}: this run has clients 0 to {}", client.simulated(), clients - 1);
      }
      ids.push_back({client.simulated()});
    }
    return ids;
  };
}

Result<WireRun> next_incarnation(const Recipe& recipe, const Federation& federation,
                                 const std::filesystem::path& folder) {
  MUSTER_ASSIGN(const std::uint32_t incarnation, count_start(folder));
  WireRun run{.most_values = federation.network().size()};
  run.welcome.set_run(folder.filename().string());
  run.welcome.set_incarnation(incarnation);
  run.welcome.set_recipe(format_recipe(recipe));
  run.welcome.set_kernels(std::string(name(current_isa())));
  const Roster& roster = federation.roster();
  for (std::uint32_t k = 0; k < roster.clients(); ++k) {
    run.most_values = std::max<std::uint64_t>(run.most_values, roster.test_samples({k}));
  }
  run.welcome.set_most_values(run.most_values);
  return run;
}

Result<RunSummary> run_cloud(CloudRunOptions options) {
  if (options.resume.empty()) MUSTER_TRY(check_first_model(options.recipe));
  StatusPage page("cloud");
  MUSTER_TRY(page.start(options.status));
  RunTimes times;
  SimulationOptions simulation = options.simulation;
  if (!simulation.times) simulation.times = &times;
  if (options.status.port) simulation.observers.push_back(&page);
  RunLedger ledger({.vectors = options.ledger_vectors, .say = options.simulation.say});
  simulation.observers.push_back(&ledger);
  CloudNetwork network(options, page, ledger, simulation.times);
  DropCount drops;
  simulation.observers.push_back(&drops);
  set_progress_remark([&] { return network.shown(drops); });
  simulation.federation = [&](const Recipe& recipe, std::unique_ptr<LocalFederation> here,
                              const std::filesystem::path& folder) {
    return network.make(recipe, std::move(here), folder);
  };
  Result<RunSummary> summary = options.resume.empty() ? simulate(options.recipe, simulation)
                                                      : resume(options.resume, options.settings, simulation);
  set_progress_remark({});
  const bool over = summary && summary->stopped != StopReason::kInterrupted;
  if (summary) ledger.end_run(*summary);
  page.set_health(over ? "the run is over" : "the run has stopped");
  network.finish(over ? summary->signature : "");
  page.stop();
  return summary;
}

}  // namespace muster
