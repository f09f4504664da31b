// A whole deployment in one process: cloud, edges and clients with the code of their programs, joined by lines in
// memory that a test may watch and cut.
#pragma once

#include <memory>
#include <vector>

#include "deploy/client_run.h"
#include "deploy/cloud_run.h"
#include "deploy/edge_in_memory.h"
#include "deploy/member_certificate.h"
#include "deploy/run_ledger.h"
#include "engine/noise_record.h"
#include "recipe/choices.h"
#include "wire/edge_federation.h"
#include "wire/memory_channel.h"

namespace muster {

struct DeploymentShape {
  std::uint32_t edges = 0;
  std::uint32_t processes = 3;           // for clients
  std::filesystem::path states = {};     // empty: in memory
  std::filesystem::path noise_key = {};  // of all processes; empty: each draws its own where it needs one
  EdgeFederationOptions federation = {};
  MemoryLine::Tap tap = {};        // of the lines to clients
  MemoryLine::Tap edge_tap = {};   // of the lines from edges to the cloud
  MemoryLine::Mangle mangle = {};  // of all lines
  RunLedger* ledger = nullptr;
  // What the cloud hosts groups with, in place of the recipe's.
  std::function<std::unique_ptr<GroupTrainer>(std::unique_ptr<GroupTrainer>)> host = {};
};

class DeploymentInMemory {
 public:
  explicit DeploymentInMemory(DeploymentShape shape) : shape_(std::move(shape)) {}
  ~DeploymentInMemory() { end(); }

  // For SimulationOptions; borrows this.
  auto maker() {
    return [this](const Recipe& settled, std::unique_ptr<LocalFederation> here, const std::filesystem::path& folder) {
      return make(settled, std::move(here), folder);
    };
  }

  Result<std::unique_ptr<Federation>> make(const Recipe& recipe, std::unique_ptr<LocalFederation> here,
                                           const std::filesystem::path& folder) {
    const std::uint32_t count = here->roster().clients();
    cloud_ = std::make_unique<RemoteClients>(simulated_admission(count), WireEvents{.log = shape_.ledger});
    MUSTER_ASSIGN(WireRun run, next_incarnation(recipe, *here, folder));
    if (shape_.ledger) MUSTER_TRY(shape_.ledger->begin(folder, run.welcome, recipe, count));
    cloud_->begin(std::move(run));
    for (std::uint32_t e = 0; e < shape_.edges; ++e) {
      const std::lock_guard lock(mutex_);
      edges_.push_back(std::make_unique<EdgeInMemory>(*cloud_, shape_.edge_tap, shape_.mangle));
    }
    const std::uint32_t processes = std::min(shape_.processes, count);
    for (std::uint32_t p = 0; p < processes; ++p) {
      ClientRunOptions options;
      options.clients = {{p * count / processes, (p + 1) * count / processes - 1}};
      if (!shape_.states.empty()) options.state = shape_.states / std::to_string(p);
      if (!shape_.noise_key.empty()) {
        MUSTER_TRY(make_folder(options.state));
        MUSTER_TRY(keep_noise_key(options.state, shape_.noise_key, false));
      }
      const std::lock_guard lock(mutex_);
      options_.push_back(options);
      answerers_.push_back(std::make_unique<Answerer>(client_answers(options)));
      connect_again(p);
    }
    std::vector<ClientId> all;
    for (std::uint32_t k = 0; k < count; ++k) all.push_back({k});
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    if (cloud_->wait_for(all, patience, [](std::size_t) { return true; }) != count) return failure("some did not come");
    MUSTER_ASSIGN(std::unique_ptr<ProfileKind> profile, make_profile_kind(recipe.profile));
    MUSTER_ASSIGN(std::unique_ptr<GroupTrainer> trainer,
                  make_group_trainer(recipe.training, recipe.aggregation, recipe.dp, recipe.seed));
    if (shape_.host) trainer = shape_.host(std::move(trainer));
    shape_.federation.keeps_parts = keeps_parts_in_clients(recipe);
    shape_.federation.verifier = make_member_verifier({}, recipe.seed);
    return std::unique_ptr<Federation>(std::make_unique<EdgeFederation>(
        std::move(here), std::move(profile), std::move(trainer), *cloud_, shape_.federation));
  }

  // A new line for the process, in place of the one it had.
  void connect(std::uint32_t process) {
    const std::lock_guard lock(mutex_);
    connect_again(process);
  }

  // The process dies, and another one takes its place.
  void restart(std::uint32_t process) {
    const std::lock_guard lock(mutex_);
    lines_[process].reset();
    answerers_[process].reset();
    answerers_[process] = std::make_unique<Answerer>(client_answers(options_[process]));
    connect_again(process);
  }

  // Gives every process whose line is cut a new one, and starts those again that have given up, until it is told to
  // stop.
  void keep_connected(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      const std::lock_guard lock(mutex_);
      for (std::uint32_t process = 0; process < answerers_.size(); ++process) {
        if (!answerers_[process]->wait_closed(std::chrono::steady_clock::now())) continue;
        if (answerers_[process]->end()) {
          lines_[process].reset();
          answerers_[process] = std::make_unique<Answerer>(client_answers(options_[process]));
        }
        connect_again(process);
      }
      for (const auto& edge : edges_) {
        if (edge->up->wait_closed(std::chrono::steady_clock::now())) edge->connect();
      }
    }
  }

  RemoteClients& cloud() { return *cloud_; }

  void end() {
    if (cloud_) cloud_->finish("");
    for (auto& line : lines_) line.reset();
    answerers_.clear();
    edges_.clear();
    cloud_.reset();
    lines_.clear();
  }

 private:
  void connect_again(std::uint32_t process) {
    RemoteClients& host = edges_.empty() ? *cloud_ : edges_[process % edges_.size()]->clients;
    if (lines_.size() <= process) lines_.resize(process + 1);
    lines_[process].reset();
    lines_[process] = std::make_unique<MemoryLine>(
        [&](std::shared_ptr<Channel> channel) { return answerers_[process]->attach(std::move(channel)); },
        [&](std::shared_ptr<Channel> channel) {
          return host.attach(std::move(channel), "process " + std::to_string(process), false,
                             [](const v1::Client&) { return true; });
        },
        shape_.tap, shape_.mangle);
  }

  DeploymentShape shape_;
  std::mutex mutex_;  // of answerers and lines, while lines are renewed
  std::unique_ptr<RemoteClients> cloud_;
  std::vector<std::unique_ptr<EdgeInMemory>> edges_;
  std::vector<ClientRunOptions> options_;
  std::vector<std::unique_ptr<Answerer>> answerers_;
  std::vector<std::unique_ptr<MemoryLine>> lines_;
};

}  // namespace muster
