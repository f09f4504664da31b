// `muster compare` as users call it.
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "command_line.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Compare : public CommandLineTest {
 protected:
  std::string runs() const { return (scratch_.path() / "runs").string(); }
  // Methods and options after the word, on a small task.
  Words words(const Words& more) const {
    Words all{"compare"};
    all.insert(all.end(), more.begin(), more.end());
    for (const char* setting : {"data.source=blobs", "data.clients=20", "model.name=softmax"}) {
      all.insert(all.end(), {"--set", setting});
    }
    all.insert(all.end(), {"--out", runs()});
    return all;
  }
  nlohmann::json compared(const Words& more) const {
    Words all = words(more);
    all.insert(all.end(), {"--json", "--quiet"});
    const Finished finished = muster(all);
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
    return nlohmann::json::parse(finished.out, nullptr, false);
  }
  std::size_t folders() const {
    std::size_t count = 0;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(runs(), none)) count += entry.is_directory() ? 1 : 0;
    return count;
  }
};

TEST_F(Compare, HasTheFieldsOfTheContract) {
  const auto json = compared({"fedavg", "fedprox+local.mu=1", "--rounds", "3", "--seeds", "1,2", "--targets", "0.1,1"});
  EXPECT_TRUE(json["task"].is_string());
  EXPECT_EQ(json["seeds"], (std::vector<int>{1, 2}));
  ASSERT_EQ(json["methods"].size(), 2u);
  const auto& method = json["methods"][1];
  EXPECT_EQ(method["method"], "fedprox+local.mu=1");
  EXPECT_EQ(method["settings"], nlohmann::json::object());
  EXPECT_EQ(method["runs"].size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(runs() + "/" + method["runs"][0].get<std::string>() + "/summary.json"));
  for (const char* field : {"last_mean", "last_std", "best_mean", "best_std"}) {
    EXPECT_TRUE(method["accuracy"][field].is_number()) << field;
  }
  ASSERT_EQ(method["to_target"].size(), 2u);
  EXPECT_EQ(method["to_target"][0]["accuracy"], 0.1);
  for (const char* field : {"rounds_mean", "bytes_mean", "cost_s_mean"}) {
    EXPECT_TRUE(method["to_target"][0][field].is_number()) << field;
    EXPECT_TRUE(method["to_target"][1][field].is_null()) << field;
  }
  EXPECT_EQ(method["to_target"][0]["reached"], 2);
  EXPECT_EQ(method["to_target"][1]["reached"], 0);
  ASSERT_EQ(json["differences"].size(), 1u);
  EXPECT_EQ(json["differences"][0]["a"], "fedprox+local.mu=1");
  EXPECT_EQ(json["differences"][0]["b"], "fedavg");
  EXPECT_TRUE(json["differences"][0]["mean"].is_number());
  EXPECT_TRUE(json["differences"][0]["better_in"].is_number_unsigned());
}

TEST_F(Compare, ARunIsTheOneThatRunMakesOfItsRecipe) {
  const auto json = compared({"fedavg", "scaffold", "--rounds", "3", "--seeds", "4"});
  for (const auto& method : json["methods"]) {
    const std::string folder = runs() + "/" + method["runs"][0].get<std::string>();
    const Finished alone = muster({"run", folder + "/recipe.toml", "--out", (scratch_.path() / "alone").string(),
                                   "--json", "--quiet", "--threads", "2"});
    ASSERT_EQ(alone.status, 0) << alone.err;
    EXPECT_EQ(nlohmann::json::parse(alone.out)["signature"], method["signatures"][0]);
  }
}

TEST_F(Compare, TheSameLineAgainRunsNothingAndOnlyPrints) {
  const Words line{"fedavg", "fedprox", "--rounds", "2", "--seeds", "1,2"};
  const auto first = compared(line);
  EXPECT_EQ(folders(), 4u);
  EXPECT_EQ(compared(line), first);
  EXPECT_EQ(folders(), 4u);
  for (const char* format : {"--markdown", "--latex", "--csv"}) {
    Words other = words(line);
    other.push_back(format);
    const Finished finished = muster(other);
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_THAT(finished.out, HasSubstr("fedprox")) << format;
    EXPECT_THAT(finished.err, HasSubstr("4/4 runs")) << "progress is on stderr";
    EXPECT_THAT(finished.out, Not(HasSubstr("4/4 runs")));
  }
  EXPECT_EQ(folders(), 4u);
}

// A page of all runs and one of each, which say how to make it again.
TEST_F(Compare, LeavesPages) {
  const auto json = compared({"fedavg", "b c:fedprox", "--rounds", "2", "--seeds", "1,2"});
  for (const auto& method : json["methods"]) {
    for (const auto& run : method["runs"]) {
      EXPECT_TRUE(std::filesystem::exists(runs() + "/" + run.get<std::string>() + "/report.html")) << run;
    }
  }
  const std::string command = "muster compare fedavg 'b c:fedprox' --seeds 1,2 --set data.source=blobs";
  EXPECT_THAT(json["command"], StartsWith(command));
  std::vector<std::filesystem::path> pages;
  for (const auto& entry : std::filesystem::directory_iterator(runs())) {
    if (entry.path().extension() == ".html") pages.push_back(entry.path());
  }
  ASSERT_EQ(pages.size(), 1u);
  std::ifstream in(pages[0]);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(page, AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr(command), HasSubstr("Mean ± standard deviation")));
}

