#include "clients/client_state.h"

#include <algorithm>
#include <map>
#include <thread>

#include "base/random.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kValues = 16;
constexpr std::uint64_t kStateBytes = kValues * sizeof(float);

// Distinct values for every (client, slot, version), so that a mix-up of any two shows.
std::vector<float> state_of(std::uint32_t client, std::uint8_t slot, std::uint32_t version) {
  std::vector<float> values(kValues);
  for (std::size_t i = 0; i < kValues; ++i) {
    values[i] = static_cast<float>(client) + 1000.0f * static_cast<float>(version) + 0.25f * static_cast<float>(slot) +
                static_cast<float>(i) / 64.0f;
  }
  return values;
}

using Versions = std::map<std::uint32_t, std::uint32_t>;  // client -> version of its state in slot 0

void put(ClientStates& states, std::uint32_t client, std::uint32_t version) {
  const Status status = states.put({client}, 0, state_of(client, 0, version));
  ASSERT_TRUE(status.ok()) << status.error().message;
}

std::string save(ClientStates& states) {
  auto manifest = states.save();
  EXPECT_TRUE(manifest.ok()) << manifest.error().message;
  return *manifest;
}

void expect_states(ClientStates& states, const Versions& versions) {
  EXPECT_EQ(states.size(), versions.size());
  for (const auto& [client, version] : versions) {
    std::vector<float> out(kValues);
    const auto found = states.get({client}, 0, out);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_TRUE(*found) << "client " << client;
    EXPECT_EQ(out, state_of(client, 0, version)) << "client " << client;
  }
}

// What a new process finds in the folder with this manifest.
void expect_restores(const std::filesystem::path& folder, const std::string& manifest, const Versions& versions) {
  ClientStates states({.folder = folder, .memory_limit_bytes = 3 * kStateBytes});
  const Status status = states.restore(manifest);
  ASSERT_TRUE(status.ok()) << status.error().message;
  expect_states(states, versions);
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::uint64_t bytes_in(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& file : files_in(folder)) bytes += std::filesystem::file_size(file);
  return bytes;
}

void copy_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::remove_all(to);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

TEST(ClientStates, NothingStoredLeavesTheOutputAlone) {
  ClientStates states({});
  std::vector<float> out(kValues, 7.0f);
  const auto found = states.get({5}, 0, out);
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(*found);
  EXPECT_EQ(out, std::vector<float>(kValues, 7.0f));
  EXPECT_EQ(states.size(), 0u);
}

TEST(ClientStates, KeepsSlotsOfAClientApartAndReplaces) {
  ClientStates states({});
  ASSERT_TRUE(states.put({1}, 0, state_of(1, 0, 1)).ok());
  ASSERT_TRUE(states.put({1}, 1, state_of(1, 1, 1)).ok());
  ASSERT_TRUE(states.put({1}, 0, state_of(1, 0, 2)).ok());
  std::vector<float> out(kValues);
  ASSERT_TRUE(states.get({1}, 0, out).ok());
  EXPECT_EQ(out, state_of(1, 0, 2));
  ASSERT_TRUE(states.get({1}, 1, out).ok());
  EXPECT_EQ(out, state_of(1, 1, 1));
  EXPECT_EQ(states.size(), 2u);
  EXPECT_EQ(states.memory_bytes(), 2 * kStateBytes);
}

TEST(ClientStates, TellsSizesAndForgetsInMemoryAndOnDisk) {
  const ScratchFolder folder;
  ClientStates states({.folder = folder.path(), .memory_limit_bytes = 8});
  ASSERT_TRUE(states.put({1}, 0, std::vector<float>{1, 2}));
  ASSERT_TRUE(states.put({2}, 0, std::vector<float>{3}));  // moves the first to disk
  ASSERT_GT(states.spilled_bytes(), 0u);
  EXPECT_EQ(states.size_of({1}, 0), 2u);
  EXPECT_EQ(states.size_of({2}, 0), 1u);
  EXPECT_EQ(states.size_of({2}, 1), std::nullopt);
  states.forget({1}, 0);
  states.forget({2}, 0);
  states.forget({2}, 1);
  EXPECT_EQ(states.size(), 0u);
  EXPECT_EQ(states.memory_bytes(), 0u);
  EXPECT_EQ(states.spilled_bytes(), 0u);
  EXPECT_EQ(states.size_of({1}, 0), std::nullopt);
  const auto manifest = states.save();
  ASSERT_TRUE(manifest.ok());
  EXPECT_TRUE(states.restore(*manifest));
}

