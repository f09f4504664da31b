// A cloud, edges and clients with files of their own in one process, joined by lines in memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "deploy/client_run.h"
#include "deploy/cloud_run.h"
#include "deploy/edge_in_memory.h"
#include "deploy/member_certificate.h"
#include "deploy/own_admission.h"
#include "recipe/choices.h"
#include "record/run_folder.h"
#include "wire/memory_channel.h"

namespace muster {

class OwnDeployment final : public RoundObserver {
 public:
  // With edges, clients dial them in turn, the first the first one.
  explicit OwnDeployment(std::filesystem::path states, std::uint32_t edges = 0)
      : states_(std::move(states)), edge_count_(edges) {}
  ~OwnDeployment() override { end_lines(); }

  // A client dials, at once if the cloud is there, else as soon as it is.
  void dial(const std::string& name, const std::filesystem::path& data) {
    const std::size_t number = sites_.size();
    const auto [found, fresh] = sites_.try_emplace(name);
    Site& site = found->second;
    if (fresh) site.number = number;
    site.line.reset();
    site.answerer = std::make_unique<Answerer>(
        client_answers({.to = {}, .security = {}, .clients = {}, .name = name, .data = data, .state = states_ / name}));
    if (running_) connect(name, site);
  }

  // Runs the recipe, or goes on with a run.
  Result<RunSummary> run(Recipe recipe, SimulationOptions options, const std::string& resumed = "") {
    end_lines();
    if (resumed.empty()) {
      own_ = std::make_shared<OwnAdmission>(recipe);
    } else {
      MUSTER_ASSIGN(const RunFolder folder, RunFolder::open(options.out, resumed));
      MUSTER_ASSIGN(recipe, load_recipe((folder.path() / "recipe.toml").string()));
      MUSTER_ASSIGN(own_, OwnAdmission::resume(recipe, folder.path()));
    }
    cloud_ = std::make_unique<RemoteClients>(own_->admit(), WireEvents{});
    cloud_->set_how_to_read(OwnAdmission::how_to_read(recipe));
    for (std::uint32_t e = 0; e < edge_count_; ++e) edges_.push_back(std::make_unique<EdgeInMemory>(*cloud_));
    running_ = true;
    for (auto& [name, site] : sites_) connect(name, site);
    if (resumed.empty()) {
      MUSTER_TRY(own_->gather(
          recipe, *cloud_, [this](std::size_t came, std::size_t wanted) { return !waiting || waiting(came, wanted); }));
    }
    options.data = own_->membership()->data();
    options.knows_samples = false;
    options.observers.push_back(this);
    options.federation = [this](const Recipe& settled, std::unique_ptr<LocalFederation> here,
                                const std::filesystem::path& folder) { return make(settled, std::move(here), folder); };
    Result<RunSummary> summary = resumed.empty() ? simulate(recipe, options) : resume(resumed, {}, options);
    const std::string signature = summary.ok() ? summary->signature : "";
    running_ = false;  // who dials from now on waits for the next run
    cloud_->finish(signature);
    for (const auto& edge : edges_) {
      if (edge) edge->clients.finish(signature);  // as its program does when the cloud has told it
    }
    return summary;
  }

  // How the client's run has ended: the signature, or why it was refused; "": it has not.
  std::string ended_now(const std::string& name) const {
    const auto end = sites_.at(name).answerer->end();
    return end ? end->text : "";
  }
  // The same within a few seconds.
  std::string ended(const std::string& name) const {
    (void)sites_.at(name).answerer->wait_closed(std::chrono::steady_clock::now() + std::chrono::seconds(20));
    return ended_now(name);
  }

  // Waits until the client, by its number, can be asked.
  bool arrives(ClientId client) {
    const std::vector<ClientId> one{client};
    return cloud_->wait_for(one, std::chrono::steady_clock::now() + std::chrono::seconds(20),
                            [](std::size_t) { return true; }) == 1;
  }

  void end(const Models&, RoundRecord& record) override { own_->let_join(record.round + 1, {}); }
  Status restore(const Checkpoint& checkpoint) override {
    own_->let_join(checkpoint.round + 1, {});
    return {};
  }

  // An edge dies, and its clients dial the cloud.
  void lose_edge(std::uint32_t number) {
    std::vector<std::string> lost;
    for (auto& [name, site] : sites_) {
      if (edge_of(site) != edges_[number].get()) continue;
      site.line.reset();
      lost.push_back(name);
    }
    edges_[number].reset();
    for (const std::string& name : lost) connect(name, sites_[name]);
  }
  // As the cloud sees it.
  [[nodiscard]] RemoteClients& cloud() { return *cloud_; }

  double round_deadline_s = 600;
  double over_select = 1;
  std::function<bool(std::size_t came, std::size_t wanted)> waiting;  // called while clients are waited for

 private:
  struct Site {
    std::size_t number = 0;  // in the order in which they first dialled
    std::unique_ptr<Answerer> answerer;
    std::unique_ptr<MemoryLine> line;
  };

  Result<std::unique_ptr<Federation>> make(const Recipe& recipe, std::unique_ptr<LocalFederation> here,
                                           const std::filesystem::path& folder) {
    MUSTER_ASSIGN(std::unique_ptr<ProfileKind> profile, make_profile_kind(recipe.profile));
    MUSTER_ASSIGN(std::unique_ptr<GroupTrainer> trainer,
                  make_group_trainer(recipe.training, recipe.aggregation, recipe.dp, recipe.seed));
    MUSTER_ASSIGN(WireRun run, next_incarnation(recipe, *here, folder));
    auto federation =
        std::make_unique<EdgeFederation>(std::move(here), std::move(profile), std::move(trainer), *cloud_,
                                         EdgeFederationOptions{.round_deadline_s = round_deadline_s,
                                                               .over_select = over_select,
                                                               .verifier = make_member_verifier({}, recipe.seed),
                                                               .members_by_name = true,
                                                               .keeps_parts = keeps_parts_in_clients(recipe)});
    MUSTER_TRY(own_->begin(std::move(run), *cloud_, *federation, folder));
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    (void)cloud_->wait_for(federation->roster().present(1), patience, [](std::size_t) { return true; });
    return std::unique_ptr<Federation>(std::move(federation));
  }

  EdgeInMemory* edge_of(const Site& site) {
    return edges_.empty() ? nullptr : edges_[site.number % edges_.size()].get();
  }

  void connect(const std::string& name, Site& site) {
    site.line.reset();
    EdgeInMemory* const edge = edge_of(site);
    RemoteClients& host = edge ? edge->clients : *cloud_;
    site.line = std::make_unique<MemoryLine>(
        [&](std::shared_ptr<Channel> channel) { return site.answerer->attach(std::move(channel)); },
        [&](std::shared_ptr<Channel> channel) {
          return host.attach(std::move(channel), name, false, [](const v1::Client&) { return true; });
        });
  }

  void end_lines() {
    for (auto& [name, site] : sites_) site.line.reset();
    edges_.clear();
  }

  std::filesystem::path states_;
  std::shared_ptr<OwnAdmission> own_;
  std::uint32_t edge_count_;
  bool running_ = false;
  std::unique_ptr<RemoteClients> cloud_;
  std::vector<std::unique_ptr<EdgeInMemory>> edges_;
  std::map<std::string, Site> sites_;
};

}  // namespace muster
