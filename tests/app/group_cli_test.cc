// `muster group` as its users meet it: files in; a table, JSON or a picture out; one clear line for every mistake.
#include <nlohmann/json.hpp>
#include <set>

#include "base/random.h"
#include "command_line.h"
#include "grouping/grouping.h"

namespace muster {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class Group : public CommandLineTest {
 protected:
  // Thirty clients of five classes, each with much of two of them; every second on the other edge.
  std::string labels() const {
    Stream stream({.seed = 11});
    std::string text = "a,b,c,d,e\n";
    for (std::uint32_t k = 0; k < 30; ++k) {
      for (std::uint32_t c = 0; c < 5; ++c) {
        const bool favoured = c == k % 5 || c == (k + 2) % 5;
        text += std::to_string(1 + stream.below(favoured ? 60 : 3)) + (c < 4 ? "," : "\n");
      }
    }
    return file("labels.csv", text);
  }
  // Three bundles of vectors.
  std::string vectors() const {
    Stream stream({.seed = 12});
    std::string text;
    for (std::uint32_t k = 0; k < 30; ++k) {
      for (std::uint32_t j = 0; j < 6; ++j) {
        text += std::to_string((j == k % 3 ? 4.0 : 0.0) + 0.1 * stream.normal()) + (j < 5 ? "," : "\n");
      }
    }
    return file("vectors.csv", text);
  }
  std::string column(const std::string& name, std::uint32_t modulus) const {
    std::string text = name + "\n";
    for (std::uint32_t k = 0; k < 30; ++k) text += std::to_string(k % modulus) + "\n";
    return file(name + ".csv", text);
  }
};

TEST_F(Group, EveryMethodAnswersAsTheContractSays) {
  for (const GrouperEntry& entry : groupers()) {
    Words words{"group", entry.name, "--labels", labels(), "--vectors", vectors(), "--json", "--seed", "3", "--quiet"};
    const auto has = [&](const char* key) { return std::ranges::find(entry.keys, key) != entry.keys.end(); };
    if (has("groups") && entry.name != "argmin-loss") words.insert(words.end(), {"--set", "groups=3"});
    if (entry.name == "greedy-complement") words.insert(words.end(), {"--set", "score=cosine"});
    if (has("min-samples")) words.insert(words.end(), {"--set", "min-samples=200"});
    const Finished finished = muster(words);
    ASSERT_EQ(finished.status, 0) << entry.name << ": " << finished.err;
    EXPECT_EQ(finished.err, "");
    const json answer = json::parse(finished.out);
    EXPECT_EQ(answer["method"], entry.name);
    EXPECT_EQ(answer["seed"], 3);
    EXPECT_GE(answer["seconds"].get<double>(), 0);
    std::set<int> seen;
    int first = -1;
    for (const json& group : answer["groups"]) {
      EXPECT_TRUE(std::is_sorted(group.begin(), group.end()));
      EXPECT_GT(group[0].get<int>(), first);
      first = group[0];
      for (const json& client : group) EXPECT_TRUE(seen.insert(client.get<int>()).second);
    }
    for (const json& client : answer["idle"]) EXPECT_TRUE(seen.insert(client.get<int>()).second);
    EXPECT_EQ(seen.size(), 30u);
    for (const char* field : {"cov_mean", "cov_max", "cpd_median", "cpd_mean", "balance_ratio", "covered_classes",
                              "size_min", "size_mean", "size_max"}) {
      EXPECT_TRUE(answer["quality"][field].is_number()) << entry.name << " " << field;
    }
    EXPECT_EQ(json::parse(muster(words).out)["groups"], answer["groups"]);
  }
}

TEST_F(Group, AllComparesEveryApplicableMethodAndDrawsIt) {
  const std::string picture = (scratch_.path() / "groups.svg").string();
  const Finished finished = muster({"group", "all", "--labels", labels(), "--plot", picture, "--quiet"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  for (const GrouperEntry& entry : groupers()) {
    const bool applies = entry.need != GroupingNeed::kVectors;
    EXPECT_EQ(finished.out.find("\n" + entry.name + " ") != std::string::npos, applies) << entry.name;
  }
  EXPECT_EQ(finished.out.find(" cannot: "), std::string::npos) << finished.out;
  std::ifstream in(picture);
  const std::string svg{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg"), HasSubstr("inter-cluster:"), HasSubstr("</svg>")));

  const json all = json::parse(muster({"group", "all", "--vectors", vectors(), "--truth", column("truth", 3), "--set",
                                       "groups=3", "--json", "--quiet"})
                                   .out);
  for (const json& method : all["methods"]) {
    if (method["method"] != "decomposed-cosine" && method["method"] != "agglomerative") continue;
    EXPECT_EQ(method["truth"]["correct"], 30) << method.dump();
    EXPECT_TRUE(method["quality"]["cov_mean"].is_null());
  }
}

TEST_F(Group, AllTakesASizeBesideAQuotaOfSamples) {
  const std::string counts = labels();
  const auto row = [&](Words settings) {
    Words words{"group", "all", "--labels", counts, "--json", "--quiet"};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    const json all = json::parse(muster(words).out);
    for (const json& method : all["methods"]) {
      if (method["method"] == "random") return method;
    }
    return json();
  };
  EXPECT_EQ(row({"size=3", "min-samples=200"})["quality"]["size_max"], 3);
  EXPECT_EQ(row({"max-clients=4", "min-samples=100000"})["idle"].size(), 0u);  // 30 clients in groups of four and more
  EXPECT_EQ(row({})["quality"]["size_max"], 5);
}

TEST_F(Group, GroupsNeverCrossEdges) {
  const Finished finished =
      muster({"group", "random", "--labels", labels(), "--edges", column("edge", 2), "--set", "size=4", "--json"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const json answer = json::parse(finished.out);
  ASSERT_FALSE(answer["groups"].empty());
  for (const json& group : answer["groups"]) {
    for (const json& client : group) EXPECT_EQ(client.get<int>() % 2, group[0].get<int>() % 2);
  }
}

TEST_F(Group, DoesNotMatchMoreGroupsAndClustersThanItCan) {
  std::string sizes, truth;
  for (int k = 0; k < 2100; ++k) {
    sizes += "1\n";
    truth += fmt::format("cluster{}\n", k);
  }
  const Finished finished = muster(
      {"group", "singletons", "--sizes", file("sizes.csv", sizes), "--truth", file("truth.csv", truth), "--json"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("--truth: 2100 groups and 2100 true clusters are too many to match"));
  EXPECT_FALSE(json::parse(finished.out).contains("truth"));
}

TEST_F(Group, DrawsAPngToo) {
  const std::string picture = (scratch_.path() / "groups.png").string();
  const Finished finished = muster({"group", "random", "--labels", labels(), "--set", "size=5", "--plot", picture});
  ASSERT_EQ(finished.status, 0) << finished.err;
  std::ifstream in(picture, std::ios::binary);
  const std::string png{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(png.starts_with("\x89PNG\r\n"));
  EXPECT_GT(png.size(), 300u);
}

TEST_F(Group, MistakesAreOneLineWithTheRightStatus) {
  const std::string counts = labels();
  expect_error({"group", "randum", "--labels", counts}, 2, HasSubstr("did you mean 'random'"));
  expect_error({"group", "random", "--labels", counts, "--set", "sise=3"}, 2, HasSubstr("grouping.size"));
  expect_error({"group", "random", "--labels", counts, "--set", "size=0"}, 2,
               AllOf(HasSubstr("0"), HasSubstr("from 1 to")));
  expect_error({"group", "random", "--labels", counts, "--set", "size=31"}, 2, AllOf(HasSubstr("31"), HasSubstr("30")));
  expect_error({"group", "random", "--labels", counts, "--set", "lambda=1"}, 2, HasSubstr("not a key of random"));
  expect_error({"group", "inter-cluster", "--labels", counts}, 2, HasSubstr("grouping.groups: not set"));
  expect_error({"group", "inter-cluster", "--labels", counts, "--set", "groups=31"}, 2,
               AllOf(HasSubstr("31"), HasSubstr("30")));
  expect_error({"group", "gap-voting", "--labels", counts}, 2, HasSubstr("vectors"));
  expect_error({"group", "random", "--labels", counts}, 2, HasSubstr("grouping.size: not set"));
  expect_error({"group", "random", "--set", "size=5"}, 2, HasSubstr("--labels"));
  expect_error({"group", "random", "--labels", counts, "--threads", "2"}, 2, HasSubstr("--threads"));
  expect_error({"group", "random", "--labels", counts, "--plot", "x.jpg"}, 2, HasSubstr("x.jpg"));
  expect_error({"group", "random", "--sizes", column("sizes", 7), "--plot", "x.svg"}, 2, HasSubstr("--labels"));
  expect_error({"group", "random", "--labels", "none.csv", "--set", "size=2"}, 1, HasSubstr("none.csv"));
  expect_error({"group", "random", "--labels", file("ragged.csv", "1,2\n3\n"), "--set", "size=2"}, 1,
               HasSubstr("ragged.csv: line 2"));
  expect_error({"group", "random", "--labels", file("minus.csv", "1,2\n3,-1\n"), "--set", "size=2"}, 1,
               HasSubstr("'-1'"));
  expect_error({"group", "random", "--labels", file("zeros.csv", "0,0\n0,0\n"), "--set", "size=2"}, 1,
               HasSubstr("training samples"));
  expect_error({"group", "random", "--labels", counts, "--vectors", file("two.csv", "1\n2\n"), "--set", "size=2"}, 1,
               AllOf(HasSubstr("two.csv"), HasSubstr("30")));
  expect_error({"group", "agglomerative", "--vectors", file("nan.csv", "1,2\nnan,1\n3,4\n"), "--set", "groups=2"}, 1,
               AllOf(HasSubstr("client 1"), HasSubstr("nan")));
}

TEST_F(Group, SizesMustAgreeWithLabels) {
  const std::string counts = file("l.csv", "1,2\n3,4\n");
  EXPECT_EQ(muster({"group", "singletons", "--labels", counts, "--sizes", file("s.csv", "3\n7\n")}).status, 0);
  expect_error({"group", "singletons", "--labels", counts, "--sizes", file("t.csv", "3\n8\n")}, 1,
               AllOf(HasSubstr("client 1"), HasSubstr("8"), HasSubstr("7")));
}

}  // namespace
}  // namespace muster
