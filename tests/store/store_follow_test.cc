// The store follows the folders, whatever becomes of them.
#include <gmock/gmock.h>

#include <thread>

#include "record/run_lock.h"
#include "store/run_scene.h"
#include "store/store_contents.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class StoreFollow : public RunScene {
 protected:
  StoredRun found(const Store& store, const std::string& id) {
    const Result<StoredRun> run = store.find(id);
    EXPECT_TRUE(run.ok()) << run.error().message;
    return run.ok() ? *run : StoredRun{};
  }
};

TEST_F(StoreFollow, LinesThatWereAddedAreReadOnce) {
  make_run("a", 2);
  Store store = opened();
  EXPECT_EQ(found(store, "a").rounds, 2u);
  EXPECT_EQ(found(store, "a").bytes, 60u);
  EXPECT_EQ(refresh(store).changed, 0u);
  append("a", "rounds.jsonl", round_line(3, 0.9) + round_line(4, 0.2).substr(0, 30));
  EXPECT_EQ(refresh(store).changed, 1u);
  StoredRun run = found(store, "a");
  EXPECT_EQ(run.rounds, 3u);  // the last line has not ended
  EXPECT_EQ(run.generation, 0u);
  EXPECT_EQ(run.bytes, 90u);
  EXPECT_EQ(run.accuracy_best, 0.9);
  EXPECT_EQ(run.best_round, 3u);
  EXPECT_DOUBLE_EQ(run.cost_s, 1.5);
  EXPECT_DOUBLE_EQ(run.wall_s, 0.75);
  append("a", "rounds.jsonl", round_line(4, 0.2).substr(30));
  refresh(store);
  EXPECT_EQ(found(store, "a").rounds, 4u);
  EXPECT_EQ(found(store, "a").accuracy_last, 0.2);
  EXPECT_EQ(store_contents(store), contents_made_anew(out()));
}

TEST_F(StoreFollow, RoundsThatWereTakenBackAreGone) {
  make_run("a", 4);
  Store store = opened();
  const std::uint64_t before = store.changes(0)->sequence;
  // As a resumed run does it: a new file in place of the old one.
  write("a", "new", round_line(1, 0.1) + round_line(2, 0.3));
  std::filesystem::rename(folder("a") / "new", folder("a") / "rounds.jsonl");
  refresh(store, Look::kQuick);
  const StoreChanges changes = *store.changes(before);
  ASSERT_THAT(changes.runs, SizeIs(1));
  EXPECT_EQ(changes.runs[0].generation, 1u);
  EXPECT_EQ(changes.runs[0].rounds, 2u);
  EXPECT_THAT(*store.rounds("a"), SizeIs(2));
  EXPECT_THAT(store.changes(changes.sequence)->runs, IsEmpty());
  // The same file, changed in place and longer.
  write("a", "rounds.jsonl", round_line(1, 0.5) + round_line(2, 0.5) + round_line(3, 0.5));
  refresh(store);
  EXPECT_EQ(found(store, "a").generation, 2u);
  EXPECT_EQ((*store.rounds("a"))[0].accuracy, 0.5);
  EXPECT_EQ(store_contents(store), contents_made_anew(out()));
}

TEST_F(StoreFollow, AFolderThatWasDeletedCopiedOrChangedIsNoticed) {
  make_run("a", 2);
  make_run("b", 2);
  write("b", "summary.json", summary_text("b", 2));
  Store store = opened();
  EXPECT_THAT(ids(store), UnorderedElementsAre("a", "b"));
  const std::uint64_t before = store.changes(0)->sequence;
  std::filesystem::remove_all(folder("a"));
  std::filesystem::copy(folder("b"), folder("c"));
  append("b", "recipe.toml", "[local]\nepochs = 3\n");
  const StoreUpdate update = refresh(store);
  EXPECT_EQ(update.runs, 2u);
  EXPECT_EQ(update.changed, 2u);
  EXPECT_EQ(update.gone, 1u);
  EXPECT_THAT(ids(store), UnorderedElementsAre("b", "c"));
  EXPECT_EQ(store.recipe("b")->at("local.epochs"), "3");
  EXPECT_THAT(store.changes(before)->gone, ElementsAre("a"));
  EXPECT_THAT(*store.rounds("a"), IsEmpty());
  make_run("a", 1);
  refresh(store, Look::kQuick);
  EXPECT_THAT(store.changes(before)->gone, IsEmpty());
  std::filesystem::remove(folder("a") / "recipe.toml");  // what is left is no run
  EXPECT_EQ(refresh(store).gone, 1u);
}

