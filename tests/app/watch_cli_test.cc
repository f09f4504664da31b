// Whoever runs a deployment can watch it: metrics and health over loopback, logs that programs read.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "app/background_process.h"
#include "command_line.h"
#include "deploy/prometheus_reader.h"
#include "net/http_get.h"

namespace muster {
namespace {

using testing::HasSubstr;

class WatchedFederation : public CommandLineTest {
 protected:
  [[nodiscard]] std::filesystem::path at(const std::string& name) const { return scratch_.path() / name; }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream in(at(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  BackgroundProcess start(const std::string& name, Words words) const {
    words.insert(words.begin(), MUSTER_BINARY);
    words.insert(words.end(), {"--insecure", "--log-json"});
    auto started = BackgroundProcess::start(words, at(name + ".log"));
    EXPECT_TRUE(started.ok());
    return std::move(started).value();
  }
  // The address in a file that a process writes when it listens.
  [[nodiscard]] std::string announced(const std::string& name) const {
    for (int i = 0; i < 1000; ++i) {
      const std::string address = content(name);
      if (address.ends_with('\n')) return address.substr(0, address.size() - 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << name << " was not written";
    return "127.0.0.1:1";
  }
  // Asks until it says this, at most 20 s.
  static HttpGot await(const std::string& address, const std::string& path, const std::string& wanted) {
    HttpGot got;
    for (int i = 0; i < 1000; ++i) {
      got = http_get(address, path);
      if (got.body.find(wanted) != std::string::npos) return got;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << address << path << " never said " << wanted << ", at last " << got.body;
    return got;
  }
  // All lines of a log but the result; what they have in common is checked.
  [[nodiscard]] std::vector<nlohmann::json> log(const std::string& role) const {
    std::vector<nlohmann::json> lines;
    std::istringstream in(content(role + ".log"));
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("{\"run\":")) continue;
      const nlohmann::json read = nlohmann::json::parse(line, nullptr, false);
      EXPECT_TRUE(read.is_object()) << line;
      if (!read.is_object()) continue;
      EXPECT_EQ(read.value("role", ""), role);
      EXPECT_EQ(read.value("time", "").size(), std::string("2026-01-01T00:00:00.000Z").size()) << line;
      EXPECT_TRUE(read.contains("level") && read.contains("message")) << line;
      lines.push_back(read);
    }
    return lines;
  }
};

TEST_F(WatchedFederation, TellsWhatItDoes) {
  const std::string recipe = file("recipe.toml", R"(
name = "watched"
rounds = 3
[data]
source = "synthetic"
clients = 4
test-fraction = 0.2
[model]
name = "mlp"
hidden = [8]
[local]
batch-size = 8
learning-rate = 0.05
)");
  auto cloud =
      start("cloud", {"cloud", recipe, "--listen", "127.0.0.1:0", "--announce", at("cloud").string(), "--metrics", "0",
                      "--announce-metrics", at("cloud-metrics").string(), "--out", at("runs").string(), "--json"});
  const std::string cloud_address = announced("cloud");
  const std::string cloud_metrics = announced("cloud-metrics");
  const HttpGot waiting = await(cloud_metrics, "/healthz", "waiting for clients: 0 of 4 are here");
  EXPECT_EQ(waiting.status, 503);
  auto edge = start("edge", {"edge", "--cloud", cloud_address, "--listen", "127.0.0.1:0", "--announce",
                             at("edge").string(), "--metrics", "0", "--announce-metrics", at("edge-metrics").string()});
  const std::string edge_address = announced("edge");
  const std::string edge_metrics = announced("edge-metrics");
  EXPECT_EQ(await(edge_metrics, "/healthz", "ok").status, 200);
  // Half of the clients: the run does not begin before the others are there.
  auto first = start("first", {"client", "--to", edge_address, "--clients", "0-1"});
  await(edge_metrics, "/metrics", "muster_clients_connected 2\n");
  const auto edge_figures = read_prometheus(http_get(edge_metrics, "/metrics").body);
  EXPECT_EQ(edge_figures.at("muster_peers{kind=\"client\"}"), 1);
  EXPECT_EQ(edge_figures.at("muster_incarnation"), 1);
  await(cloud_metrics, "/metrics", "muster_clients_connected 2\n");
  const auto figures = read_prometheus(http_get(cloud_metrics, "/metrics").body);
  EXPECT_EQ(figures.at("muster_peers{kind=\"edge\"}"), 1);
  EXPECT_EQ(figures.at("muster_clients_roster"), 4);
  EXPECT_EQ(figures.at("muster_rounds_wanted"), 3);
  EXPECT_EQ(figures.at("muster_drops_total{reason=\"unreachable\"}"), 0);
  auto client = start("client", {"client", "--to", cloud_address, "--clients", "2-3"});
  EXPECT_EQ(cloud.wait(60), 0) << content("cloud.log");
  for (BackgroundProcess* process : {&edge, &first, &client}) EXPECT_EQ(process->wait(30), 0);

  std::vector<int> rounds;
  for (const nlohmann::json& line : log("cloud")) {
    if (line.contains("participants")) rounds.push_back(line["round"]);
  }
  EXPECT_EQ(rounds, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(log("edge").empty());
  EXPECT_FALSE(log("client").empty());
  EXPECT_EQ(http_get(cloud_metrics, "/healthz").status, 0);  // gone with the process
}

// What service managers do: it has not failed, and is not started again.
TEST_F(WatchedFederation, StoppedPeersHaveNotFailed) {
  auto edge = start("edge", {"edge", "--cloud", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--announce", at("edge")});
  (void)announced("edge");
  ::kill(edge.id(), SIGTERM);
  EXPECT_EQ(edge.wait(20), 143);
  ASSERT_FALSE(log("edge").empty());
  EXPECT_EQ(log("edge").back()["message"], "interrupted");
  EXPECT_EQ(log("edge").back()["level"], "info");
}

// An edge has no round to finish, and nothing to save.
TEST_F(WatchedFederation, StoppedPeersSayWhatTheyDo) {
  auto edge = BackgroundProcess::start({MUSTER_BINARY, "edge", "--cloud", "127.0.0.1:1", "--listen", "127.0.0.1:0",
                                        "--announce", at("edge").string(), "--insecure"},
                                       at("edge.log"));
  ASSERT_TRUE(edge.ok());
  (void)announced("edge");
  ::kill(edge->id(), SIGTERM);
  EXPECT_EQ(edge->wait(20), 143);
  EXPECT_THAT(content("edge.log"), HasSubstr("muster: leaving the run once the work at hand is done"));
}

TEST_F(WatchedFederation, ErrorsAreInTheLogToo) {
  const Finished lost = muster({"edge", "--cloud", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--insecure", "--patience",
                                "0.1", "--quiet", "--log-json"});
  EXPECT_EQ(lost.status, 1);
  const nlohmann::json line = nlohmann::json::parse(lost.err, nullptr, false);
  ASSERT_TRUE(line.is_object()) << lost.err;
  EXPECT_EQ(line["level"], "error");
  EXPECT_EQ(line["role"], "edge");
  EXPECT_THAT(line["message"], HasSubstr("127.0.0.1:1 cannot be reached"));
  expect_error({"edge", "--cloud", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--insecure", "--metrics", "70000"}, 2,
               HasSubstr("--metrics"));
}

}  // namespace
}  // namespace muster