// Two runs without an end, stopped by the test.
class CompareGoingOn : public Compare {
 protected:
  // Begins the comparison, lets every run record more than it has, and interrupts it.
  Finished interrupted() const {
    Words all = words({"fedavg", "fedprox", "--rounds", "1000000", "--seeds", "1", "--threads", "2"});
    all.insert(all.begin(), MUSTER_BINARY);
    const auto before = rounds();
    const Process process(scratch_, all);
    const auto more = [&] {
      auto now = rounds();
      return now.size() == 2 && std::ranges::all_of(now, [&](const auto& run) {
               const auto known = before.find(run.first);
               return run.second.size() > (known == before.end() ? 0 : known->second.size());
             });
    };
    for (int i = 0; i < 20000 && !more(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process.kill(SIGINT);
    return process.wait();
  }
  // By folder: the rounds that are recorded.
  std::map<std::string, std::vector<std::uint64_t>> rounds() const {
    std::map<std::string, std::vector<std::uint64_t>> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(runs(), none)) {
      std::ifstream in(entry.path() / "rounds.jsonl");
      for (std::string line; std::getline(in, line);) {
        const auto record = nlohmann::json::parse(line, nullptr, false);
        if (record.is_object()) found[entry.path().filename().string()].push_back(record["round"].get<std::uint64_t>());
      }
    }
    return found;
  }
};

TEST_F(CompareGoingOn, CtrlCSavesAndTheSameLineGoesOn) {
  std::map<std::string, std::vector<std::uint64_t>> before;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const Finished cut = interrupted();
    EXPECT_EQ(cut.status, 130) << cut.err;
    EXPECT_EQ(cut.out, "");
    EXPECT_THAT(cut.err, HasSubstr("interrupted with 0 of 2 runs done; the same command goes on from here"));
    EXPECT_EQ(folders(), 2u);
    for (const auto& [run, all] : rounds()) {
      for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i + 1) << "none is lost, none is there twice";
      EXPECT_GT(all.size(), before[run].size()) << "it goes on where it was";
      EXPECT_TRUE(std::filesystem::exists(runs() + "/" + run + "/summary.json")) << "it has not saved";
      EXPECT_FALSE(std::filesystem::exists(runs() + "/" + run + "/lock"));
    }
    before = rounds();
  }
}

TEST_F(Compare, AGridShowsWhatWasChosen) {
  const Words line{
      "fedavg", "fedprox",         "--rounds", "2", "--seeds", "1", "--grid", "local.learning-rate=0.0001,0.1",
      "--grid", "local.mu=0.1,0.2"};
  const auto json = compared(line);
  EXPECT_EQ(json["methods"][0]["settings"], (nlohmann::json{{"local.learning-rate", 0.1}}));
  EXPECT_EQ(json["methods"][0]["grid"].size(), 2u);
  EXPECT_EQ(json["methods"][1]["grid"].size(), 4u);
  EXPECT_TRUE(json["methods"][1]["settings"].contains("local.mu"));
  EXPECT_THAT(json["notes"].dump(),
              AllOf(HasSubstr("left out of its grid"), HasSubstr("data.validation-fraction = 0.1")));
  EXPECT_THAT(muster(words(line)).out, HasSubstr("local.learning-rate=0.1"));
}

TEST_F(Compare, AMethodMayBeAFileWithANameAndSettings) {
  const std::string mine =
      file("mine.toml",
           "name = \"mine\"\nrounds = 2\n[data]\nsource = \"blobs\"\nclients = 20\n[model]\nname = "
           "\"softmax\"\n[plan]\nsample-clients = 5\n");
  const Finished finished =
      muster({"compare", mine, "slower:" + mine + "+aggregation.global=adam+aggregation.server-learning-rate=0.01",
              mine + "+aggregation.global=uniform+local.objective=plain", "--seeds", "1", "--out", runs(), "--quiet",
              "--csv"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("\nmine,"), HasSubstr("\nslower,"),
                                  HasSubstr("\nmine+aggregation.global=uniform+local.objective=plain,")));
}

TEST_F(Compare, RefusesWithOneLine) {
  expect_error(words({"fedavg", "fedprox+data.alpha=0.3"}), 2,
               AllOf(HasSubstr("fedprox+data.alpha=0.3: data.alpha is 0.3, but 0.1 for fedavg"), HasSubstr("--task")));
  expect_error(words({"fedavg", "fedprx"}), 2, StartsWith("muster: fedprx: unknown recipe"));
  expect_error(words({"fedavg", "fedavg"}), 2, HasSubstr("fedavg: given twice"));
  expect_error(words({"fedavg", ":fedavg"}), 2, HasSubstr("want METHOD"));
  expect_error(words({"fedavg", "fedprox+local.nu=1"}), 2, HasSubstr("local.nu: unknown key"));
  expect_error(words({"fedavg", "--seeds", "1,x"}), 2, HasSubstr("--seeds 1,x: 'x', want whole numbers"));
  expect_error(words({"fedavg", "--seeds", "1,1"}), 2, HasSubstr("1 is there twice"));
  expect_error(words({"fedavg", "--targets", "70"}), 2, HasSubstr("--targets 70: '70', want accuracies"));
  expect_error(words({"fedavg", "--grid", "local.lr=1,2"}), 2, HasSubstr("--grid local.lr: unknown key"));
  expect_error(words({"fedavg", "--grid", "data.alpha=1,2"}), 2, HasSubstr("every method must have the same data"));
  expect_error(words({"fedavg", "--json", "--csv"}), 2, HasSubstr("give one of them"));
  EXPECT_EQ(folders(), 0u);
}

}  // namespace
}  // namespace muster