TEST_F(StoreFollow, AQuickLookSeesARunThatIsOverOnlyWhenItsFolderChanges) {
  make_run("a", 2);
  write("a", "summary.json", summary_text("a", 2));
  Store store = opened();
  append("a", "groups.jsonl", "");
  refresh(store);
  append("a", "groups.jsonl",
         R"({"round":1,"method":"m","why":"w","count":2,"idle":[3],"members":[[0],[1,2]]})"
         "\n");
  EXPECT_EQ(refresh(store, Look::kQuick).changed, 0u);
  EXPECT_EQ(refresh(store, Look::kClose).changed, 1u);
  EXPECT_THAT((*store.groupings("a"))[0].sizes, ElementsAre(1, 2));
  write("a", "tags", "good\n");
  EXPECT_EQ(refresh(store, Look::kQuick).changed, 1u);
  EXPECT_THAT(found(store, "a").tags, ElementsAre("good"));
}

TEST_F(StoreFollow, ASummaryCountsUntilTheRunGoesOn) {
  make_run("a", 2);
  write("a", "summary.json", summary_text("a", 2, "interrupted"));
  Store store = opened();
  EXPECT_EQ(found(store, "a").condition, RunCondition::kUnfinished);
  EXPECT_EQ(found(store, "a").accuracy_last, 0.75);
  EXPECT_EQ(found(store, "a").wall_s, 9.5);
  append("a", "rounds.jsonl", round_line(3, 0.3));
  refresh(store, Look::kQuick);
  StoredRun run = found(store, "a");
  EXPECT_EQ(run.stopped, "");
  EXPECT_EQ(run.summary, "");
  EXPECT_DOUBLE_EQ(*run.accuracy_last, 0.3);
  {
    const auto lock = RunLock::take(folder("a"));
    EXPECT_EQ(found(store, "a").condition, RunCondition::kRunning);
    EXPECT_THAT(ids(store, {.stopped = "running"}), ElementsAre("a"));
    EXPECT_EQ(run_json(found(store, "a"))["stopped"], nullptr);
  }
  write("a", "summary.json", summary_text("a", 3));
  refresh(store, Look::kQuick);
  EXPECT_EQ(found(store, "a").condition, RunCondition::kOver);
  EXPECT_THAT(ids(store, {.stopped = "rounds"}), ElementsAre("a"));
  EXPECT_THAT(ids(store, {.stopped = "unfinished"}), IsEmpty());
}

