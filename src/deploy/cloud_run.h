// The cloud: the round loop of a recipe whose clients are processes of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deploy/identity_check.h"
#include "deploy/roster_board.h"
#include "deploy/status_page.h"
#include "engine/run_curve.h"
#include "engine/simulation.h"

namespace muster {

struct CloudRunOptions {
  Recipe recipe;                      // unless a run is resumed
  std::string resume;                 // a run's folder, or its id
  std::vector<std::string> settings;  // of a resumed run
  std::string listen;
  Security security;
  SimulationOptions simulation;  // as for a simulation; the federation is made here
  // Called once clients can dial: how many of them the run has. An error ends the run.
  std::function<Status(int port, std::uint32_t clients)> listening;
  SayNote note;  // what happens at the network; simulation.say has the rest
  StatusPageOptions status;
  RosterBoard* roster = nullptr;         // who is here, for whoever shows it; borrowed
  std::filesystem::path ledger_vectors;  // where the ledger's vectors are kept; empty: they are not
};

// What the cloud of a simulated partition makes of those that dial it, and what it tells them of the run in `folder`:
// all but listening. Every call is another incarnation.
[[nodiscard]] RemoteClients::Admit simulated_admission(std::uint32_t clients);
[[nodiscard]] Result<WireRun> next_incarnation(const Recipe& recipe, const Federation& federation,
                                               const std::filesystem::path& folder);

[[nodiscard]] Result<RunSummary> run_cloud(CloudRunOptions options);

// What a run in `out` left when it ended; nothing if it has something left to do, by its recipe as it is now.
[[nodiscard]] Result<std::optional<RunCurve>> finished_run(const std::filesystem::path& out, const std::string& run);

}  // namespace muster
