#include "web/live_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "raw_peer.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using testing::HasSubstr;

constexpr const char* kPageToken = "a-token-of-some-length";

class LivePageTest : public testing::Test {
 protected:
  LivePageTest() {
    write_run("one");
    write_run("two");
  }
  void write_run(const std::string& id, const std::string& name = "fedavg") const {
    scratch_.write("runs/" + id + "/recipe.toml", "name = \"" + name + "\"\nseed = 1\nrounds = 3\n");
    scratch_.write("runs/" + id + "/rounds.jsonl", round(1) + round(2));
    scratch_.write(
        "runs/" + id + "/groups.jsonl",
        std::string(
            "{\"round\":1,\"method\":\"kmeans\",\"why\":\"start\",\"count\":2,\"members\":[[0,1],[2]]}\n"
            "{\"round\":2,\"method\":\"kmeans\",\"why\":\"regrouping\",\"count\":2,\"members\":[[0],[1,2]]}\n"));
    scratch_.write(
        "runs/" + id + "/clients.csv",
        std::string("client,name,samples,group,trained,dropped,accuracy,test_samples\n0,Graz,10,0,2,0,0.5,4\n"
                    "1,Linz,20,1,1,1,0.75,4\n2,Wien,30,1,2,0,,0\n"));
  }
  static std::string round(int number) {
    return fmt::format(
        "{{\"round\":{},\"accuracy\":0.5,\"loss\":1.0,\"participants\":2,\"dropped\":[{{\"client\":1,\"reason\":"
        "\"straggler\"}}],\"groups\":2,\"cost_total_s\":1.0}}\n",
        number);
  }
  void start(LivePageOptions options = {}) {
    options.out = scratch_ / "runs";
    auto started = LivePage::start(std::move(options));
    ASSERT_TRUE(started) << started.error().message;
    page_ = std::move(started).value();
  }
  std::string get(const std::string& path, const std::string& headers = "") const {
    return http_get(page_->port(), path, headers);
  }
  nlohmann::json json(const std::string& path) const {
    const std::string answer = get(path);
    EXPECT_EQ(http_status(answer), 200) << answer;
    return nlohmann::json::parse(http_body(answer), nullptr, false);
  }

  ScratchFolder scratch_;
  std::unique_ptr<LivePage> page_;
};

