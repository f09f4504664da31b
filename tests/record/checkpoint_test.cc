#include "record/checkpoint.h"

#include <algorithm>

#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

Checkpoint example(std::uint32_t round) {
  Checkpoint checkpoint;
  checkpoint.round = round;
  checkpoint.put_floats("model", std::vector<float>{1.5f, -2.0f, 3.25f});
  checkpoint.put_doubles("server", std::vector<double>{0.1, 0.2});
  checkpoint.put_uint64("samples", 1234567890123ull);
  checkpoint.put_string("recipe", "name = \"fedavg\"\n");
  checkpoint.put_string("empty", "");
  return checkpoint;
}

void write(const std::filesystem::path& folder, const Checkpoint& checkpoint) {
  const Status status = write_checkpoint(folder, checkpoint);
  ASSERT_TRUE(status.ok()) << status.error().message;
}

Result<Checkpoint> read_newest(const std::filesystem::path& folder) {
  const std::vector<std::filesystem::path> files = list_checkpoints(folder);
  if (files.empty()) return failure("none");
  return read_checkpoint(files[0]);
}

TEST(Checkpoint, ReadsBackWhatWasWritten) {
  const ScratchFolder folder;
  write(folder / "run/checkpoint", example(42));
  const auto read = read_newest(folder / "run/checkpoint");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->round, 42u);
  EXPECT_EQ(read->sections, example(42).sections);
  EXPECT_EQ(*read->get_floats("model"), (std::vector<float>{1.5f, -2.0f, 3.25f}));
  EXPECT_EQ(*read->get_doubles("server"), (std::vector<double>{0.1, 0.2}));
  EXPECT_EQ(*read->get_uint64("samples"), 1234567890123ull);
  EXPECT_EQ(*read->get_string("recipe"), "name = \"fedavg\"\n");
  EXPECT_TRUE(read->has("empty"));
  EXPECT_FALSE(read->has("absent"));
}

TEST(Checkpoint, ASectionThatIsMissingOrOfAnotherTypeIsNamed) {
  Checkpoint checkpoint = example(1);
  EXPECT_EQ(checkpoint.get_floats("absent").error().message, "checkpoint: section 'absent' is missing");
  EXPECT_EQ(checkpoint.get_uint64("absent").error().message, "checkpoint: section 'absent' is missing");
  EXPECT_EQ(checkpoint.get_string("absent").error().message, "checkpoint: section 'absent' is missing");
  EXPECT_EQ(checkpoint.get_doubles("absent").error().message, "checkpoint: section 'absent' is missing");
  EXPECT_EQ(checkpoint.get_doubles("model").error().message,
            "checkpoint: section 'model' has 12 bytes, want a multiple of 8");
  EXPECT_EQ(checkpoint.get_uint64("model").error().message, "checkpoint: section 'model' has 12 bytes, want 8");
  EXPECT_TRUE(checkpoint.get_floats("empty")->empty());
}

TEST(Checkpoint, KeepsThePreviousAndNoMore) {
  const ScratchFolder folder;
  for (const std::uint32_t round : {5u, 10u, 15u, 15u, 20u}) write(folder.path(), example(round));
  const auto files = list_checkpoints(folder.path());
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].filename(), "round-0000000020.checkpoint");
  EXPECT_EQ(files[1].filename(), "round-0000000015.checkpoint");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2) << "something temporary is left";
}

TEST(Checkpoint, ARunThatWentBackDropsItsFuture) {
  const ScratchFolder folder;
  write(folder.path(), example(10));
  write(folder.path(), example(20));
  spit(folder / "round-0000000020.checkpoint", "torn");
  write(folder.path(), example(15));
  const auto read = read_newest(folder.path());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->round, 15u);
  ASSERT_EQ(list_checkpoints(folder.path()).size(), 2u);
  EXPECT_EQ(read_checkpoint(list_checkpoints(folder.path())[1])->round, 10u);
}