TEST(ClientStates, AnotherSizeIsAnErrorThatNamesBoth) {
  const ScratchFolder folder;
  ClientStates states({.folder = folder / "log", .memory_limit_bytes = 0});
  ClientStates in_memory({});
  for (ClientStates* each : {&states, &in_memory}) {
    ASSERT_TRUE(each->put({3}, 2, state_of(3, 2, 1)).ok());
    std::vector<float> out(kValues + 1);
    const auto found = each->get({3}, 2, out);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().message, "the state of client 3, slot 2 has 16 values, want 17");
  }
}

TEST(ClientStates, WithoutAFolderTheLimitIsIgnored) {
  ClientStates states({.folder = {}, .memory_limit_bytes = kStateBytes});
  Versions versions;
  for (std::uint32_t client = 0; client < 10; ++client) {
    put(states, client, 1);
    versions[client] = 1;
  }
  EXPECT_EQ(states.memory_bytes(), 10 * kStateBytes);
  EXPECT_EQ(states.spilled_bytes(), 0u);

  ClientStates other({});
  ASSERT_TRUE(other.restore(save(states)).ok());
  expect_states(other, versions);
}

TEST(ClientStates, WritesNothingBeforeItMust) {
  const ScratchFolder folder;
  ClientStates states({.folder = folder / "log", .memory_limit_bytes = 10 * kStateBytes});
  for (std::uint32_t client = 0; client < 10; ++client) put(states, client, 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "log"));
}

TEST(ClientStates, SpillsTheLeastRecentlyUsed) {
  const ScratchFolder folder;
  ClientStates states({.folder = folder / "log", .memory_limit_bytes = 4 * kStateBytes});
  Versions versions;
  for (std::uint32_t client = 0; client < 10; ++client) {
    put(states, client, 1);
    versions[client] = 1;
    EXPECT_LE(states.memory_bytes(), 4 * kStateBytes);
  }
  EXPECT_EQ(states.memory_bytes() + states.spilled_bytes(), 10 * kStateBytes);
  // 6 is the oldest in memory; used now, it outlives 7.
  std::vector<float> out(kValues);
  ASSERT_TRUE(states.get({6}, 0, out).ok());
  const std::uint64_t before = bytes_in(folder / "log");
  put(states, 10, 1);
  versions[10] = 1;
  EXPECT_GT(bytes_in(folder / "log"), before);
  for (const auto& file : files_in(folder / "log")) std::filesystem::resize_file(file, 16);
  EXPECT_TRUE(states.get({6}, 0, out).ok());
  const auto spilled = states.get({7}, 0, out);
  ASSERT_FALSE(spilled.ok());
  EXPECT_THAT(spilled.error().message, HasSubstr("ends inside the record"));
}

TEST(ClientStates, ReadingASpilledStateKeepsItWhereThereIsRoom) {
  const ScratchFolder folder;
  const std::string manifest = [&] {
    ClientStates states({.folder = folder / "log"});
    for (std::uint32_t client = 0; client < 4; ++client) put(states, client, 1);
    return save(states);
  }();
  ClientStates states({.folder = folder / "log", .memory_limit_bytes = 2 * kStateBytes});
  ASSERT_TRUE(states.restore(manifest).ok());
  EXPECT_EQ(states.memory_bytes(), 0u);
  EXPECT_EQ(states.spilled_bytes(), 4 * kStateBytes);
  expect_states(states, {{0, 1}, {1, 1}, {2, 1}, {3, 1}});
  EXPECT_EQ(states.memory_bytes(), 2 * kStateBytes);
  EXPECT_EQ(states.spilled_bytes(), 2 * kStateBytes);
}

