// `muster federate`, `cloud`, `edge` and `client`, as they are typed.
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/background_process.h"
#include "command_line.h"
#include "free_port.h"

namespace muster {
namespace {

using testing::HasSubstr;

class Federate : public CommandLineTest {
 protected:
  // What --keep says to do on several machines, word for word, with machines that are all this one.
  void on_machines_of_their_own(const std::string& kept, const std::string& signature) const {
    const std::string script = kept + "/machines/commands.sh";
    const auto words = [&, ports = Words{fmt::format("CLOUD_PORT={}", free_port()),
                                         fmt::format("EDGE_0_PORT={}", free_port()),
                                         fmt::format("EDGE_1_PORT={}", free_port())}](Words more) {
      Words all{"/usr/bin/env"};
      all.insert(all.end(), ports.begin(), ports.end());
      all.insert(all.end(), {"/bin/sh", script});
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    EXPECT_EQ(Process(scratch_, words({})).wait().status, 2);
    const Finished issued = Process(scratch_, words({"pki"})).wait();
    ASSERT_EQ(issued.status, 0) << issued.err;
    std::vector<BackgroundProcess> others;
    for (const char* const name : {"client-sim-0", "client-sim-1", "client-sim-2", "edge-e0", "edge-e1"}) {
      auto started = BackgroundProcess::start(words({name}), kept + "/machines/" + name + ".log");
      ASSERT_TRUE(started.ok()) << started.error().message;
      others.push_back(std::move(started).value());
    }
    const Finished cloud = Process(scratch_, words({"cloud", "--json", "--quiet"})).wait();
    ASSERT_EQ(cloud.status, 0) << cloud.err;
    EXPECT_EQ(nlohmann::json::parse(cloud.out)["signature"], signature);
    for (BackgroundProcess& other : others) EXPECT_EQ(other.wait(20), 0);
  }
};

TEST_F(Federate, OverTlsWithEdgesHasTheSignatureOfItsSimulation) {
  const std::string kept = (scratch_.path() / "kept").string();
  const Finished finished = muster({"federate",      "fedgsp",
                                    "--edges",       "2",
                                    "--clients",     "3",
                                    "--keep",        kept,
                                    "--rounds",      "2",
                                    "--connections", "2",
                                    "--json",        "--quiet",
                                    "--out",         (scratch_.path() / "runs").string(),
                                    "--set",         "data.source=blobs",
                                    "--set",         "data.clients=20",
                                    "--set",         "data.samples-min=40",
                                    "--set",         "data.samples-max=60"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  const auto told = nlohmann::json::parse(finished.out);
  EXPECT_EQ(told["equal"], true);
  EXPECT_EQ(told["signature"], told["simulation_signature"]);
  EXPECT_EQ(told["edges"], 2);
  EXPECT_EQ(told["processes"], 6);
  EXPECT_EQ(told["rounds"], 2);
  EXPECT_GT(told["simulation_time"]["train_s"], 0);
  on_machines_of_their_own(kept, told["signature"]);
}

TEST_F(Federate, SecureSumsOverTlsHaveTheSignatureOfTheirSimulation) {
  const Finished finished = muster({"federate",  "group-fel",
                                    "--edges",   "1",
                                    "--clients", "4",
                                    "--rounds",  "2",
                                    "--json",    "--quiet",
                                    "--out",     (scratch_.path() / "runs").string(),
                                    "--set",     "aggregation.in-group=secure-sum",
                                    "--set",     "data.source=blobs",
                                    "--set",     "data.clients=20",
                                    "--set",     "data.samples-min=40",
                                    "--set",     "data.samples-max=60"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto told = nlohmann::json::parse(finished.out);
  EXPECT_EQ(told["equal"], true);
  std::ifstream rounds(std::filesystem::path(told["dir"].get<std::string>()) / "rounds.jsonl");
  for (std::string line; std::getline(rounds, line);) {
    const auto round = nlohmann::json::parse(line);
    EXPECT_GT(round["secure"]["sums"], 0) << round;
    EXPECT_EQ(round["secure"]["lost"].size(), 0u) << round;
  }
}

TEST_F(Federate, TellsOfAllProcessesInOneLine) {
  const std::string kept = (scratch_.path() / "kept").string();
  const Finished finished = muster({"federate",
                                    "fedavg",
                                    "--clients",
                                    "2",
                                    "--rounds",
                                    "1",
                                    "--insecure",
                                    "--keep",
                                    kept,
                                    "--out",
                                    (scratch_.path() / "runs").string(),
                                    "--set",
                                    "data.source=blobs",
                                    "--set",
                                    "data.clients=6",
                                    "--set",
                                    "data.samples-min=40",
                                    "--set",
                                    "data.samples-max=60",
                                    "--set",
                                    "model.name=softmax"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("  6 of 6 clients here, 0 dropped  "));
  EXPECT_THAT(finished.err, HasSubstr("sh " + kept + "/machines/commands.sh does the same on several machines"));
}

TEST_F(Federate, MistakesAreOneLine) {
  expect_error({"cloud", "--listen", "127.0.0.1:0", "--insecure"}, 2, HasSubstr("want a recipe, or --resume RUN"));
  expect_error({"cloud", "demo", "--listen", "127.0.0.1:0"}, 2, HasSubstr("--pki: missing"));
  expect_error({"cloud", "demo", "--listen", "0.0.0.0:0", "--insecure"}, 2,
               HasSubstr("loopback only, not for 0.0.0.0:0"));
  for (const char* const wrong : {"nonsense", "127.0.0.1:99999", "127.0.0.1:", ":7400", "127.0.0.1:7x"}) {
    expect_error({"cloud", "demo", "--listen", wrong, "--insecure"}, 2,
                 HasSubstr(std::string("--listen: ") + wrong + ", want host:port with a port from 0 to 65535"));
  }
  // More clients than can ever come, of a partition and with data of their own.
  expect_error({"cloud", "demo", "--listen", "127.0.0.1:0", "--insecure", "--quiet", "--set",
                "deployment.wait-clients=41", "--set", "data.clients=40", "--out", scratch_.path().string()},
               2,
               HasSubstr("deployment.wait-clients: 41, but 40 clients are to be there in the first round; want a count "
                         "from 1 to 40, or a share in (0, 1]"));
  expect_error({"cloud", "fedavg", "--listen", "127.0.0.1:0", "--insecure", "--quiet", "--set", "data.source=csv",
                "--set", "data.clients=6", "--set", "newcomers.round=3", "--set", "newcomers.clients=2", "--set",
                "deployment.wait-clients=5", "--out", scratch_.path().string()},
               2, HasSubstr("deployment.wait-clients: 5, but 4 clients are to be there in the first round"));
  expect_error({"client", "--to", "127.0.0.1:0", "--clients", "0-3", "--insecure"}, 2,
               HasSubstr("a port from 1 to 65535"));
  expect_error({"client", "--to", "127.0.0.1:1", "--insecure"}, 2,
               HasSubstr("--data: missing; this client's own CSV or npz (or --clients"));
  expect_error({"client", "--to", "127.0.0.1:1", "--clients", "9-3", "--insecure"}, 2, HasSubstr("9-3"));
  expect_error({"client", "--to", "127.0.0.1:1", "--clients", "0-3", "--insecure", "--patience", "0.1", "--quiet"}, 1,
               HasSubstr("127.0.0.1:1 cannot be reached"));
  expect_error({"client", "--to", "127.0.0.1:1", "--clients", "0-3", "--insecure", "--connections", "5"}, 2,
               HasSubstr("--connections: 5, want at most 4"));
  expect_error({"client", "--to", "127.0.0.1:1", "--clients", "0-3", "--insecure", "--connections", "3", "--patience",
                "0.1", "--quiet"},
               1, HasSubstr("127.0.0.1:1 cannot be reached"));
  expect_error({"federate", "no-such-recipe"}, 2, HasSubstr("no-such-recipe"));
  expect_error({"federate", "demo", "--edges", "1000"}, 2, HasSubstr("--edges"));
}

}  // namespace
}  // namespace muster
