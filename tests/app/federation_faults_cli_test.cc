// What happens to processes and networks: they are stopped and go on, bytes are late, changed or swallowed, disks are
// full, clocks jump. Everybody who is back before the deadline counts, and the run ends with the signature of its
// simulation; who is not is a recorded drop. Longer versions of some where MUSTER_FAULTS is set.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/background_process.h"
#include "command_line.h"
#include "faulty_wire.h"
#include "stateful_recipe.h"

namespace muster {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

bool long_version() {
  return std::getenv("MUSTER_FAULTS") != nullptr;
}

class FederationFaults : public CommandLineTest {
 protected:
  FederationFaults() { recipe_ = file("recipe.toml", kStatefulRecipe); }

  [[nodiscard]] std::filesystem::path at(const std::string& name) const { return scratch_.path() / name; }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream in(at(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // `words` without the program; with certificates once make_certificates() was called.
  void start(const std::string& name, Words words) {
    words.insert(words.begin(), MUSTER_BINARY);
    start_program(name, std::move(words));
  }
  void start_program(const std::string& name, Words words) {
    if (certificates_) {
      words.insert(words.end(), {"--pki", at("pki/" + name).string()});
    } else {
      words.emplace_back("--insecure");
    }
    auto started = BackgroundProcess::start(words, at(name + ".log"));
    ASSERT_TRUE(started.ok()) << started.error().message;
    processes_.insert_or_assign(name, std::move(started).value());
  }
  void start_cloud(const Words& more = {}) { start("cloud-main", cloud_words(more)); }
  [[nodiscard]] Words cloud_words(const Words& more) const {
    Words words{
        "cloud", recipe_, "--listen", "127.0.0.1:0", "--announce", at("address").string(), "--out", at("runs").string(),
        "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void start_client(int number, const std::string& to, const Words& more = {}) {
    start(fmt::format("client-{}", number), client_words(number, to, more));
  }
  [[nodiscard]] Words client_words(int number, const std::string& to, const Words& more = {}) const {
    Words words{"client",
                "--to",
                to,
                "--state",
                at(fmt::format("states-{}", number)).string(),
                "--clients",
                fmt::format("{}-{}", 4 * number, 4 * number + 3)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void make_certificates() {
    const std::string pki = at("pki").string();
    ASSERT_EQ(muster({"pki", "init", pki}).status, 0);
    ASSERT_EQ(muster({"pki", "issue", pki, "--role", "cloud", "--name", "main"}).status, 0);
    ASSERT_EQ(muster({"pki", "issue", pki, "--role", "edge", "--name", "north"}).status, 0);
    for (int i = 0; i < 3; ++i) {
      const std::string clients = fmt::format("{}-{}", 4 * i, 4 * i + 3);
      ASSERT_EQ(
          muster({"pki", "issue", pki, "--role", "client", "--name", std::to_string(i), "--clients", clients}).status,
          0);
    }
    certificates_ = true;
  }
  // The address in a file that a process writes when it listens.
  [[nodiscard]] std::string announced(const std::string& name) const {
    for (int i = 0; i < 3000; ++i) {
      const std::string address = content(name);
      if (address.ends_with('\n')) return address.substr(0, address.size() - 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << name << " was not written\n" << content("cloud-main.log");
    return "127.0.0.1:1";
  }
  static int port_of(const std::string& address) { return std::stoi(address.substr(address.rfind(':') + 1)); }

  [[nodiscard]] std::vector<nlohmann::json> rounds() const {
    std::vector<nlohmann::json> lines;
    std::error_code error;
    for (const auto& run : std::filesystem::directory_iterator(at("runs"), error)) {
      std::ifstream in(run.path() / "rounds.jsonl");
      for (std::string line; std::getline(in, line);) {
        const nlohmann::json round = nlohmann::json::parse(line, nullptr, false);
        if (round.is_object()) lines.push_back(round);
      }
    }
    return lines;
  }
  void wait_for_round(std::size_t round) const {
    const auto begun = Clock::now();
    while (rounds().size() < round && since(begun) < 60) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_GE(rounds().size(), round) << content("cloud-main.log");
  }
  void wait_until_said(const std::string& name, const std::string& words, double patience_s) const {
    const auto begun = Clock::now();
    while (content(name + ".log").find(words) == std::string::npos) {
      ASSERT_LT(since(begun), patience_s) << name << " never said: " << words << "\n" << content(name + ".log");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  void signal(const std::string& name, int what) const { ::kill(processes_.at(name).id(), what); }

  // What the cloud says at its end.
  [[nodiscard]] std::string signature_told() const {
    const std::string said = content("cloud-main.log");
    const std::size_t result = said.rfind("{\"run\"");
    if (result == std::string::npos) return "no result: " + said;
    return nlohmann::json::parse(said.substr(result))["signature"];
  }
  [[nodiscard]] std::string simulated() const {
    const Finished alone = muster({"run", recipe_, "--json", "--quiet", "--out", at("alone").string()});
    EXPECT_EQ(alone.status, 0) << alone.err;
    return nlohmann::json::parse(alone.out)["signature"];
  }
  void expect_the_simulations_end(double patience_s = 90) {
    ASSERT_EQ(processes_.at("cloud-main").wait(patience_s), 0) << content("cloud-main.log");
    EXPECT_EQ(signature_told(), simulated()) << content("cloud-main.log");
  }

  std::string recipe_;
  bool certificates_ = false;
  std::map<std::string, BackgroundProcess> processes_;
};

// Shorter than pings take to notice, and longer.
TEST_F(FederationFaults, AnEdgeThatWasStoppedGoesOn) {
  const double stopped_s = long_version() ? 20 : 1.5;
  start_cloud();
  const std::string cloud = announced("address");
  start("edge-north", {"edge", "--cloud", cloud, "--listen", "127.0.0.1:0", "--announce", at("edge").string()});
  const std::string edge = announced("edge");
  for (int i = 0; i < 3; ++i) start_client(i, i == 0 ? cloud : edge + "," + cloud);
  wait_for_round(2);
  signal("edge-north", SIGSTOP);
  std::this_thread::sleep_for(std::chrono::duration<double>(stopped_s));
  signal("edge-north", SIGCONT);
  expect_the_simulations_end();
  for (const auto& round : rounds()) EXPECT_EQ(round["dropped"].size(), 0u) << round;
}

TEST_F(FederationFaults, AThirdOfTheClientsIsStoppedAndBackInTime) {
  start_cloud();
  const std::string cloud = announced("address");
  for (int i = 0; i < 3; ++i) start_client(i, cloud);
  wait_for_round(2);
  signal("client-1", SIGSTOP);
  std::this_thread::sleep_for(std::chrono::duration<double>(long_version() ? 20 : 1.5));
  signal("client-1", SIGCONT);
  expect_the_simulations_end();
  EXPECT_EQ(processes_.at("client-1").wait(10).value_or(0), 0) << content("client-1.log");
}

// For longer than they are patient, while the cloud is away: it is not they who looked for it in vain.
TEST_F(FederationFaults, AnEdgeAndAClientThatWereStoppedForLongerThanTheirPatience) {
  const Words patience{"--patience", "10"};
  start_cloud();
  const std::string cloud = announced("address");
  start("edge-north",
        {"edge", "--cloud", cloud, "--listen", "127.0.0.1:0", "--announce", at("edge").string(), "--patience", "10"});
  const std::string edge = announced("edge");
  for (int i = 0; i < 3; ++i) start_client(i, i == 0 ? cloud : edge + "," + cloud, i < 2 ? patience : Words{});
  wait_for_round(2);
  signal("cloud-main", SIGKILL);
  for (const char* const name : {"edge-north", "client-0"}) {
    wait_until_said(name, "is lost", 20);
    signal(name, SIGSTOP);
  }
  signal("client-1", SIGSTOP);
  std::this_thread::sleep_for(std::chrono::duration<double>(long_version() ? 20 : 10.5));
  const Words stopped{"edge-north", "client-0", "client-1"};
  for (const std::string& name : stopped) signal(name, SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // and dial in vain once more
  for (const std::string& name : stopped)
    ASSERT_EQ(processes_.at(name).wait(0), std::nullopt) << content(name + ".log");
  start("cloud-main", {"cloud", "--resume", only_run(at("runs")), "--listen", cloud, "--json"});
  expect_the_simulations_end();
  for (const std::string& name : stopped) EXPECT_EQ(processes_.at(name).wait(20), 0) << content(name + ".log");
}

TEST_F(FederationFaults, AThirdOfTheClientsIsStoppedForGood) {
  start_cloud({"--set", "deployment.round-deadline-s=1.5", "--rounds", "4"});
  const std::string cloud = announced("address");
  for (int i = 0; i < 3; ++i) start_client(i, cloud);
  wait_for_round(2);
  signal("client-1", SIGSTOP);
  EXPECT_EQ(processes_.at("cloud-main").wait(60), 0) << content("cloud-main.log");
  signal("client-1", SIGCONT);
  std::size_t dropped = 0;
  const std::vector<nlohmann::json> all = rounds();
  ASSERT_EQ(all.size(), 4u);
  for (const auto& round : all) {
    for (const auto& one : round["dropped"]) {
      EXPECT_EQ(one["client"].get<int>() / 4, 1) << round;
      EXPECT_THAT(one["reason"].get<std::string>(), testing::AnyOf("straggler", "unreachable"));
      ++dropped;
    }
  }
  EXPECT_GT(dropped, 0u);
}

// Between everybody, over TLS.
TEST_F(FederationFaults, BytesThatAreLateChangedOrCutOffCostNothingButTime) {
  make_certificates();
  for (const FaultyWire::Does does : {FaultyWire::Does::kDelay, FaultyWire::Does::kFlip, FaultyWire::Does::kCut}) {
    SCOPED_TRACE(static_cast<int>(does));
    std::filesystem::remove_all(at("runs"));
    for (const char* const old : {"address", "edge", "cloud-main.log"}) std::filesystem::remove(at(old));
    for (int i = 0; i < 3; ++i) std::filesystem::remove_all(at(fmt::format("states-{}", i)));
    start_cloud();
    const std::string cloud = announced("address");
    FaultyWire to_cloud(port_of(cloud), 1);
    start("edge-north",
          {"edge", "--cloud", to_cloud.address(), "--listen", "127.0.0.1:0", "--announce", at("edge").string()});
    const std::string edge = announced("edge");
    FaultyWire to_edge(port_of(edge), 2);
    start_client(0, to_cloud.address());
    start_client(1, to_edge.address() + "," + to_cloud.address());
    start_client(2, to_edge.address() + "," + to_cloud.address());
    wait_for_round(1);
    for (FaultyWire* const wire : {&to_cloud, &to_edge}) wire->set(does);
    wait_for_round(5);
    for (FaultyWire* const wire : {&to_cloud, &to_edge}) wire->set(FaultyWire::Does::kCarry);
    expect_the_simulations_end(120);
    for (const auto& round : rounds()) EXPECT_EQ(round["dropped"].size(), 0u) << round;
    const int faults = to_cloud.faults() + to_edge.faults();
    EXPECT_GT(faults, 0);
    if (does != FaultyWire::Does::kDelay) {
      EXPECT_GT(to_cloud.connections() + to_edge.connections(), 4) << "they were made anew";
    }
    std::printf("%d faults, %d connections\n", faults, to_cloud.connections() + to_edge.connections());
    processes_.clear();
  }
}

// Nobody is told that nothing goes on any more: pings find it out.
TEST_F(FederationFaults, AConnectionThatSwallowsEverythingIsSeenInTenSeconds) {
  start_cloud();
  const std::string cloud = announced("address");
  FaultyWire wire(port_of(cloud));
  start_client(0, cloud);
  start_client(1, cloud);
  start_client(2, wire.address());
  wait_for_round(1);
  const auto begun = Clock::now();
  wire.set(FaultyWire::Does::kSwallow);
  wait_until_said("cloud-main", "is gone with 4 clients", 20);
  const double cloud_s = since(begun);
  wait_until_said("client-2", "is lost", 20);
  const double client_s = since(begun);
  EXPECT_LT(cloud_s, 10);
  EXPECT_LT(client_s, 10);
  std::printf("the cloud noticed after %.1f s, the client after %.1f s\n", cloud_s, client_s);
  wire.set(FaultyWire::Does::kCarry);
  expect_the_simulations_end();
}

// Sanitizers want to be the first library of a process.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MUSTER_SKIP_IF_SANITIZED() GTEST_SKIP() << "NOT TESTED: clocks that jump, in a build with sanitizers"
#else
#define MUSTER_SKIP_IF_SANITIZED() static_cast<void>(0)
#endif

// A day forward, a day back, of the cloud and of a client, while a round goes on.
TEST_F(FederationFaults, ClocksThatJumpEndNothing) {
  MUSTER_SKIP_IF_SANITIZED();
  make_certificates();
  const auto jumping = [&](const Words& words, const std::string& clock) {
    Words all{"/usr/bin/env", "LD_PRELOAD=" JUMPING_CLOCK_LIBRARY, "JUMPING_CLOCK=" + at(clock).string(),
              MUSTER_BINARY};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  };
  start_program("cloud-main", jumping(cloud_words({"--set", "deployment.round-deadline-s=20"}), "cloud-clock"));
  const std::string cloud = announced("address");
  start_program("client-0", jumping(client_words(0, cloud), "client-clock"));
  start_client(1, cloud);
  start_client(2, cloud);
  wait_for_round(1);
  const auto begun = Clock::now();
  file("cloud-clock", "86400");
  wait_for_round(3);
  file("client-clock", "86400");
  wait_for_round(4);
  file("client-clock", "-3600");
  wait_for_round(5);
  file("cloud-clock", "-60");
  expect_the_simulations_end();
  EXPECT_LT(since(begun), 60);
  for (const auto& round : rounds()) EXPECT_EQ(round["dropped"].size(), 0u) << round;
}

// To the cloud it is a year later: certificates that it believed a moment ago have expired.
TEST_F(FederationFaults, ACertificateThatExpiresInTheMiddleOfARun) {
  MUSTER_SKIP_IF_SANITIZED();
  make_certificates();
  Words words = cloud_words({"--set", "deployment.round-deadline-s=1"});
  words.insert(words.begin(), {"/usr/bin/env", "LD_PRELOAD=" JUMPING_CLOCK_LIBRARY,
                               "JUMPING_CLOCK=" + at("cloud-clock").string(), MUSTER_BINARY});
  start_program("cloud-main", words);
  const std::string cloud = announced("address");
  for (int i = 0; i < 3; ++i) start_client(i, cloud);
  wait_for_round(1);
  file("cloud-clock", "34560000");  // 400 days
  for (int i = 0; i < 3; ++i) {
    const std::string name = fmt::format("client-{}", i);
    EXPECT_EQ(processes_.at(name).wait(30), 1) << content(name + ".log");
    EXPECT_THAT(content(name + ".log"), HasSubstr("expired"));
  }
  signal("cloud-main", SIGINT);
  EXPECT_EQ(processes_.at("cloud-main").wait(30), 130) << content("cloud-main.log");
  EXPECT_THAT(content("cloud-main.log"), HasSubstr("expired"));
}

class SmallDisk : public FederationFaults {
 protected:
  // Runs the lines in a mount namespace of their own, in which small_disk DIR KB mounts a disk; what they wrote.
  std::string in_namespace(const std::string& lines) {
    const std::string script = file("script.sh",
                                    "set -u\n"
                                    "small_disk() { mkdir -p \"$1\" && mount -t tmpfs -o size=\"$2\"k none \"$1\"; }\n"
                                    "muster=" MUSTER_BINARY "\n" +
                                        lines);
    const Finished finished = Process(scratch_, {"/usr/bin/unshare", "-m", "/bin/sh", script}).wait();
    return finished.out + finished.err;
  }
  void SetUp() override {
    const Finished may = Process(scratch_, {"/usr/bin/unshare", "-m", "/bin/mount", "-t", "tmpfs", "-o", "size=4k",
                                            "none", scratch_.path().string()})
                             .wait();
    if (may.status != 0) GTEST_SKIP() << "NOT TESTED: full disks need the right to mount (" << may.err << ")";
  }
};

TEST_F(SmallDisk, ACloudWhoseDiskIsFullSaysSoAndGoesOnWhenThereIsRoom) {
  const std::string said = in_namespace(fmt::format(R"sh(
cd {0}
small_disk runs 1024
cloud() {{ $muster cloud "$@" --out runs --json --quiet --insecure > out 2> err; }}
clients() {{
  for i in 0 1 2; do
    $muster client --to $to --clients $((4 * i))-$((4 * i + 3)) --state states-$i --insecure > client-$i.log 2>&1 &
  done
}}
cloud {1} --listen 127.0.0.1:0 --announce address & cloud=$!
while [ ! -s address ]; do sleep 0.02; done
to=$(cat address)
clients
while [ $(cat runs/*/rounds.jsonl 2> /dev/null | wc -l) -lt 2 ]; do sleep 0.02; done
dd if=/dev/zero of=runs/full bs=1k count=2000 2> /dev/null
wait $cloud; echo "status $?"
echo "lines $(wc -l < err)"; cat err
wait
rm runs/full
clients
cloud --resume $(dirname $(ls -d runs/*/recipe.toml)) --listen $to; echo "resumed $?"
cat err out
wait
)sh",
                                                    scratch_.path().string(), recipe_));
  EXPECT_THAT(said, HasSubstr("status 1\nlines 1\n"));
  EXPECT_THAT(said, HasSubstr("No space left on device"));
  EXPECT_THAT(said, HasSubstr("resumed 0\n{"));
  EXPECT_THAT(said, HasSubstr("\"signature\":\"" + simulated()));
}

TEST_F(SmallDisk, AClientWhoseDiskIsFullSaysSoAndGoesOnWhenThereIsRoom) {
  const std::string said = in_namespace(fmt::format(R"sh(
cd {0}
small_disk states-1 1024
$muster cloud {1} --listen 127.0.0.1:0 --announce address --out runs --json --quiet --insecure > out 2> err & cloud=$!
while [ ! -s address ]; do sleep 0.02; done
to=$(cat address)
client() {{ $muster client --to $to --clients $((4 * $1))-$((4 * $1 + 3)) --state states-$1 --insecure --quiet > client-$1.log 2>&1; }}
client 0 & client 2 &
client 1 & small=$!
while [ $(cat runs/*/rounds.jsonl 2> /dev/null | wc -l) -lt 2 ]; do sleep 0.02; done
dd if=/dev/zero of=states-1/full bs=1k count=2000 2> /dev/null
wait $small; echo "status $?"
echo "lines $(wc -l < client-1.log)"; cat client-1.log
rm states-1/full
client 1; echo "back $?"; cat client-1.log
wait $cloud; echo "cloud $?"; cat err out
wait
)sh",
                                                    scratch_.path().string(), recipe_));
  EXPECT_THAT(said, HasSubstr("status 1\nlines 1\n"));
  EXPECT_THAT(said, HasSubstr("No space left on device"));
  EXPECT_THAT(said, HasSubstr("back 0\ncloud 0\n{"));
  EXPECT_THAT(said, HasSubstr("\"signature\":\"" + simulated()));
}

}  // namespace
}  // namespace muster