TEST(Checkpoint, TornAtAnyByteIsFoundOutAndThePreviousIsWhole) {
  const ScratchFolder folder;
  write(folder.path(), example(10));
  write(folder.path(), example(20));
  const auto files = list_checkpoints(folder.path());
  for (std::uint64_t bytes = std::filesystem::file_size(files[0]); bytes-- > 0;) {
    std::filesystem::resize_file(files[0], bytes);
    const auto torn = read_checkpoint(files[0]);
    ASSERT_FALSE(torn.ok()) << bytes;
    EXPECT_THAT(torn.error().message, HasSubstr(files[0].string() + ": truncated"));
  }
  const auto previous = read_checkpoint(files[1]);
  ASSERT_TRUE(previous.ok()) << previous.error().message;
  EXPECT_EQ(previous->round, 10u);
  EXPECT_EQ(previous->sections, example(10).sections);
}

TEST(Checkpoint, AFlippedBitAnywhereIsFoundOut) {
  const ScratchFolder folder;
  write(folder.path(), example(10));
  write(folder.path(), example(20));
  const auto newest = list_checkpoints(folder.path()).at(0);
  const std::string good = slurp(newest);
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[byte] ^= static_cast<char>(1 << bit);
      const auto parsed = parse_checkpoint({reinterpret_cast<const std::uint8_t*>(bad.data()), bad.size()});
      EXPECT_FALSE(parsed.ok()) << "byte " << byte << " bit " << bit;
    }
  }
  std::string bad = good;
  bad.back() ^= 1;
  spit(newest, bad);
  EXPECT_THAT(read_checkpoint(newest).error().message, HasSubstr("section 'server' does not match its checksum"));
}

TEST(Checkpoint, BytesAfterTheEndAreRefused) {
  const ScratchFolder folder;
  write(folder.path(), example(10));
  const std::string longer = slurp(list_checkpoints(folder.path()).at(0)) + "x";
  const auto parsed = parse_checkpoint({reinterpret_cast<const std::uint8_t*>(longer.data()), longer.size()});
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.error().message, HasSubstr("1 bytes after the last section"));
}

TEST(Checkpoint, OnlyOurFilesAreListed) {
  const ScratchFolder folder;
  EXPECT_TRUE(list_checkpoints(folder.path()).empty());
  EXPECT_TRUE(list_checkpoints(folder / "absent").empty());
  spit(folder / "round-12.checkpoint.tmp", "a write that never finished");
  spit(folder / "round-x.checkpoint", "not ours");
  spit(folder / "round-.checkpoint", "not ours");
  EXPECT_TRUE(list_checkpoints(folder.path()).empty());
  EXPECT_THAT(read_checkpoint(folder / "absent").error().message, HasSubstr("absent: cannot open"));
  EXPECT_THAT(read_checkpoint(folder.path()).error().message, HasSubstr(folder.path().string()));
}

TEST(Checkpoint, EmptySectionsOfEveryTypeComeBack) {
  Checkpoint checkpoint;
  checkpoint.put_floats("floats", {});
  checkpoint.put_doubles("doubles", {});
  const ScratchFolder folder;
  write(folder.path(), checkpoint);
  const auto read = read_newest(folder.path());
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->get_floats("floats")->empty());
  EXPECT_TRUE(read->get_doubles("doubles")->empty());
  EXPECT_FALSE(read->get_uint64("floats").ok());
}

TEST(Checkpoint, AFailedWriteLeavesTheOldOnes) {
  const ScratchFolder folder;
  write(folder.path(), example(10));
  // A folder in the place of the temporary file refuses the write as a full or read-only disk does, also for root.
  std::filesystem::create_directory(folder / "round-0000000020.checkpoint.tmp");
  const Status status = write_checkpoint(folder.path(), example(20));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("round-0000000020.checkpoint: cannot write"));
  EXPECT_EQ(read_newest(folder.path())->round, 10u);

  spit(folder / "file", "in the way");
  const Status in_the_way = write_checkpoint(folder / "file" / "checkpoint", example(20));
  ASSERT_FALSE(in_the_way.ok());
  EXPECT_THAT(in_the_way.error().message, HasSubstr("cannot create folder"));
}

TEST(Checkpoint, HoldsALargeModel) {
  const ScratchFolder folder;
  std::vector<float> model(6'600'000);
  for (std::size_t i = 0; i < model.size(); ++i) model[i] = static_cast<float>(i % 8191) * 0.001f;
  Checkpoint checkpoint;
  checkpoint.put_floats("model", model);
  write(folder.path(), checkpoint);
  const auto read = read_newest(folder.path());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read->get_floats("model"), model);
}

}  // namespace
}  // namespace muster