TEST(ClientStates, TheLimitNeverChangesAValue) {
  for (const std::uint64_t limit : {std::uint64_t{0}, kStateBytes, 5 * kStateBytes, std::uint64_t{1} << 20}) {
    const ScratchFolder folder;
    ClientStates states({.folder = folder / "log", .memory_limit_bytes = limit, .log_file_bytes = 1000});
    Versions versions;
    Stream stream({.seed = 1});
    for (std::uint32_t step = 1; step <= 500; ++step) {
      const auto client = stream.below(20);
      put(states, client, step);
      versions[client] = step;
      if (step % 50 == 0) expect_states(states, versions);
    }
  }
}

TEST(ClientStates, RestoresWhatWasSavedNotWhatCameAfter) {
  const ScratchFolder folder;
  ClientStates states({.folder = folder / "log", .memory_limit_bytes = 2 * kStateBytes});
  for (std::uint32_t client = 0; client < 6; ++client) put(states, client, 1);
  const std::string manifest = save(states);
  for (std::uint32_t client = 3; client < 9; ++client) put(states, client, 2);
  expect_restores(folder / "log", manifest, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}});
  // Also into the object that has moved on.
  ASSERT_TRUE(states.restore(manifest).ok());
  expect_states(states, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}});
}

TEST(ClientStates, SavingAgainWritesOnlyWhatChanged) {
  const ScratchFolder folder;
  ClientStates states({.folder = folder / "log"});
  for (std::uint32_t client = 0; client < 100; ++client) put(states, client, 1);
  const std::string first = save(states);
  const std::uint64_t before = bytes_in(folder / "log");
  EXPECT_EQ(save(states), first);
  EXPECT_EQ(bytes_in(folder / "log"), before);
  put(states, 50, 2);
  EXPECT_NE(save(states), first);
  EXPECT_EQ(bytes_in(folder / "log"), before + kStateBytes + 24);
}

TEST(ClientStates, EmptyStatesSaveAndRestore) {
  const ScratchFolder folder;
  ClientStates states({.folder = folder / "log"});
  expect_restores(folder / "log", save(states), {});
  ASSERT_TRUE(states.put({4}, 0, {}).ok());
  ClientStates other({.folder = folder / "log"});
  ASSERT_TRUE(other.restore(save(states)).ok());
  const auto found = other.get({4}, 0, {});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(*found);
}

// A kill leaves the files as they are at that moment, the newest cut anywhere after what was made durable. At every
// step of a long history the last two manifests must restore from a copy of the folder.
TEST(ClientStates, TheLastTwoManifestsSurviveAKillAtAnyMoment) {
  const ScratchFolder folder;
  const auto log = folder / "log";
  const auto killed = folder / "killed";
  ClientStates states({.folder = log, .memory_limit_bytes = 3 * kStateBytes, .log_file_bytes = 700});
  Versions versions;
  std::vector<std::pair<std::string, Versions>> durable;  // in checkpoints on disk, newest last
  Stream stream({.seed = 7});
  for (std::uint32_t step = 1; step <= 200; ++step) {
    const auto client = stream.below(12);
    put(states, client, step);
    versions[client] = step;
    const bool saved = step % 7 == 0;
    const std::string manifest = saved ? save(states) : "";
    // Killed before the checkpoint that holds the new manifest is on disk.
    for (std::size_t back = 1; back <= std::min<std::size_t>(2, durable.size()); ++back) {
      copy_folder(log, killed);
      const auto& [old, then] = durable[durable.size() - back];
      expect_restores(killed, old, then);
      if (HasFailure()) FAIL() << "step " << step << ", manifest " << back << " back";
    }
    if (saved) durable.emplace_back(manifest, versions);
  }
  // 12 live states of 88 bytes in files of 700, three manifests' worth of files.
  EXPECT_LT(bytes_in(log), 12000u);
  EXPECT_LT(files_in(log).size(), 20u);
}

