#include "report/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/run_lock.h"
#include "recorded_run.h"
#include "report/html_page.h"

namespace muster {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::string fact_of(const Json& description, const std::string& name) {
  for (const Json& fact : description.at("facts")) {
    if (fact.at("name") == name) return fact.at("value");
  }
  return "";
}

TEST(DescribeRun, TellsWhatARunLearned) {
  const RecordedRun run;
  run.write_small();
  const auto described = describe_run(run.folder);
  ASSERT_TRUE(described.ok()) << described.error().message;
  EXPECT_EQ((*described)["title"], "mine-s1-20260101-120000");
  EXPECT_EQ((*described)["notes"], Json::array());
  EXPECT_EQ(fact_of(*described, "state"), "all 4 rounds done");
  EXPECT_EQ(fact_of(*described, "accuracy"), "last 80.00 %, best 80.00 % (round 4)");
  EXPECT_EQ(fact_of(*described, "signature"), "0123456789abcdef");
  EXPECT_EQ((*described)["runs"][0]["seed"], 7);
  EXPECT_THAT((*described)["runs"][0]["command"].get<std::string>(), HasSubstr("recipe.toml"));

  const Json accuracy = figure_in(*described, "accuracy");
  const Json& series = accuracy["series"][0];
  EXPECT_EQ(series["y"], Json({0.5, 0.6, 0.7, 0.8}));
  // Rounds, simulated time in all and computing alone, bytes, time on this machine.
  EXPECT_EQ(series["x"],
            Json({{1, 2, 3, 4}, {2, 4, 6, 8}, {0.5, 1, 1.5, 2}, {300, 600, 900, 1200}, {0.1, 0.2, 0.3, 0.4}}));
  EXPECT_EQ(figure_in(*described, "loss")["series"].size(), 2u);
  // Half, 80, 95 and 100 % of 0.8.
  const Json targets = figure_in(*described, "targets");
  EXPECT_EQ(targets["rows"],
            Json({{0.4, 1, 300, 2, 0.1}, {0.64, 3, 900, 6, 0.3}, {0.76, 4, 1200, 8, 0.4}, {0.8, 4, 1200, 8, 0.4}}));
}

// As the summary has it, and before there is one of the rounds whose evaluation was of all test samples.
TEST(DescribeRun, TheBestIsOfAllTestSamples) {
  const RecordedRun run;
  run.write_small();
  run.add("rounds.jsonl", {{"round", 5}, {"accuracy", 0.9}, {"covered", 0.5}});
  run.write("summary.json", R"({"stopped":"rounds","accuracy":{"last":0.9,"best":0.75,"best_round":3}})");
  EXPECT_EQ(fact_of(*describe_run(run.folder), "accuracy"), "last 90.00 %, best 75.00 % (round 3)");
  std::filesystem::remove(run.folder / "summary.json");
  EXPECT_EQ(fact_of(*describe_run(run.folder), "accuracy"), "last 90.00 %, best 80.00 % (round 4)");
}

TEST(DescribeRun, TellsOfItsGroups) {
  const RecordedRun run;
  run.write_small();
  const Json described = *describe_run(run.folder);
  const Json first = figure_in(described, "groups-1");
  EXPECT_EQ(first["parts"][0]["name"], "cat");
  EXPECT_EQ(first["parts"][0]["values"], Json({10, 5}));
  EXPECT_EQ(first["parts"][1]["values"], Json({0, 5}));
  // Counts 10 and 0: deviation 5 over the mean 5.
  EXPECT_EQ(first["categories"], Json({"0 (CoV 1.00)", "1 (CoV 0.00)"}));
  EXPECT_THAT(first["caption"].get<std::string>(), HasSubstr("mean CoV 0.5, median CPD 0.25"));
  // {0, 1}, {2, 3} -> {0, 2, 3}, {1, 4}: 2 and 3 stay (the larger share), so 0's group goes on as the other, where 1
  // is.
  const Json moves = figure_in(described, "moves");
  EXPECT_EQ(moves["series"][0]["name"], "moved");
  EXPECT_EQ(moves["series"][0]["y"], Json({1}));
  EXPECT_EQ(moves["series"][1]["y"], Json({3}));
  EXPECT_EQ(moves["series"][2]["y"], Json({1}));
  EXPECT_EQ(figure_in(described, "flow-3")["values"], Json({{1, 1}, {2, 0}}));
  EXPECT_EQ(figure_in(described, "movers-3")["rows"], Json({{"Graz", 0, 1, 0}}));
  EXPECT_EQ(figure_in(described, "group-sizes")["parts"][0]["values"], Json({2, 3}));
  // By group: clients 0 and 2 are in group 0, client 1 in group 1.
  const Json similarity = figure_in(described, "similarity-3");
  EXPECT_EQ(similarity["rows"], Json({"Graz (group 0)", "Köln, west (group 0)", "client 1 (group 1)"}));
  EXPECT_EQ(similarity["values"], Json({{0, 0.1, 0.5}, {0.1, 0, 0.4}, {0.5, 0.4, 0}}));
}

TEST(DescribeRun, TellsOfClientsClassesDropsAndTime) {
  const RecordedRun run;
  run.write_small();
  const Json described = *describe_run(run.folder);
  EXPECT_EQ(figure_in(described, "clients")["categories"], Json({"client 1", "Köln, west", "Graz"}));
  EXPECT_EQ(figure_in(described, "clients")["parts"][0]["values"], Json({0.25, 0.5, 0.9}));
  EXPECT_EQ(figure_in(described, "client-percentiles")["rows"][3], Json({"50th percentile", 0.5}));
  EXPECT_EQ(figure_in(described, "confusion")["values"], Json({{0.75, 0.25}, {1, 0}}));
  EXPECT_EQ(figure_in(described, "classes")["rows"][1], Json({"dog", "-", 0, 0, 4}));
  EXPECT_EQ(figure_in(described, "drop-reasons")["rows"],
            Json({{"straggler", 1, 0.0714286}, {"dropped", 1, 0.0714286}}));
  EXPECT_EQ(figure_in(described, "drops")["parts"][0]["values"], Json({0, 0, 1, 0}));
  EXPECT_EQ(figure_in(described, "dropped-clients")["rows"],
            Json::array({Json::array({"client 1", 1}), Json::array({"Köln, west", 1})}));
  const Json phases = figure_in(described, "phases");
  EXPECT_EQ(phases["categories"][3], "training");
  EXPECT_EQ(phases["parts"][0]["values"], Json({0.1, 0, 0.05, 0.6, 0.1, 0.15}));
}

TEST(DescribeRun, ReadsARunThatGoesOnAndOneThatWasKilled) {
  const RecordedRun run;
  run.write_small();
  std::filesystem::remove(run.folder / "summary.json");
  run.append("rounds.jsonl", R"({"round":5,"accuracy":0.9)");  // being written
  EXPECT_EQ(fact_of(*describe_run(run.folder), "state"), "not finished: round 4 of 4 was the last, and nobody runs it");
  {
    const auto lock = RunLock::take(run.folder);
    ASSERT_TRUE(lock.ok());
    const Json described = *describe_run(run.folder);
    EXPECT_EQ(fact_of(described, "state"), "running, round 4 of 4");
    EXPECT_EQ(described["runs"][0]["state"], "running");
    EXPECT_EQ(described["notes"], Json::array());
  }
  run.append("rounds.jsonl", "}\n");
  EXPECT_EQ(figure_in(*describe_run(run.folder), "accuracy")["series"][0]["y"].size(), 5u);
}

TEST(DescribeRun, RefusesWhatIsNoRun) {
  const ScratchFolder scratch;
  const auto described = describe_run(scratch.path());
  ASSERT_FALSE(described.ok());
  EXPECT_THAT(described.error().message, HasSubstr("not a run's folder"));
}

TEST(DescribeRun, LeavesOutWhatCannotBeRead) {
  const RecordedRun run;
  run.write_small();
  for (const char* file : {"rounds.jsonl", "groups.jsonl", "ledger.jsonl"}) {
    run.append(file, "\n[]\nnull\n{\"round\":-1}\n{\"round\":1e99}\n{\"round\":\"5\"}\n{\"round\":2}\n");
    run.append(file, std::string(100'000, '[') +
                         "\n{\"round\":9,\"members\":[[4294967295,-1,\"x\",{}]],\"accuracy\":\"1\",\"dropped\":[1,{}],"
                         "\"labels\":[[],[null]]}\n");
    run.append(file, "\xff\xfe\n");
  }
  run.write(
      "summary.json",
      R"({"stopped":3,"metrics":{"confusion":[[1],[2,3]],"classes":{"a":1}},"time":[],"cost":null,"groups":{"size_max":1e308,"count":-5}})");
  run.write("preparation.json", R"({"classes":[1,null,"x"]})");
  run.append("clients.csv", "x,y\n-1,,,,,,,\n99999999999,a\n");
  const auto described = describe_run(run.folder);
  ASSERT_TRUE(described.ok());
  EXPECT_THAT((*described)["notes"].dump(), HasSubstr("rounds.jsonl: "));
  EXPECT_TRUE(figure_in(*described, "confusion").is_null());
  // The good lines are there.
  EXPECT_EQ(figure_in(*described, "accuracy")["series"][0]["y"].size(), 4u);
}

// A last line may end anywhere, whatever it is of.
TEST(DescribeRun, TakesAnyBeginningOfItsFiles) {
  const RecordedRun whole;
  whole.write_small();
  for (const char* file : {"rounds.jsonl", "groups.jsonl", "clients.csv", "summary.json", "recipe.toml"}) {
    std::ifstream in(whole.folder / file, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    const RecordedRun cut;
    cut.write_small();
    for (std::size_t bytes = 0; bytes < content.size(); bytes += 37) {
      cut.write(file, content.substr(0, bytes));
      EXPECT_TRUE(describe_run(cut.folder).ok()) << file << " of " << bytes << " bytes";
    }
  }
}

const std::vector<std::string>& hostile_names() {
  static const std::vector<std::string> names{"<img src=x onerror=alert(1)>",
                                              "\"><script>alert(1)</script>",
                                              "</script><script>alert(1)</script>",
                                              "<!--",
                                              "\xe2\x80\xae gpj.exe \xe2\x80\x8f",
                                              std::string(10'000, 'w'),
                                              "line\nline\x1b[31m",
                                              "\xff\xfe",
                                              "{{constructor}} ${1+1} `x`"};
  return names;
}

TEST(DescribeRun, ShowsHostileNamesAsText) {
  const RecordedRun run;
  run.write_small();
  std::string table = "client,name,samples,group,trained,dropped,accuracy,test_samples\n";
  Json classes = Json::array();
  for (std::size_t i = 0; i < hostile_names().size(); ++i) {
    std::string quoted;
    for (const char c : hostile_names()[i]) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    table += fmt::format("{},\"{}\",1,0,1,0,0.5,1\n", i, quoted);
    classes.push_back(hostile_names()[i]);
  }
  run.write("clients.csv", table);
  run.write("preparation.json", Json{{"classes", classes}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  run.add("groups.jsonl", {{"round", 4},
                           {"method", hostile_names()[2]},
                           {"why", hostile_names()[0]},
                           {"members", {{0}, {1, 2}}},
                           {"labels", {{1, 2}, {3, 4}}}});
  run.add("rounds.jsonl", {{"round", 5}, {"dropped", {{{"client", 0}, {"reason", hostile_names()[1]}}}}});
  const auto described = describe_run(run.folder);
  ASSERT_TRUE(described.ok());
  const std::string page = to_html(*described);
  for (const char* markup :
       {"<img", "onerror=alert(1)>", "<script>alert", "</script><script>alert", "<!--", "\xe2\x80\xae", "\x1b"}) {
    EXPECT_THAT(page, Not(HasSubstr(markup))) << markup;
  }
  EXPECT_THAT(page, Not(HasSubstr(std::string(1000, 'w'))));
  EXPECT_THAT(page, HasSubstr(std::string(120, 'w') + "..."));
  const Json figure = figure_in(*described, "clients");
  EXPECT_EQ(figure["categories"][0], "<img src=x onerror=alert(1)>");
}

// Ten thousand rounds that regroup a thousand clients, all of them with names.
TEST(DescribeRun, BoundsALongRun) {
  const RecordedRun run;
  run.write("recipe.toml", "name = \"long\"\nrounds = 10000\n");
  std::string rounds;
  std::string groups;
  std::string members;
  for (int g = 0; g < 20; ++g) {
    members += g == 0 ? "[" : "],[";
    for (int k = 0; k < 50; ++k) members += fmt::format("{}{}", k == 0 ? "" : ",", 20 * k + g);
  }
  for (int round = 1; round <= 10'000; ++round) {
    rounds +=
        fmt::format(
            R"({{"round":{},"accuracy":{:.6f},"loss":{:.6f},"train_loss":{:.6f},"client_p10":0.1,"client_p50":0.512345,"client_p90":0.9,"client_worst":0.01,"bytes_up":123456,"bytes_down":1,"cost_total_s":{:.4f},"wall_s":0.01,"participants":100,"dropped":[{{"client":{},"reason":"straggler"}}]}})",
            round, round == 5000 ? 0.999 : 0.5 + 0.3 * std::sin(round * 0.37), 2.0 / round, 3.0 / round, round * 1.2345,
            round % 1000) +
        "\n";
    if (round % 100 == 1)
      groups += fmt::format(R"({{"round":{},"method":"m","why":"regroup","members":[{}]]}})", round, members) + "\n";
  }
  run.write("rounds.jsonl", rounds);
  run.write("groups.jsonl", groups);
  std::string clients = "client,name,samples,group,trained,dropped,accuracy,test_samples\n";
  for (int k = 0; k < 1000; ++k)
    clients += fmt::format("{},site number {} of a long name,10,{},5,1,0.{:03},7\n", k, k, k % 20, k);
  run.write("clients.csv", clients);
  const auto described = describe_run(run.folder);
  ASSERT_TRUE(described.ok());
  EXPECT_EQ((*described)["notes"], Json::array());
  const Json series = figure_in(*described, "accuracy")["series"][0];
  EXPECT_LE(series["y"].size(), 1010u);
  EXPECT_GE(series["y"].size(), 900u);
  EXPECT_EQ(series["x"][0].back(), 10'000);
  EXPECT_NE(std::find(series["y"].begin(), series["y"].end(), Json(0.999)), series["y"].end()) << "the peak is lost";
  const std::string page = to_html(*described);
  EXPECT_LE(page.size(), 5'000'000u);
  EXPECT_EQ(figure_in(*described, "drops")["categories"].size(), 100u);
}

TEST(ToHtml, NamesItsScriptsInItsPolicy) {
  const std::string page = to_html(Json{{"title", "</script>&"}});
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script\\u003e\\u0026"));
  EXPECT_THAT(page, Not(HasSubstr("http://"))) << "but for namespaces nothing is named that is elsewhere";
}

}  // namespace
}  // namespace muster