TEST_F(LivePageTest, EveryAnswerIsStrictWithTheBrowser) {
  start();
  for (const char* path :
       {"/", "/run/one", "/assets/page.js", "/api/runs", "/api/run/none", "/assets/none", "/anything"}) {
    const std::string answer = get(path);
    EXPECT_THAT(http_header(answer, "Content-Security-Policy"), HasSubstr("default-src 'none'; script-src 'self';"))
        << path;
    EXPECT_THAT(http_header(answer, "Content-Security-Policy"), testing::Not(HasSubstr("unsafe"))) << path;
    EXPECT_EQ(http_header(answer, "X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(http_header(answer, "Referrer-Policy"), "no-referrer") << path;
    EXPECT_NE(http_header(answer, "Cache-Control"), "") << path;
  }
  EXPECT_EQ(http_status(http_get(page_->port(), "/", "", "GET", "evil.example")), 421);
  EXPECT_EQ(http_status(http_get(page_->port(), "/api/runs", "Sec-Fetch-Site: cross-site\r\n")), 403);
}

TEST_F(LivePageTest, SendsNothingTwice) {
  start();
  const std::string tag = http_header(get("/api/run/one"), "ETag");
  EXPECT_EQ(http_status(get("/api/run/one", "If-None-Match: " + tag + "\r\n")), 304);
  scratch_.write("runs/one/rounds.jsonl", round(1) + round(2) + round(3));
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_EQ(http_status(get("/api/run/one", "If-None-Match: " + tag + "\r\n")), 200);
}

TEST_F(LivePageTest, ShowsRunsClientsAndGroups) {
  start();
  EXPECT_EQ(json("/api/runs")["runs"].size(), 2u);
  EXPECT_EQ(json("/api/run/one")["row"]["rounds"], 2);
  const nlohmann::json sorted = json("/api/run/one/clients?sort=accuracy&down=1");
  EXPECT_EQ(sorted["rows"][0]["name"], "Linz");
  EXPECT_EQ(sorted["rows"][2]["name"], "Wien") << "what is not known comes last";
  EXPECT_EQ(json("/api/run/one/clients?filter=GRA")["found"], 1);
  EXPECT_EQ(http_status(get("/api/run/one/clients?sort=shoe-size")), 400);
  const std::string client = http_body(get("/api/run/one/client/1"));
  for (const char* told : {"Linz", "group 0", "group 1", "straggler", "75.00 %", "better than 1 of 1"}) {
    EXPECT_THAT(client, HasSubstr(told));
  }
  const nlohmann::json group = json("/api/run/one/group/1");
  EXPECT_EQ(group["members"].size(), 2u);
  EXPECT_EQ(group["members"][0]["name"], "Linz");
  EXPECT_EQ(json("/api/compare?runs=one/two/three")["missing"], nlohmann::json({"three"}));
}

TEST_F(LivePageTest, KnowsNothingButRunsOfItsFolder) {
  scratch_.write("secret/recipe.toml", std::string("name = \"secret\"\n"));
  scratch_.write("secret/rounds.jsonl", round(1));
  std::filesystem::create_directory_symlink(scratch_ / "secret", scratch_ / "runs/linked");
  write_run("with-link");
  std::filesystem::remove(scratch_ / "runs/with-link/recipe.toml");
  std::filesystem::create_symlink(scratch_ / "secret/recipe.toml", scratch_ / "runs/with-link/recipe.toml");
  start();
  for (const char* id : {"..", ".", "", "%2e%2e%2fsecret", "..%2fsecret", "linked", "with-link",
                         "one%2f..%2f..%2fsecret", "on", "one%00", "%2fetc", "one%2frecipe.toml"}) {
    for (const char* rest : {"", "/clients", "/client/0", "/group/0", "/roster"}) {
      const std::string answer = get(fmt::format("/api/run/{}{}", id, rest));
      EXPECT_EQ(http_status(answer), 404) << id << rest;
      EXPECT_THAT(answer, testing::Not(HasSubstr("secret\""))) << id << rest;
    }
  }
  for (const char* path :
       {"/api/run/one/client/9", "/api/run/one/client/-1", "/api/run/one/client/99999999999999999999",
        "/api/run/one/group/7", "/api/run/one/what", "/api/", "/api/run/one/client/1/2", "/assets/../x"}) {
    EXPECT_EQ(http_status(get(path)), 404) << path;
  }
}

TEST_F(LivePageTest, TellsOfNewRoundsInAStream) {
  start();
  const std::string sequence = json("/api/runs")["sequence"].dump();
  RawPeer peer(page_->port());
  peer.send("GET /api/events?after=" + sequence + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(peer.read(5, ": here"), HasSubstr("text/event-stream"));
  scratch_.write("runs/one/rounds.jsonl", round(1) + round(2) + round(3));
  write_run("three");
  std::string told = peer.read(10, "\"three\"");
  EXPECT_THAT(told, HasSubstr("event: runs"));
  EXPECT_THAT(told, HasSubstr("\"three\""));
  const double begun = now_s();
  page_.reset();
  EXPECT_LT(now_s() - begun, 3);
}

TEST_F(LivePageTest, HasSoManyStreamsAndNoMore) {
  start({.streams = 2});
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 3; ++i) {
    peers.push_back(std::make_unique<RawPeer>(page_->port()));
    peers.back()->send("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(peers.back()->read(5, "\r\n\r\n"), HasSubstr(i < 2 ? "200 OK" : "503"));
  }
  peers.clear();
  const double begun = now_s();
  bool again = false;  // once the server has seen that they are gone
  while (!again && now_s() - begun < 15) {
    RawPeer peer(page_->port());
    peer.send("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    again = peer.read(5, "\r\n\r\n").find("200 OK") != std::string::npos;
  }
  EXPECT_TRUE(again);
}

TEST_F(LivePageTest, WantsItsTokenForDataAndForNothingElse) {
  start({.token = kPageToken});
  EXPECT_EQ(http_status(get("/")), 200);
  EXPECT_EQ(http_status(get("/assets/page.js")), 200);
  for (const char* path :
       {"/api/runs", "/api/run/one", "/api/events", "/api/compare?runs=one", "/api/run/one/roster"}) {
    EXPECT_EQ(http_status(get(path)), 401) << path;
  }
  const std::string bearer = std::string("Authorization: Bearer ") + kPageToken + "\r\n";
  EXPECT_EQ(http_status(get("/api/runs", bearer)), 200);
  const std::string cookie = http_header(get("/api/sign-in", bearer), "Set-Cookie");
  EXPECT_EQ(http_status(get("/api/runs", "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n")), 200);
  int status = 0;
  for (int i = 0; i < 8; ++i) status = http_status(get("/api/sign-in", "Authorization: Bearer wrong\r\n"));
  EXPECT_EQ(status, 429);
}

TEST_F(LivePageTest, RefusesAnAddressForOthersWithoutAToken) {
  for (const char* address : {"0.0.0.0", "::", "192.168.0.1"}) {
    const auto refused = LivePage::start({.out = scratch_ / "runs", .address = address});
    ASSERT_FALSE(refused) << address;
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
    EXPECT_THAT(refused.error().message, HasSubstr("want a token"));
  }
  EXPECT_TRUE(LivePage::start({.out = scratch_ / "runs", .address = "0.0.0.0", .token = kPageToken}));
}

TEST_F(LivePageTest, TellsWhoIsConnected) {
  scratch_.write(
      "runs/one/ledger.jsonl",
      std::string("{\"event\":\"start\",\"clients\":3}\n{\"event\":\"came\",\"peer\":\"client sim-0\",\"edge\":false,"
                  "\"clients\":[0,1]}\n{\"event\":\"went\",\"peer\":\"client sim-0\",\"clients\":[1]}\n"));
  start({.roster = [](const std::string& run) -> std::optional<PageRoster> {
    if (run != "two") return std::nullopt;
    return PageRoster{
        .roster = 5, .here = 1, .rows = {{.client = 4, .name = "<b>", .here = true, .peer = "edge north"}}};
  }});
  const nlohmann::json read = json("/api/run/one/roster");
  EXPECT_EQ(read["roster"], 3);
  EXPECT_EQ(read["here"], 0) << "nobody runs it";
  ASSERT_EQ(read["rows"].size(), 2u);
  EXPECT_EQ(read["rows"][0]["client"], 1) << "dropped most often";
  EXPECT_EQ(read["rows"][0]["drops"], 2);
  EXPECT_EQ(read["rows"][0]["last_drop_reason"], "straggler");
  const nlohmann::json live = json("/api/run/two/roster");
  EXPECT_EQ(live["live"], true);
  EXPECT_EQ(live["rows"][0]["name"], "<b>");
}

TEST_F(LivePageTest, WaitsForAFolderThatIsNotThereYet) {
  auto page = LivePage::start({.out = scratch_ / "later"});
  ASSERT_TRUE(page);
  EXPECT_THAT(http_get((*page)->port(), "/api/runs"), HasSubstr("\"runs\":[]"));
  scratch_.write("later/one/recipe.toml", std::string("name = \"x\"\nrounds = 3\n"));
  scratch_.write("later/one/rounds.jsonl", round(1));
  EXPECT_THAT(http_get((*page)->port(), "/api/runs"), HasSubstr("\"run\":\"one\""));
}

}  // namespace
}  // namespace muster