TEST(ClientStates, ATornTailIsIgnoredAndNeverWrittenAfter) {
  const ScratchFolder folder;
  const auto log = folder / "log";
  const auto torn = folder / "torn";
  std::string manifest;
  std::uint64_t durable_bytes = 0;
  {
    ClientStates states({.folder = log, .memory_limit_bytes = 0});
    for (std::uint32_t client = 0; client < 3; ++client) put(states, client, 1);
    manifest = save(states);
    durable_bytes = bytes_in(log);
    put(states, 0, 2);
    put(states, 7, 2);
  }
  const auto file = files_in(log).at(0).filename();
  for (std::uint64_t bytes = durable_bytes; bytes <= bytes_in(log); bytes += 4) {
    copy_folder(log, torn);
    std::filesystem::resize_file(torn / file, bytes);
    ClientStates states({.folder = torn, .memory_limit_bytes = 0});
    ASSERT_TRUE(states.restore(manifest).ok());
    expect_states(states, {{0, 1}, {1, 1}, {2, 1}});
    put(states, 1, 3);
    expect_restores(torn, save(states), {{0, 1}, {1, 3}, {2, 1}});
    expect_restores(torn, manifest, {{0, 1}, {1, 1}, {2, 1}});
  }
}

TEST(ClientStates, ATruncatedLogIsFoundOut) {
  const ScratchFolder folder;
  const auto log = folder / "log";
  ClientStates states({.folder = log});
  for (std::uint32_t client = 0; client < 3; ++client) put(states, client, 1);
  const std::string manifest = save(states);
  const auto file = files_in(log).at(0);
  for (std::uint64_t bytes = bytes_in(log); bytes-- > 0;) {
    std::filesystem::resize_file(file, bytes);
    const Status status = ClientStates({.folder = log}).restore(manifest);
    ASSERT_FALSE(status.ok()) << bytes;
    EXPECT_THAT(status.error().message, HasSubstr(file.string()));
  }
  std::filesystem::remove(file);
  const Status status = ClientStates({.folder = log}).restore(manifest);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("cannot open"));
}

TEST(ClientStates, AFlippedBitAnywhereInTheLogIsFoundOut) {
  const ScratchFolder folder;
  const auto log = folder / "log";
  ClientStates states({.folder = log});
  for (std::uint32_t client = 0; client < 3; ++client) put(states, client, 1);
  const std::string manifest = save(states);
  const auto file = files_in(log).at(0);
  const std::string good = slurp(file);
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    std::string bad = good;
    bad[byte] ^= static_cast<char>(1 << byte % 8);
    spit(file, bad);
    EXPECT_FALSE(ClientStates({.folder = log}).restore(manifest).ok()) << "byte " << byte;
  }
  spit(file, good);
  expect_restores(log, manifest, {{0, 1}, {1, 1}, {2, 1}});
}

TEST(ClientStates, ABrokenManifestIsRefusedAndChangesNothing) {
  const ScratchFolder folder;
  ClientStates logged({.folder = folder / "log"});
  ClientStates in_memory({});
  for (ClientStates* states : {&logged, &in_memory}) {
    put(*states, 1, 1);
    put(*states, 2, 1);
    const std::string manifest = save(*states);
    put(*states, 1, 2);
    for (std::size_t bytes = 0; bytes < manifest.size(); ++bytes) {
      EXPECT_FALSE(states->restore(manifest.substr(0, bytes)).ok()) << bytes;
      std::string bad = manifest;
      bad[bytes] ^= 0x10;
      EXPECT_FALSE(states->restore(bad).ok()) << bytes;
    }
    EXPECT_FALSE(states->restore(manifest + '\0').ok());
    expect_states(*states, {{1, 2}, {2, 1}});
  }
  const Status status = in_memory.restore(save(logged));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("no folder"));
}

