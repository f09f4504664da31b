#include "deploy/status_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deploy/deployment_in_memory.h"
#include "deploy/prometheus_reader.h"
#include "deploy/prometheus_text.h"
#include "net/http_get.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using testing::HasSubstr;

TEST(PrometheusText, EscapesWhatLabelsHold) {
  PrometheusText text;
  const PrometheusText::Label labels[]{{"a", "say \"hi\"\\\n"}, {"b", "\xff\x1b"}};
  text.gauge("muster_x", "Two\nlines.").sample(0.5, labels).sample(1e300);
  text.counter("muster_y_total", "None.").sample(12345678901.0, {"c", "d"});
  const auto samples = read_prometheus(text.text());
  EXPECT_EQ(samples.size(), 3u) << text.text();
  EXPECT_EQ(samples.at("muster_x{a=\"say \"hi\"\\\\n\",b=\"\\xff\\x1b\"}"), 0.5) << text.text();
  EXPECT_EQ(samples.at("muster_x"), 1e300);
  EXPECT_EQ(samples.at("muster_y_total{c=\"d\"}"), 12345678901.0);
}

TEST(StatusPage, SaysWhyItIsNotWell) {
  StatusPage page("edge");
  EXPECT_EQ(page.health(), "setting up");
  std::string reason = "no cloud";
  page.set_health_check([&] { return reason; });
  EXPECT_EQ(page.health(), "no cloud");
  reason.clear();
  EXPECT_EQ(page.health(), "");
  page.set_health("the run is over");
  EXPECT_EQ(page.health(), "the run is over");
}

TEST(StatusPage, HasNoPageUnlessAsked) {
  StatusPage page("cloud");
  bool listens = false;
  EXPECT_TRUE(page.start({.listening = [&](const std::string&) { listens = true; }}).ok());
  EXPECT_FALSE(listens);
}

// Asks the page at the end of every round, over loopback.
class Asker final : public RoundObserver {
 public:
  explicit Asker(const std::string& address) : address_(address) {}
  void end(const Models&, RoundRecord& record) override {
    metrics = http_get(address_, "/metrics");
    health = http_get(address_, "/healthz");
    rounds.push_back(read_prometheus(metrics.body));
    participants.push_back(record.participants);
    dropped += record.dropped.size();
  }
  HttpGot metrics;
  HttpGot health;
  std::vector<std::map<std::string, double>> rounds;
  std::vector<std::uint32_t> participants;
  std::size_t dropped = 0;

 private:
  const std::string& address_;
};

TEST(StatusPage, TellsOfARunAsItGoesOn) {
  const Result<Recipe> recipe = parse_recipe(R"(
name = "watched"
rounds = 3
[data]
source = "synthetic"
clients = 8
test-fraction = 0.2
[model]
name = "mlp"
hidden = [8]
[local]
batch-size = 8
learning-rate = 0.05
[plan]
sample-clients = 6
[faults]
drop = 0.3
)",
                                             "test");
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  const ScratchFolder scratch;
  DeploymentInMemory deployment({.edges = 1, .processes = 2});
  RunTimes times;
  StatusPage page("cloud");
  std::string address;
  ASSERT_TRUE(page.start({.port = 0, .listening = [&](const std::string& at) { address = at; }}).ok());
  EXPECT_EQ(http_get(address, "/healthz").status, 503);
  EXPECT_EQ(http_get(address, "/healthz").body, "setting up\n");
  EXPECT_EQ(http_get(address, "/").status, 404);
  (void)read_prometheus(http_get(address, "/metrics").body);
  Asker asker(address);
  SimulationOptions options;
  options.threads = 1;
  options.out = scratch.path();
  options.quiet = true;
  options.times = &times;
  options.observers = {&page, &asker};
  options.federation = [&](const Recipe& settled, std::unique_ptr<LocalFederation> here,
                           const std::filesystem::path& folder) -> Result<std::unique_ptr<Federation>> {
    MUSTER_ASSIGN(auto federation, deployment.make(settled, std::move(here), folder));
    page.watch(deployment.cloud());
    page.begin_run(settled.rounds, 8, &times);
    page.set_health("");
    return federation;
  };
  const Result<RunSummary> summary = simulate(*recipe, options);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  ASSERT_EQ(asker.rounds.size(), 3u);
  EXPECT_EQ(asker.health.status, 200);
  EXPECT_EQ(asker.health.body, "ok\n");
  EXPECT_THAT(asker.metrics.head, HasSubstr("text/plain; version=0.0.4"));
  for (std::uint32_t r = 0; r < 3; ++r) {
    const std::map<std::string, double>& seen = asker.rounds[r];
    EXPECT_EQ(seen.at("muster_round"), r + 1);
    EXPECT_EQ(seen.at("muster_rounds_done"), r + 1);
    EXPECT_EQ(seen.at("muster_rounds_wanted"), 3);
    EXPECT_EQ(seen.at("muster_round_participants"), asker.participants[r]);
    EXPECT_EQ(seen.at("muster_clients_connected"), 8);
    EXPECT_EQ(seen.at("muster_clients_roster"), 8);
    EXPECT_EQ(seen.at("muster_peers{kind=\"edge\"}"), 1);
    EXPECT_EQ(seen.at("muster_peers{kind=\"client\"}"), 0);
    EXPECT_EQ(seen.at("muster_incarnation"), 1);
    EXPECT_EQ(seen.at("muster_info{role=\"cloud\",run=\"" + summary->run + "\"}"), 1);
    EXPECT_GT(seen.at("muster_phase_seconds_total{phase=\"setup\"}"), 0);
  }
  const std::map<std::string, double>& last = asker.rounds.back();
  double drops = 0;
  for (const auto& [sample, value] : last) drops += sample.starts_with("muster_drops_total{") ? value : 0;
  EXPECT_EQ(drops, asker.dropped);
  EXPECT_GT(asker.dropped, 0u);
  const auto model_bytes = last.at("muster_vector_bytes_total{direction=\"up\"}");
  EXPECT_GT(model_bytes, asker.rounds.front().at("muster_vector_bytes_total{direction=\"up\"}"));
  page.stop();
  EXPECT_EQ(http_get(address, "/healthz").status, 0);
}

}  // namespace
}  // namespace muster
