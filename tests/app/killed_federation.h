// A deployment of five processes on this machine, whose processes a test kills and starts again: the cloud, an edge,
// and three for clients, of which the second is behind the edge and goes to the cloud when that is gone.
#pragma once

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "app/background_process.h"
#include "command_line.h"
#include "free_port.h"

namespace muster {

class KilledFederation : public CommandLineTest {
 protected:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  KilledFederation() {
    cloud_ = "127.0.0.1:" + std::to_string(free_port());
    edge_ = "127.0.0.1:" + std::to_string(free_port());
  }

  [[nodiscard]] std::filesystem::path at(const std::string& name) const { return scratch_.path() / name; }

  // What `muster run` makes of the recipe.
  std::string signature_alone(const std::string& recipe, const Words& more = {}) const {
    Words words{"run", recipe, "--json", "--quiet", "--out", at("alone").string()};
    words.insert(words.end(), more.begin(), more.end());
    const Finished alone = muster(words);
    EXPECT_EQ(alone.status, 0) << alone.err;
    const auto told = nlohmann::json::parse(alone.out, nullptr, false);
    return told.is_object() ? told.value("signature", "") : "";
  }

  // Nothing is left of the run before.
  void clear() {
    processes_.clear();
    std::filesystem::remove_all(at("runs"));
    std::filesystem::remove_all(at("vectors"));
    for (const std::string& name : names_) {
      std::filesystem::remove(at(name + ".log"));
      std::filesystem::remove_all(at("states-" + name));
    }
    if (prepare_) prepare_();
  }

  // The process of that name, for the first time or again. `variables`: of its environment.
  void start(const std::string& name, const Environment& variables = {}) {
    Words words{MUSTER_BINARY};
    if (name == "cloud") {
      const std::string run = run_folder();
      words.insert(words.end(), {"cloud", "--listen", cloud_, "--out", at("runs").string(), "--json",
                                 "--ledger-vectors", at("vectors").string()});
      if (run.empty()) {
        words.push_back(recipe_);
      } else {
        words.insert(words.end(), {"--resume", run});
      }
    } else if (name == "edge") {
      words.insert(words.end(), {"edge", "--cloud", cloud_, "--listen", edge_});
    } else {
      words.insert(words.end(),
                   {"client", "--to", name == "client-1" ? edge_ + "," + cloud_ : cloud_, "--clients",
                    clients_[static_cast<std::size_t>(name.back() - '0')], "--state", at("states-" + name).string()});
    }
    words.emplace_back("--insecure");
    for (const auto& [variable, value] : variables) ::setenv(variable.c_str(), value.c_str(), 1);
    auto started = BackgroundProcess::start(words, at(name + ".log"));
    for (const auto& [variable, value] : variables) ::unsetenv(variable.c_str());
    ASSERT_TRUE(started.ok()) << started.error().message;
    processes_.insert_or_assign(name, std::move(started).value());
  }

  [[nodiscard]] std::string run_folder() const { return only_run(at("runs")); }

  std::string log(const std::string& name) const {
    std::ifstream in(at(name + ".log"));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // What the cloud printed last.
  std::string signature_told() const {
    const std::string said = log("cloud");
    const std::size_t result = said.rfind("{\"run\"");
    if (result == std::string::npos) return "none: " + said;
    return nlohmann::json::parse(said.substr(result))["signature"];
  }

  // What the checker says of the run's ledger, and whether it accepts it.
  Finished checked_ledger(bool lossless) const {
    Words words{MUSTER_LEDGER_CHECK, run_folder(), "--vectors", at("vectors").string()};
    if (lossless) words.emplace_back("--lossless");
    return Process(scratch_, words).wait();
  }

  const Words names_{"cloud", "edge", "client-0", "client-1", "client-2"};
  std::vector<std::string> clients_{"0-3", "4-7", "8-11"};  // of each process
  std::function<void()> prepare_;  // what processes find when they are started for the first time
  std::string recipe_;
  std::string cloud_;
  std::string edge_;
  std::map<std::string, BackgroundProcess> processes_;
};

}  // namespace muster
