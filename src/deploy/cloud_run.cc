#include "deploy/cloud_run.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/file.h"
#include "base/isa.h"
#include "deploy/member_certificate.h"
#include "deploy/own_admission.h"
#include "deploy/run_ledger.h"
#include "engine/simulated_federation.h"
#include "recipe/choices.h"
#include "record/progress.h"
#include "record/run_folder.h"
#include "secure/sum_messages.h"
#include "train/change_words.h"
#include "wire/edge_federation.h"

namespace muster {
namespace {

// How long the cloud stays to tell those who are away that the run is over.
constexpr std::chrono::seconds kCloudLinger{5};

constexpr std::uint64_t kMostRecipeBytes = 1 << 20;

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

// A count that can never be reached would be waited for in vain. `there`: clients of the first round.
Status check_wait_clients(const DeploymentOptions& deployment, std::size_t there) {
  const auto* const count = std::get_if<std::uint32_t>(&deployment.wait_clients.value);
  if (!count || *count <= there) return {};
  return usage_error(
      "deployment.wait-clients: {}, but {} clients are to be there in the first round; want a count from 1 to {}, or a "
      "share in (0, 1]",
      *count, there, there);
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
class CloudNetwork final : public RoundObserver {
 public:
  CloudNetwork(const CloudRunOptions& options, StatusPage& page, RunLedger& ledger, const RunTimes* times)
      : options_(options), page_(page), ledger_(ledger), times_(times) {}

  // Clients with data of their own are waited for before the run is anything: what they tell is its data.
  Result<std::shared_ptr<const FederatedData>> gather(const Recipe& recipe, const std::filesystem::path& resumed) {
    MUSTER_TRY(check_held_by_clients(recipe.data));
    MUSTER_TRY(check_wait_clients(recipe.deployment, Membership::first_clients(recipe)));
    // One that was killed before it began is begun.
    const bool known = !resumed.empty() && Membership::is_in(resumed);
    if (known) {
      MUSTER_ASSIGN(own_, OwnAdmission::resume(recipe, resumed));
    } else {
      own_ = std::make_shared<OwnAdmission>(recipe);
    }
    clients_ = std::make_unique<RemoteClients>(own_->admit(), events());
    clients_->set_how_to_read(own_->how_to_read(recipe));
    MUSTER_TRY(listen(*recipe.data.clients));
    if (!known) {
      MUSTER_TRY(own_->gather(recipe, *clients_, [this, &recipe](std::size_t came, std::size_t wanted) {
        return go_on(came, wanted, recipe.deployment);
      }));
    }
    return std::shared_ptr<const FederatedData>(own_->membership()->data());
  }

  Result<std::unique_ptr<Federation>> make(const Recipe& recipe, std::unique_ptr<LocalFederation> here,
                                           const std::filesystem::path& folder) {
    const std::uint32_t count = here->roster().clients();
    roster_ = count;
    if (!own_) MUSTER_TRY(check_wait_clients(recipe.deployment, here->roster().present(1).size()));
    if (!own_) clients_ = std::make_unique<RemoteClients>(simulated_admission(count), events());
    MUSTER_ASSIGN(std::unique_ptr<ProfileKind> profile, make_profile_kind(recipe.profile));
    MUSTER_ASSIGN(std::unique_ptr<GroupTrainer> trainer,
                  make_group_trainer(recipe.training, recipe.aggregation, recipe.dp, recipe.seed));
    MUSTER_ASSIGN(WireRun run, next_incarnation(recipe, *here, folder));
    MUSTER_TRY(ledger_.begin(folder, run.welcome, recipe, count));
    auto federation = std::make_unique<EdgeFederation>(
        std::move(here), std::move(profile), std::move(trainer), *clients_,
        EdgeFederationOptions{
            .round_deadline_s = recipe.deployment.round_deadline_s,
            .member_quorum = recipe.deployment.quorum,
            .group_quorum = recipe.deployment.quorum,
            .over_select = recipe.deployment.over_select,
            .verifier = make_member_verifier(options_.security, recipe.seed),
            .members_by_name = own_ != nullptr,
            .keeps_parts = keeps_parts_in_clients(recipe),
            .say = options_.simulation.say,
            .spent = [this](const std::string& phase, double seconds) { page_.spent(phase, seconds); }});
    page_.watch(*clients_);
    page_.begin_run(recipe.rounds, count, times_);
    if (options_.roster) options_.roster->open(*clients_, federation->roster());
    if (own_) {
      MUSTER_TRY(own_->begin(std::move(run), *clients_, *federation, folder));
    } else {
      clients_->begin(std::move(run));
      MUSTER_TRY(listen(count));
    }
    MUSTER_TRY(wait_for_clients(federation->roster(), recipe.deployment));
    page_.set_health("");
    return std::unique_ptr<Federation>(std::move(federation));
  }

  // Between two rounds: whoever has come is there from the next one on.
  void end(const Models&, RoundRecord& record) override {
    if (own_) own_->let_join(record.round + 1, options_.simulation.say);
  }
  Status restore(const Checkpoint& checkpoint) override {
    if (own_) own_->let_join(checkpoint.round + 1, options_.simulation.say);
    return {};
  }

  // Who is here, for people.
  [[nodiscard]] std::string shown(const DropCount& drops) const {
    if (!clients_) return "";
    return fmt::format("{} of {} clients here, {} dropped", clients_->figures().clients, roster_, drops.count());
  }

  void finish(const std::string& signature) {
    if (options_.roster) options_.roster->close();
    if (clients_) {
      clients_->finish(signature);
      clients_->wait_until_told(std::chrono::steady_clock::now() + kCloudLinger);
    }
    listener_.reset();
  }

 private:
  [[nodiscard]] WireEvents events() const { return {.say = options_.note, .log = &ledger_}; }

  Status listen(std::uint32_t clients) {
    MUSTER_ASSIGN(listener_, Listener::start({.address = options_.listen,
                                              .credentials = options_.security.credentials,
                                              .attach =
                                                  [this](const std::string& certificate, const std::string& address,
                                                         std::shared_ptr<Channel> channel) {
                                                    return let_in(*clients_, options_.security, true, certificate,
                                                                  address, std::move(channel));
                                                  },
                                              .say = options_.note}));
    return options_.listening ? options_.listening(listener_->port(), clients) : Status();
  }

  // Tells how many have come; whether to wait for more.
  bool go_on(std::size_t came, std::size_t wanted, const DeploymentOptions& deployment) {
    if (came != told_) {
      const std::string line = fmt::format("waiting for clients: {} of {} are here, at most {:.0f} s in all", came,
                                           wanted, deployment.round_deadline_s);
      page_.set_health(line);
      if (options_.simulation.say) options_.simulation.say(line);
    }
    told_ = came;
    return came < deployment.wait_clients.of(static_cast<std::uint32_t>(wanted)) &&
           !(options_.simulation.interrupt && *options_.simulation.interrupt);
  }

  // Those that are there from the first round on; with fewer than deployment.wait-clients of them nothing begins.
  Status wait_for_clients(const Roster& roster, const DeploymentOptions& deployment) {
    const std::vector<ClientId> wanted = roster.present(1);
    const std::uint32_t least = deployment.wait_clients.of(static_cast<std::uint32_t>(wanted.size()));
    const WireTime deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(std::llround(1000 * deployment.round_deadline_s));
    const std::size_t there =
        clients_->wait_for(wanted, deadline, [&](std::size_t came) { return go_on(came, wanted.size(), deployment); });
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
  std::size_t told_ = SIZE_MAX;        // clients that are here, when it was last said
  std::shared_ptr<OwnAdmission> own_;  // null: clients are simulated
  std::unique_ptr<RemoteClients> clients_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace

RemoteClients::Admit simulated_admission(std::uint32_t clients) {
  return [clients](const std::vector<v1::Client>& told) -> Result<RemoteClients::Admitted> {
    std::vector<ClientId> ids;
    for (const v1::Client& client : told) {
      if (!client.has_simulated()) return usage_error("{}: this run's clients are simulated", client.name());
      if (client.simulated() >= clients) {
        return usage_error("client {}: this run has clients 0 to {}", client.simulated(), clients - 1);
      }
      ids.push_back({client.simulated()});
    }
    return RemoteClients::Admitted(std::move(ids));
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
  if (sums_securely(recipe)) {
    constexpr std::uint32_t kWidest = 64;
    const Network& network = federation.network();
    const SumLayout layout = layout_of_change(recipe.training.secure, network.size(),
                                              takes_payload(recipe.aggregation.global) ? network.parameters() : 0);
    const std::size_t longest = most_answer_bytes(layout.words(), recipe.training.secure.bits.value_or(kWidest),
                                                  std::min(roster.clients(), kMostSumMembers));
    run.most_values = std::max<std::uint64_t>(run.most_values, longest / sizeof(float) + 1);
  }
  if (relays_sealed(recipe)) run.most_values += kSealedExtraValues;
  run.welcome.set_most_values(run.most_values);
  return run;
}

Result<std::optional<RunCurve>> finished_run(const std::filesystem::path& out, const std::string& run) {
  MUSTER_ASSIGN(const RunFolder folder, RunFolder::open(out, run));
  MUSTER_ASSIGN(const std::vector<std::uint8_t> recipe, read_file(folder.path() / "recipe.toml", kMostRecipeBytes));
  Result<std::optional<RunCurve>> curve = read_run_curve(folder.path());
  const std::vector<std::filesystem::path> files = list_checkpoints(folder.checkpoints());
  // Whatever does not add up is for resume() to judge.
  if (!curve || !*curve || files.empty()) return std::optional<RunCurve>();
  const Result<Checkpoint> last = read_checkpoint(files.front());
  const Result<std::string> began_with = last ? last->get_string("recipe") : Result<std::string>(last.error());
  const bool same = began_with && std::equal(began_with->begin(), began_with->end(), recipe.begin(), recipe.end());
  if (!same || last->round != (*curve)->rounds) return std::optional<RunCurve>();
  return curve;
}

Result<RunSummary> run_cloud(CloudRunOptions options) {
  if (options.resume.empty()) MUSTER_TRY(check_first_model(options.recipe));
  StatusPage page("cloud");
  MUSTER_TRY(page.start(options.status));
  RunTimes times;
  SimulationOptions simulation = options.simulation;
  if (!simulation.times) simulation.times = &times;
  if (options.status.port) simulation.observers.push_back(&page);
  if (options.roster) simulation.observers.push_back(options.roster);
  RunLedger ledger({.vectors = options.ledger_vectors, .say = options.simulation.say});
  simulation.observers.push_back(&ledger);
  simulation.secret_noise = true;  // clients know the recipe with its seed
  Recipe recipe = options.recipe;
  std::filesystem::path resumed;
  if (!options.resume.empty()) {
    MUSTER_ASSIGN(const RunFolder folder, RunFolder::open(simulation.out, options.resume));
    resumed = folder.path();
    MUSTER_ASSIGN(recipe, load_recipe((resumed / "recipe.toml").string()));
  }
  if (recipe.attack.kind != AttackOptions{}.kind) {
    return usage_error("attack.kind: \"{}\" is for simulations, and real clients are not asked to attack; want none",
                       recipe.attack.kind);
  }
  if (recipe.dp.on() && recipe.profile.epsilon) {
    return usage_error(
        "profile.epsilon: {} does not go with dp.clip in a deployment: what told labels cost a client is counted by "
        "its "
        "own samples, and nobody has checked how many those are; want a grouping.method that needs no profile",
        *recipe.profile.epsilon);
  }
  if (sums_securely(recipe) && !options.security.trust && options.note) {
    options.note({.line = "WARNING: secure sums without certificates protect nobody: who is in one is not known"});
  }
  if (held_by_clients(recipe.data)) MUSTER_TRY(check_recipe(recipe));
  CloudNetwork network(options, page, ledger, simulation.times);
  DropCount drops;
  simulation.observers.push_back(&drops);
  ProgressSink progress = simulation.progress ? *simulation.progress : stderr_progress();
  progress.remark = [&] { return network.shown(drops); };
  simulation.progress = &progress;
  simulation.federation = [&](const Recipe& settled, std::unique_ptr<LocalFederation> here,
                              const std::filesystem::path& folder) {
    return network.make(settled, std::move(here), folder);
  };
  if (held_by_clients(recipe.data)) {
    simulation.observers.push_back(&network);
    simulation.knows_samples = false;
    Result<std::shared_ptr<const FederatedData>> told = network.gather(recipe, resumed);
    if (!told) {
      network.finish("");
      return std::move(told).error();
    }
    simulation.data = std::move(told).value();
  }
  Result<RunSummary> summary = options.resume.empty() ? simulate(options.recipe, simulation)
                                                      : resume(options.resume, options.settings, simulation);
  const bool over = summary && summary->stopped != StopReason::kInterrupted;
  if (summary) ledger.end_run(*summary);
  page.set_health(over ? "the run is over" : "the run has stopped");
  network.finish(over ? summary->signature : "");
  page.stop();
  return summary;
}

}  // namespace muster