TEST(ClientStates, CompactionKeepsTheLogSmallWithAndWithoutSaves) {
  for (const bool saving : {true, false}) {
    const ScratchFolder folder;
    ClientStates states({.folder = folder / "log", .memory_limit_bytes = 0, .log_file_bytes = 4000});
    Versions versions;
    Stream stream({.seed = 3});
    for (std::uint32_t step = 1; step <= 5000; ++step) {
      // One state is written once and never again: it must move along.
      const auto client = step == 1 ? 99u : stream.below(20);
      put(states, client, step);
      versions[client] = step;
      if (saving && step % 100 == 0) save(states);
    }
    expect_states(states, versions);
    // 5000 records were written, 21 of 88 bytes are live.
    EXPECT_LT(bytes_in(folder / "log"), 30000u) << "saving " << saving;
    expect_restores(folder / "log", save(states), versions);
  }
}

TEST(ClientStates, OldFilesGoOnlyWhenThreeManifestsAreKnown) {
  const ScratchFolder folder;
  const auto log = folder / "log";
  std::string before;
  std::string newest;
  {
    ClientStates states({.folder = log});
    put(states, 1, 1);
    before = save(states);
    put(states, 1, 2);
    newest = save(states);
  }
  ClientStates states({.folder = log});
  ASSERT_TRUE(states.restore(newest).ok());
  put(states, 1, 3);
  save(states);
  expect_restores(log, before, {{1, 1}});
  expect_restores(log, newest, {{1, 2}});
  put(states, 1, 4);
  save(states);
  put(states, 1, 5);
  const std::string last = save(states);
  EXPECT_EQ(files_in(log).size(), 1u);
  expect_restores(log, last, {{1, 5}});
}

TEST(ClientStates, AnUnwritableFolderIsOneClearErrorAndLosesNothing) {
  const ScratchFolder folder;
  spit(folder / "file", "in the way");
  ClientStates states({.folder = folder / "file" / "log", .memory_limit_bytes = kStateBytes});
  put(states, 1, 1);
  const Status status = states.put({2}, 0, state_of(2, 0, 1));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr((folder / "file" / "log").string()));
  EXPECT_FALSE(states.save().ok());
  expect_states(states, {{1, 1}, {2, 1}});
}

TEST(ClientStates, FourThreadsGetAndPut) {
  const ScratchFolder folder;
  ClientStates states({.folder = folder / "log", .memory_limit_bytes = 6 * kStateBytes, .log_file_bytes = 3000});
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kSteps = 400;
  // Every thread owns some clients, as in a round, and all read one that nobody writes.
  put(states, 1000, 1);
  std::vector<Versions> versions(kThreads);
  std::vector<int> errors(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Stream stream({.seed = t});
        std::vector<float> out(kValues);
        for (std::uint32_t step = 1; step <= kSteps; ++step) {
          const auto client = stream.below(5) * kThreads + t;
          const auto found = states.get({client}, 0, out);
          const auto known = versions[t].find(client);
          const bool right = found.ok() && *found == (known != versions[t].end()) &&
                             (!*found || out == state_of(client, 0, known->second));
          const auto shared = states.get({1000}, 0, out);
          const bool shared_right = shared.ok() && *shared && out == state_of(1000, 0, 1);
          const bool stored = states.put({client}, 0, state_of(client, 0, step)).ok();
          versions[t][client] = step;
          if (!right || !shared_right || !stored) ++errors[t];
          if (t == 0 && step % 40 == 0 && !states.save().ok()) ++errors[t];
        }
      });
    }
  }
  EXPECT_THAT(errors, ::testing::Each(0));
  Versions all{{1000, 1}};
  for (const Versions& each : versions) all.insert(each.begin(), each.end());
  expect_states(states, all);
}

}  // namespace
}  // namespace muster
