// A cloud and clients with files of their own in one process, joined by lines in memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "deploy/client_run.h"
#include "deploy/cloud_run.h"
#include "deploy/own_admission.h"
#include "recipe/choices.h"
#include "record/run_folder.h"
#include "wire/memory_channel.h"

namespace muster {

class OwnDeployment final : public RoundObserver {
 public:
  explicit OwnDeployment(std::filesystem::path states) : states_(std::move(states)) {}
  ~OwnDeployment() override { end_lines(); }

  // A client dials, at once if the cloud is there, else as soon as it is.
  void dial(const std::string& name, const std::filesystem::path& data) {
    Site& site = sites_[name];
    site.line.reset();
    site.answerer = std::make_unique<Answerer>(
        client_answers({.to = {}, .security = {}, .clients = {}, .name = name, .data = data, .state = states_ / name}));
    if (cloud_) connect(name, site);
  }

  // Runs the recipe, or goes on with a run.
  Result<RunSummary> run(Recipe recipe, SimulationOptions options, const std::string& resumed = "") {
    end_lines();
    if (resumed.empty()) {
      own_ = std::make_shared<OwnAdmission>(recipe.data);
    } else {
      MUSTER_ASSIGN(const RunFolder folder, RunFolder::open(options.out, resumed));
      MUSTER_ASSIGN(recipe, load_recipe((folder.path() / "recipe.toml").string()));
      MUSTER_ASSIGN(own_, OwnAdmission::resume(recipe, folder.path()));
    }
    cloud_ = std::make_unique<RemoteClients>(own_->admit(), WireEvents{});
    cloud_->set_how_to_read(OwnAdmission::how_to_read(recipe));
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
    cloud_->finish(summary.ok() ? summary->signature : "");
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

  double round_deadline_s = 600;
  std::function<bool(std::size_t came, std::size_t wanted)> waiting;  // called while clients are waited for

 private:
  struct Site {
    std::unique_ptr<Answerer> answerer;
    std::unique_ptr<MemoryLine> line;
  };

  Result<std::unique_ptr<Federation>> make(const Recipe& recipe, std::unique_ptr<LocalFederation> here,
                                           const std::filesystem::path& folder) {
    MUSTER_ASSIGN(std::unique_ptr<ProfileKind> profile, make_profile_kind(recipe.profile));
    MUSTER_ASSIGN(std::unique_ptr<GroupTrainer> trainer,
                  make_group_trainer(recipe.training, recipe.aggregation.in_group, recipe.seed));
    MUSTER_ASSIGN(WireRun run, next_incarnation(recipe, *here, folder));
    auto federation = std::make_unique<EdgeFederation>(
        std::move(here), std::move(profile), std::move(trainer), *cloud_,
        EdgeFederationOptions{.round_deadline_s = round_deadline_s, .keeps_parts = keeps_parts_in_clients(recipe)});
    MUSTER_TRY(own_->begin(std::move(run), *cloud_, *federation, folder));
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    (void)cloud_->wait_for(federation->roster().present(1), patience, [](std::size_t) { return true; });
    return std::unique_ptr<Federation>(std::move(federation));
  }

  void connect(const std::string& name, Site& site) {
    site.line.reset();
    site.line = std::make_unique<MemoryLine>(
        [&](std::shared_ptr<Channel> channel) { return site.answerer->attach(std::move(channel)); },
        [&](std::shared_ptr<Channel> channel) {
          return cloud_->attach(std::move(channel), name, false, [](const v1::Client&) { return true; });
        });
  }

  void end_lines() {
    for (auto& [name, site] : sites_) site.line.reset();
  }

  std::filesystem::path states_;
  std::shared_ptr<OwnAdmission> own_;
  std::unique_ptr<RemoteClients> cloud_;
  std::map<std::string, Site> sites_;
};

}  // namespace muster
