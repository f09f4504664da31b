// `muster runs`, as people and scripts use it.
#include <nlohmann/json.hpp>
#include <thread>

#include "command_line.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class RunsCli : public CommandLineTest {
 protected:
  std::string out() const { return (scratch_.path() / "runs").string(); }

  Words small_run(const Words& more) const {
    Words words{"run", "fedavg", "--out", out(), "--quiet", "--threads", "1"};
    for (const char* setting :
         {"data.source=synthetic", "data.clients=10", "data.samples-min=20", "data.samples-max=40",
          "data.test-fraction=0.2", "model.name=softmax", "plan.sample-clients=4"}) {
      words.insert(words.end(), {"--set", setting});
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  nlohmann::json told(Words words) const {
    words.insert(words.end(), {"--out", out(), "--json"});
    const Finished finished = muster(words);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return nlohmann::json::parse(finished.out, nullptr, false);
  }
  std::string run_now(const Words& more) const {
    Words words = small_run(more);
    words.push_back("--json");
    const Finished finished = muster(words);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return nlohmann::json::parse(finished.out)["run"];
  }
};

TEST_F(RunsCli, ListsWhatRunPrinted) {
  Words words = small_run({"--rounds", "3", "--json"});
  const Finished run = muster(words);
  ASSERT_EQ(run.status, 0) << run.err;
  const auto printed = nlohmann::json::parse(run.out);
  ASSERT_TRUE(std::filesystem::exists(out() + "/store.sqlite"));
  const std::string second = run_now({"--rounds", "2", "--seed", "5", "--set", "local.epochs=3"});

  const nlohmann::json list = told({"runs", "--sort", "rounds"});
  ASSERT_THAT(list, SizeIs(2));
  for (const auto& [field, value] : printed.items()) EXPECT_EQ(list[0][field], value) << field;
  EXPECT_EQ(list[0]["condition"], "over");
  EXPECT_EQ(told({"runs", "--where", "local.epochs=3"})[0]["run"], second);
  EXPECT_THAT(told({"runs", "--where", "seed=5", "--stopped", "rounds"}), SizeIs(1));
  EXPECT_THAT(told({"runs", "--since", "1d", "--recipe", "fedavg"}), SizeIs(2));
  EXPECT_THAT(told({"runs", "--stopped", "diverged"}), IsEmpty());
  EXPECT_EQ(told({"runs", "show", second})["keys"]["local.epochs"], "3.0");

  const nlohmann::json diff = told({"runs", "diff", printed["run"], second});
  EXPECT_EQ(diff["first_round"], 1);
  EXPECT_THAT(diff["recipe"].dump(), AllOf(HasSubstr("local.epochs"), HasSubstr("seed"), Not(HasSubstr("data."))));
  EXPECT_THAT(diff["result"].dump(), HasSubstr("signature"));

  const Finished table = muster({"runs", "--out", out()});
  EXPECT_THAT(table.out, AllOf(HasSubstr(second), HasSubstr("2/2"), HasSubstr("rounds")));
  EXPECT_EQ(table.err, "");
}

TEST_F(RunsCli, TagsDeletesAndReindexes) {
  const std::string first = run_now({"--rounds", "2"});
  const std::string second = run_now({"--rounds", "2", "--seed", "2"});
  EXPECT_THAT(muster({"runs", "tag", first, "paper", "gut", "--out", out()}).out, HasSubstr("gut paper"));
  EXPECT_EQ(told({"runs", "--tag", "paper"})[0]["run"], first);
  EXPECT_EQ(muster({"runs", "untag", first, "gut", "--out", out()}).status, 0);
  for (const char* ending : {"", "-wal", "-shm"}) std::filesystem::remove(out() + "/store.sqlite" + ending);
  EXPECT_THAT(muster({"runs", "reindex", "--out", out()}).out, HasSubstr("2 runs"));
  EXPECT_EQ(told({"runs", "--tag", "paper"})[0]["tags"], nlohmann::json({"paper"}));
  expect_error({"runs", "delete", first, "--out", out()}, 2, HasSubstr("--yes"));
  expect_error({"runs", "delete", first.substr(0, first.size() - 1), "--out", out(), "--yes"}, 2, HasSubstr("in full"));
  EXPECT_EQ(muster({"runs", "delete", first, "--out", out(), "--yes"}).status, 0);
  EXPECT_FALSE(std::filesystem::exists(out() + "/" + first));
  EXPECT_EQ(told({"runs"})[0]["run"], second);
  EXPECT_THAT(muster({"runs", "export", "--out", out(), "--mlflow", out() + "/ml"}).out, HasSubstr(second));
}

TEST_F(RunsCli, WrongWordsAreOneLine) {
  run_now({"--rounds", "1"});
  const auto wrong = [&](Words words, const char* message) {
    words.insert(words.begin(), "runs");
    words.insert(words.end(), {"--out", out()});
    expect_error(words, 2, HasSubstr(message));
  };
  wrong({"--sort", "beauty"}, "accuracy");
  wrong({"--stopped", "never"}, "diverged");
  wrong({"--since", "yesterday"}, "36h");
  wrong({"--where", "local.epoch=1"}, "local.epochs");
  wrong({"--where", "local.epochs"}, "key=value");
  wrong({"--limit", "0"}, "at least 1");
  wrong({"show", "nothing"}, "no run there");
  wrong({"tag", "fedavg", "two words"}, "without blanks");
  wrong({"rindex"}, "did you mean");
  expect_error({"runs", "--out", out() + "/nowhere"}, 2, HasSubstr("no such folder"));
}

TEST_F(RunsCli, ARunThatIsKilledIsListedAndGoesOn) {
  const Words words = small_run({"--rounds", "100000", "--set", "checkpoint-every=5"});
  Words command = words;
  command.insert(command.begin(), MUSTER_BINARY);
  const Process process(scratch_, command);
  nlohmann::json list;
  for (int tries = 0; tries < 300; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (!std::filesystem::exists(out() + "/store.sqlite")) continue;
    ScratchFolder other;
    list = nlohmann::json::parse(Process(other, {MUSTER_BINARY, "runs", "--out", out(), "--json"}).wait().out, nullptr,
                                 false);
    if (list.is_array() && !list.empty() && list[0]["rounds"] > 20) break;
  }
  ASSERT_TRUE(list.is_array() && !list.empty()) << list;
  EXPECT_EQ(list[0]["condition"], "running");
  EXPECT_EQ(list[0]["stopped"], nullptr);
  process.kill(SIGKILL);
  EXPECT_EQ(process.wait().status, 128 + SIGKILL);
  list = told({"runs", "--stopped", "unfinished"});
  ASSERT_THAT(list, SizeIs(1));
  const std::string run = list[0]["run"];
  std::ifstream rounds(out() + "/" + run + "/rounds.jsonl");
  EXPECT_EQ(list[0]["rounds"], std::count(std::istreambuf_iterator<char>(rounds), {}, '\n'));
  const auto more = list[0]["rounds"].get<int>() + 3;
  const Finished resumed =
      muster({"run", "--resume", run, "--out", out(), "--rounds", std::to_string(more), "--quiet"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  list = told({"runs"});
  EXPECT_EQ(list[0]["rounds"], more);
  EXPECT_EQ(list[0]["condition"], "over");
}

TEST_F(RunsCli, ABrokenStoreStopsNobody) {
  file("runs/store.sqlite", std::string(5000, 'x'));
  Words words = small_run({"--rounds", "2"});
  std::erase(words, "--quiet");
  const Finished run = muster(words);
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("not a store of runs"));
  const Finished list = muster({"runs", "--out", out()});
  EXPECT_EQ(list.status, 0);
  EXPECT_THAT(list.out, HasSubstr("2/2"));
  EXPECT_THAT(list.err, HasSubstr("reindex"));
  EXPECT_EQ(muster({"runs", "reindex", "--out", out()}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(out() + "/store.sqlite.old"));
  EXPECT_EQ(muster({"runs", "--out", out()}).err, "");
}

}  // namespace
}  // namespace muster
