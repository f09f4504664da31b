// `muster cloud` and `muster client --data`: clients with files of their own, over TLS, as they are typed.
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "app/background_process.h"
#include "command_line.h"

namespace muster {
namespace {

using testing::HasSubstr;

class OwnFiles : public CommandLineTest {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return (scratch_.path() / name).string(); }

  void issue(const Words& words) {
    Words all{"pki", "issue", at("pki")};
    all.insert(all.end(), words.begin(), words.end());
    const Finished issued = muster(all);
    ASSERT_EQ(issued.status, 0) << issued.err;
  }
  BackgroundProcess start(const std::string& name, Words words) {
    words.insert(words.begin(), MUSTER_BINARY);
    auto started = BackgroundProcess::start(words, at(name + ".log"));
    EXPECT_TRUE(started.ok());
    return std::move(started).value();
  }
  BackgroundProcess client(const std::string& name, const std::string& to, const Words& more = {}) {
    issue({"--role", "client", "--name", name});
    Words words{"client",          "--to",    to,          "--pki", at("pki/client-" + name), "--data",
                at(name + ".csv"), "--state", at("states")};
    words.insert(words.end(), more.begin(), more.end());
    return start(name, words);
  }
  // What a file says, once it says it.
  std::string wait_for(const std::string& path, const std::string& wanted = "\n") {
    std::string text;
    for (int i = 0; i < 1500 && text.find(wanted) == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (std::filesystem::exists(path)) text = slurp(path);
    }
    return text;
  }