TEST_F(StoreFollow, WhateverAFolderHoldsItIsListedWithItsFault) {
  const std::string deep(100'000, '[');
  for (const std::string& content :
       {std::string("{\"round\":"), deep, std::string("null\n"), std::string("{\"round\":-1}\n"),
        std::string(1000, '\0'), std::string("{\"round\":1,\"accuracy\":\"x\",\"dropped\":7}\n"),
        std::string("\xff\xfe\n")}) {
    make_run("a", 1);
    append("a", "rounds.jsonl", content + "\n");
    for (const char* file : {"groups.jsonl", "clients.csv", "summary.json", "tags"}) write("a", file, content + "\n");
    Store store = opened();
    EXPECT_THAT(ids(store), ElementsAre("a"));
    EXPECT_NE(found(store, "a").fault, "");
    std::filesystem::remove_all(folder("a"));
  }
  make_run("b", 1);
  write("b", "recipe.toml", "name = ");
  std::filesystem::create_directory(folder("b") / "summary.json");
  Store store = opened();
  EXPECT_THAT(found(store, "b").fault, HasSubstr("recipe.toml"));
  std::filesystem::remove_all(folder("b"));
  make_run("b", 1);  // mended
  refresh(store);
  EXPECT_EQ(found(store, "b").fault, "");
}

TEST_F(StoreFollow, NamesOfClientsMayHoldAnything) {
  make_run("a", 1);
  write("a", "clients.csv",
        "client,name,samples,group,trained,dropped,accuracy,test_samples\n"
        "0,\"one, \"\"two\"\"\nthree\",10,,1,2,0.5,4\n1,<img src=x>,,3,0,0,,\n");
  const Store store = opened();
  const std::vector<StoredClient> clients = *store.clients("a");
  ASSERT_THAT(clients, SizeIs(2));
  EXPECT_EQ(clients[0].name, "one, \"two\"\nthree");
  EXPECT_EQ(clients[0].samples, 10u);
  EXPECT_EQ(clients[0].test_samples, 4u);
  EXPECT_EQ(clients[1].samples, std::nullopt) << "hidden";
  EXPECT_EQ(clients[1].test_samples, std::nullopt);
  EXPECT_EQ(clients[0].group, std::nullopt);
  EXPECT_EQ(clients[0].accuracy, 0.5);
  EXPECT_EQ(clients[1].name, "<img src=x>");
  EXPECT_EQ(clients[1].group, 3u);
  EXPECT_EQ(clients[1].accuracy, std::nullopt);
}

TEST_F(StoreFollow, ClientsOfVeryLargeRunsStayInTheirFile) {
  make_run("a", 1);
  std::string table = "client,name,samples,group,trained,dropped,accuracy,test_samples\n";
  for (std::uint32_t k = 0; k <= kMostStoredClients; ++k) table += fmt::format("{},,1,0,0,0,,0\n", k);
  write("a", "clients.csv", table);
  const Store store = opened();
  EXPECT_THAT(*store.clients("a"), IsEmpty());
  EXPECT_EQ(found(store, "a").fault, "");
}

TEST_F(StoreFollow, FiltersAndSorts) {
  make_run("a", 1, "one");
  make_run("b", 3, "two");
  make_run("c", 2, "two");
  write("c", "recipe.toml", "name = \"two\"\nrounds = 10\nseed = 8\n[data]\nalpha = 0.1\n[local]\nepochs = 3.0\n");
  write("a", "tags", "good\nbetter\n");
  const Store store = opened();
  EXPECT_THAT(ids(store, {.recipe = "two"}), UnorderedElementsAre("b", "c"));
  EXPECT_THAT(ids(store, {.tag = "good"}), ElementsAre("a"));
  EXPECT_THAT(ids(store, {.tag = "goo"}), IsEmpty());
  EXPECT_THAT(ids(store, {.where = {{"data.alpha", "0.5"}}}), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(ids(store, {.where = {{"data.alpha", "0.5"}, {"seed", "8"}}}), IsEmpty());
  EXPECT_THAT(ids(store, {.where = {{"local.epochs", "3"}, {"seed", "8"}}}), ElementsAre("c"));
  EXPECT_THAT(ids(store, {.order = RunOrder::kRounds}), ElementsAre("b", "c", "a"));
  EXPECT_THAT(ids(store, {.order = RunOrder::kName, .reverse = true}), ElementsAre("c", "b", "a"));
  EXPECT_THAT(ids(store, {.order = RunOrder::kAccuracy, .limit = 1}), ElementsAre("b"));
  EXPECT_THAT(ids(store, {.since_s = std::int64_t{1} << 40}), IsEmpty());
  for (std::size_t order = 0; order < run_orders().size(); ++order) {
    EXPECT_THAT(ids(store, {.order = static_cast<RunOrder>(order)}), SizeIs(3)) << run_orders()[order];
  }
}

TEST_F(StoreFollow, FindsRunsByWhatPeopleType) {
  make_run("fedavg-s1", 1);
  make_run("fedavg-s2", 1);
  const Store store = opened();
  EXPECT_EQ(store.find("fedavg-s1")->id, "fedavg-s1");
  EXPECT_EQ(store.find((folder("fedavg-s2") / "").string())->id, "fedavg-s2");
  EXPECT_EQ(store.find("fedavg-s2")->dir, folder("fedavg-s2"));
  for (const char* wrong : {"fedavg", "nothing", "", "..", "/"}) {
    const Result<StoredRun> run = store.find(wrong);
    ASSERT_FALSE(run.ok()) << wrong;
    EXPECT_EQ(run.error().code, ErrorCode::kUsage);
  }
  EXPECT_THAT(store.find("fedavg").error().message, HasSubstr("2 runs begin so"));
}

TEST_F(StoreFollow, TagsAreInTheFolder) {
  make_run("a", 1);
  Store store = opened();
  EXPECT_TRUE(*store.tag("a", "zwei"));
  EXPECT_TRUE(*store.tag("a", "ein"));
  EXPECT_FALSE(*store.tag("a", "ein"));
  EXPECT_THAT(found(store, "a").tags, ElementsAre("ein", "zwei"));
  EXPECT_EQ(store_contents(store), contents_made_anew(out()));
  EXPECT_TRUE(*store.untag("a", "ein"));
  EXPECT_FALSE(*store.untag("a", "ein"));
  EXPECT_THAT(found(store, "a").tags, ElementsAre("zwei"));
  for (const char* wrong : {"", "two words", "a,b", "line\n", "\xff", "\x7f"}) {
    EXPECT_EQ(store.tag("a", wrong).error().code, ErrorCode::kUsage) << wrong;
  }
  EXPECT_FALSE(store.tag("a", std::string(65, 'x')).ok());
}

TEST_F(StoreFollow, TagsOfManyAtOnceAreAllKept) {
  make_run("a", 1);
  Store first = opened();
  Store second = opened();
  const auto tag = [](Store& store, char letter) {
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(store.tag("a", fmt::format("{}{}", letter, i)).ok());
  };
  std::thread other([&] { tag(second, 'b'); });
  tag(first, 'a');
  other.join();
  EXPECT_THAT(found(first, "a").tags, SizeIs(16));
}

TEST_F(StoreFollow, RemovesARunAndNothingElse) {
  make_run("a", 1);
  make_run("b", 1);
  write("outside", "file", "precious");
  std::filesystem::create_directory_symlink(folder("outside"), folder("a") / "link");
  std::filesystem::create_directory_symlink(folder("b"), folder("l"));
  Store store = opened();
  EXPECT_THAT(ids(store), UnorderedElementsAre("a", "b", "l"));
  {
    const auto lock = RunLock::take(folder("a"));
    const Status refused = store.remove("a");
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("is running it"));
    EXPECT_TRUE(std::filesystem::exists(folder("a") / "rounds.jsonl"));
  }
  EXPECT_TRUE(store.remove("a").ok());
  EXPECT_FALSE(std::filesystem::exists(folder("a")));
  EXPECT_TRUE(std::filesystem::exists(folder("outside") / "file"));
  EXPECT_THAT(store.remove("l").error().message, HasSubstr("a link"));
  EXPECT_TRUE(std::filesystem::exists(folder("b") / "recipe.toml"));
  EXPECT_THAT(ids(store), UnorderedElementsAre("b", "l"));
  EXPECT_FALSE(store.remove("a").ok());
}

TEST_F(StoreFollow, AFileThatIsNoStoreIsNotTouched) {
  make_run("a", 1);
  std::ofstream(out() / kStoreFile) << "my diary, which is no database at all, however long it may become";
  EXPECT_THAT(Store::open_file(out()).error().message, HasSubstr("not a store of runs"));
  std::string why_not;
  const Result<Store> in_memory = Store::open(out(), &why_not);
  ASSERT_TRUE(in_memory.ok());
  EXPECT_THAT(why_not, HasSubstr("not a store of runs"));
  EXPECT_THAT(ids(*in_memory), ElementsAre("a"));
  std::ifstream in(out() / kStoreFile);
  std::string word;
  in >> word;
  EXPECT_EQ(word, "my");
  std::filesystem::remove(out() / kStoreFile);
  std::filesystem::create_directory(out() / kStoreFile);
  EXPECT_THAT(Store::open_file(out()).error().message, HasSubstr("cannot be written to"));
  EXPECT_TRUE(Store::open(out()).ok());
  EXPECT_EQ(Store::open(scratch_.path() / "nowhere").error().code, ErrorCode::kUsage);
}

TEST_F(StoreFollow, ManyMayUseItAtOnce) {
  for (const char* id : {"a", "b", "c"}) make_run(id, 0);
  { opened(); }
  std::vector<std::thread> threads;
  for (const std::string id : {"a", "b", "c"}) {
    threads.emplace_back([this, id] {
      Result<Store> store = Store::open_file(out());
      ASSERT_TRUE(store.ok()) << store.error().message;
      for (std::uint32_t r = 1; r <= 40; ++r) {
        append(id, "rounds.jsonl", round_line(r, 0.01 * r));
        const auto update = store->refresh(Look::kQuick);
        ASSERT_TRUE(update.ok()) << update.error().message;
        ASSERT_TRUE(store->list().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Store store = opened();
  for (const char* id : {"a", "b", "c"}) EXPECT_THAT(*store.rounds(id), SizeIs(40));
  EXPECT_EQ(store_contents(store), contents_made_anew(out()));
}

}  // namespace
}  // namespace muster