  // An address that a process announces.
  std::string announced(const std::string& name) {
    std::string address = wait_for(at(name));
    if (!address.empty()) address.pop_back();
    return address;
  }
};

TEST_F(OwnFiles, HaveTheSignatureOfOneTableAndWhoDoesNotFitIsToldWhy) {
  std::string all = "client,height,weight,label\n";
  for (const char* const name : {"graz", "linz", "wels"}) {
    std::string own = "height,weight,label\n";
    for (int i = 0; i < 30; ++i) {
      const std::string row = fmt::format("{:.1f},{:.1f},{}\n", 150 + 20 * std::sin(i + name[0]),
                                          60.0 + i % 7 + name[1] % 5, i % 3 ? "a" : "b");
      own += row;
      all += fmt::format("{},{}", name, row);
    }
    file(std::string(name) + ".csv", own);
  }
  file("odd.csv", "height,mass,label\n150,60,a\n");
  const Words recipe{"fedavg", "--rounds", "3", "--set", "data.source=csv", "--set", "evaluation.on=clients"};
  Words alone{"run", "--json", "--quiet", "--out", at("alone"), "--set", "data.path=" + file("all.csv", all)};
  alone.insert(alone.end(), recipe.begin(), recipe.end());
  const Finished simulated = muster(alone);
  ASSERT_EQ(simulated.status, 0) << simulated.err;

  ASSERT_EQ(muster({"pki", "init", at("pki")}).status, 0);
  issue({"--role", "cloud", "--name", "main", "--host", "127.0.0.1"});
  Words words{"cloud", "--listen", "127.0.0.1:0", "--announce", at("address"),   "--pki", at("pki/cloud-main"),
              "--out", at("runs"), "--json",      "--set",      "data.clients=3"};
  words.insert(words.end(), recipe.begin(), recipe.end());
  BackgroundProcess cloud = start("cloud", words);
  const std::string address = announced("address");
  ASSERT_FALSE(address.empty()) << slurp(at("cloud.log"));
  issue({"--role", "edge", "--name", "north", "--host", "127.0.0.1"});
  BackgroundProcess edge = start("edge", {"edge", "--cloud", address, "--listen", "127.0.0.1:0", "--announce",
                                          at("edge-address"), "--pki", at("pki/edge-north"), "--log-json"});
  const std::string behind = announced("edge-address");
  ASSERT_FALSE(behind.empty()) << slurp(at("edge.log"));
  std::vector<BackgroundProcess> clients;
  clients.push_back(client("wels", address));
  clients.push_back(client("odd", behind));
  clients.push_back(client("graz", behind));
  EXPECT_EQ(clients[1].wait(30), 1);
  EXPECT_THAT(slurp(at("odd.log")), HasSubstr("refused this process: it has a column 'mass', which the other clients"));
  file("strict.csv", slurp(at("linz.csv")));
  BackgroundProcess strict = client("strict", address, {"--require", "aggregation.in-group=secure-sum"});
  EXPECT_EQ(strict.wait(30), 1);
  EXPECT_THAT(slurp(at("strict.log")), HasSubstr("and this client requires aggregation.in-group=secure-sum"));
  EXPECT_THAT(slurp(at("strict.log")), testing::Not(HasSubstr("training rows"))) << "it told of its data";
  clients.push_back(client("linz", behind + "," + address));
  EXPECT_EQ(cloud.wait(60), 0) << slurp(at("cloud.log"));
  for (const std::size_t i : {0u, 2u, 3u}) EXPECT_EQ(clients[i].wait(20), 0);
  EXPECT_EQ(edge.wait(20), 0) << slurp(at("edge.log"));
  EXPECT_THAT(slurp(at("edge.log")), HasSubstr(R"("name":"north","peer":"client odd")"));
  const std::string said = slurp(at("cloud.log"));
  const std::size_t result = said.rfind("{\"run\"");
  ASSERT_NE(result, std::string::npos) << said;
  const auto told = nlohmann::json::parse(said.substr(result));
  EXPECT_EQ(told["signature"], nlohmann::json::parse(simulated.out)["signature"]) << said;
  EXPECT_EQ(told["clients"], 3);

  // It is over: nobody is waited for, and the result is told once more.
  const Finished again =
      muster({"cloud", "--resume", told["dir"], "--listen", "127.0.0.1:0", "--pki", at("pki/cloud-main"), "--json"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(nlohmann::json::parse(again.out)["signature"], told["signature"]);
  EXPECT_THAT(again.err, HasSubstr("is over, and nothing is left to do"));
}

// Its certificate is made while the run goes on.
TEST_F(OwnFiles, ANewcomerJoinsThroughAnEdge) {
  for (const char* const name : {"graz", "linz", "wels"}) {
    std::string own = "height,weight,label\n";
    for (int i = 0; i < 12; ++i) own += fmt::format("{},{},{}\n", 150 + (7 * i + name[0]) % 40, 60 + i, "ab"[i % 2]);
    file(std::string(name) + ".csv", own);
  }
  ASSERT_EQ(muster({"pki", "init", at("pki")}).status, 0);
  issue({"--role", "cloud", "--name", "main"});
  issue({"--role", "edge", "--name", "north"});
  BackgroundProcess cloud = start("cloud", {"cloud",      "fedavg",
                                            "--rounds",   "200",
                                            "--set",      "data.source=csv",
                                            "--set",      "data.clients=3",
                                            "--set",      "model.name=softmax",
                                            "--set",      "newcomers.round=3",
                                            "--set",      "newcomers.clients=1",
                                            "--set",      "plan.sample-clients=3",
                                            "--set",      "evaluation.every=200",
                                            "--listen",   "127.0.0.1:0",
                                            "--announce", at("address"),
                                            "--pki",      at("pki/cloud-main"),
                                            "--out",      at("runs"),
                                            "--log-json"});
  const std::string address = announced("address");
  BackgroundProcess edge = start("edge", {"edge", "--cloud", address, "--listen", "127.0.0.1:0", "--announce",
                                          at("edge-address"), "--pki", at("pki/edge-north")});
  const std::string behind = announced("edge-address");
  ASSERT_FALSE(behind.empty()) << slurp(at("edge.log"));
  BackgroundProcess graz = client("graz", behind);
  BackgroundProcess linz = client("linz", behind);
  EXPECT_THAT(wait_for(at("cloud.log"), "round 2 is trained"), HasSubstr("round 2 is trained"));
  BackgroundProcess wels = client("wels", behind);
  EXPECT_EQ(cloud.wait(90), 0) << slurp(at("cloud.log"));
  EXPECT_EQ(wels.wait(20), 0) << slurp(at("wels.log"));
  EXPECT_EQ(edge.wait(20), 0) << slurp(at("edge.log"));
  EXPECT_EQ(graz.wait(20), 0);
  EXPECT_EQ(linz.wait(20), 0);
  const std::string said = slurp(at("cloud.log"));
  EXPECT_THAT(said, HasSubstr("wels joins from round "));
  EXPECT_THAT(said, testing::Not(HasSubstr(R"("drops":)")));
  const std::string run = said.substr(said.find("folder     ") + 11);
  const std::string clients = slurp(run.substr(0, run.find('\n')) + "/clients.csv");
  std::istringstream row(clients.substr(std::min(clients.find(",wels,"), clients.size())));
  std::string cell;
  for (int column = 1; column <= 5; ++column) std::getline(row, cell, ',');  // name, samples, group, trained
  EXPECT_GT(std::stoi("0" + cell), 0) << clients;
}

TEST_F(OwnFiles, MistakesAreOneLine) {
  const std::string table = file("t.csv", "a,label\n1,x\n");
  expect_error({"client", "--to", "127.0.0.1:1", "--insecure", "--name", "a", "--data", table, "--require", "dp.clp=1"},
               2, HasSubstr("--require: dp.clp"));
  expect_error({"client", "--to", "127.0.0.1:1", "--insecure", "--data", table}, 2, HasSubstr("--name: missing"));
  expect_error({"client", "--to", "127.0.0.1:1", "--insecure", "--name", "a", "--data", at("none.csv")}, 2,
               HasSubstr("--data: " + at("none.csv") + ": no such file"));
  expect_error({"client", "--to", "127.0.0.1:1", "--insecure", "--data", table, "--clients", "0-3"}, 2,
               HasSubstr("does not go with --clients"));
  expect_error({"cloud", "fedavg", "--set", "data.source=csv", "--listen", "127.0.0.1:0", "--insecure", "--quiet"}, 2,
               HasSubstr("data.clients: missing"));
  expect_error({"run", "fedavg", "--set", "data.source=csv", "--set", "data.clients=3", "--quiet"}, 2,
               HasSubstr("only the clients of `muster cloud` bring their own files"));
}

}  // namespace
}  // namespace muster
