#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "scratch_folder.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class File : public ::testing::Test {
 protected:
  void TearDown() override {
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
  }

  fs::path put(const std::string& name, const Bytes& bytes) const { return scratch_.write(name, bytes); }

  ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path();
};

Bytes text(std::string_view content) {
  return {content.begin(), content.end()};
}

// Bytes that do not compress.
Bytes noise(std::size_t size) {
  Stream stream({.seed = 7, .purpose = Purpose::kTest});
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(stream.next());
  return bytes;
}

Bytes gzip(const Bytes& plain) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes packed(deflateBound(&stream, plain.size()));
  stream.next_in = const_cast<Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

Bytes joined(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(File, ReadsPlainBytes) {
  const Bytes bytes = noise(3'000'000);
  EXPECT_EQ(*read_file(put("plain", bytes)), bytes);
  EXPECT_EQ(*read_file(put("empty", {})), Bytes());
  EXPECT_EQ(*read_file(put("one", {0x1f})), Bytes{0x1f});
}

TEST_F(File, UnpacksGzipWhateverTheName) {
  const Bytes bytes = joined(noise(1'500'000), Bytes(1'500'000, 9));
  EXPECT_EQ(*read_file(put("x.idx", gzip(bytes))), bytes);
  EXPECT_EQ(*read_file(put("empty.gz", gzip({}))), Bytes());
}

TEST_F(File, UnpacksEveryMemberOfAGzipFile) {
  const Bytes two = joined(gzip(text("first ")), gzip(text("second")));
  EXPECT_EQ(*read_file(put("two.gz", two)), text("first second"));
  EXPECT_EQ(*read_file(put("padded.gz", joined(two, Bytes(512, 0)))), text("first second"));
}

// The size at the end of gzip data is a hint for memory and nothing else.
TEST_F(File, DoesNotTrustTheSizeThatGzipDataClaims) {
  const Bytes last = gzip(text("x"));
  const Bytes large(9'000'000, 7);
  const auto unpacked = gunzip(joined(gzip(large), last), 10'000'000);
  ASSERT_TRUE(unpacked.ok());
  EXPECT_EQ(*unpacked, joined(large, text("x")));
  Bytes lying = gzip(noise(300));
  for (std::size_t i = 1; i <= 4; ++i) lying[lying.size() - i] = 0xff;
  EXPECT_FALSE(gunzip(lying, ~std::uint64_t{0}).ok());
}

TEST_F(File, RefusesWhatFollowsGzipData) {
  const auto result = read_file(put("tail.gz", joined(gzip(text("abc")), text("tail"))));
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("tail.gz: 4 bytes that are not gzip follow"));
}

TEST_F(File, RefusesGzipCutAnywhere) {
  const Bytes packed = gzip(noise(300));
  for (std::size_t size = 2; size < packed.size(); ++size) {
    const auto result = gunzip(std::span(packed).first(size), 1000);
    ASSERT_FALSE(result.ok()) << size;
    EXPECT_EQ(result.error().message, "broken or truncated gzip data") << size;
  }
  EXPECT_FALSE(gunzip({}, 1000).ok());
  const auto torn = read_file(put("torn.gz", Bytes(packed.begin(), packed.end() - 1)));
  ASSERT_FALSE(torn.ok());
  EXPECT_THAT(torn.error().message, HasSubstr("torn.gz: broken or truncated gzip data"));
}

TEST_F(File, RefusesGzipWithAFlippedByte) {
  Bytes packed = gzip(noise(300));
  packed[packed.size() / 2] ^= 0x10;
  EXPECT_FALSE(gunzip(packed, 1000).ok());
}

TEST_F(File, KeepsToTheLimit) {
  const Bytes bytes = noise(5000);
  const fs::path plain = put("plain", bytes);
  EXPECT_TRUE(read_file(plain, 5000).ok());
  const auto over = read_file(plain, 4999);
  ASSERT_FALSE(over.ok());
  EXPECT_THAT(over.error().message, HasSubstr("plain: larger than the limit of 4999 bytes"));
  EXPECT_EQ(over.error().code, ErrorCode::kFailed);

  const fs::path packed = put("packed", gzip(bytes));
  ASSERT_GT(fs::file_size(packed), 5000u) << "the case wants data that grows when packed";
  EXPECT_TRUE(read_file(packed, 5000).ok());
  EXPECT_FALSE(read_file(packed, 4999).ok());
  EXPECT_TRUE(read_file(packed, ~std::uint64_t{0}).ok());
}

TEST_F(File, AGzipBombStopsAtTheLimit) {
  const auto result = read_file(put("bomb.gz", gzip(Bytes(20'000'000, 0))), 1'000'000);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("unpacks to more than the limit of 1000000 bytes"));
}

TEST_F(File, ReadingNamesThePathAndTheReason) {
  const auto missing = read_file(folder_ / "missing");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, (folder_ / "missing").string() + ": cannot open: No such file or directory");
  const auto folder = read_file(folder_);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().message, folder_.string() + ": is a folder, want a file");
}

TEST_F(File, WhatCanBeMadeAgainIsWholeToo) {
  const auto path = scratch_.path() / "page.html";
  ASSERT_TRUE(write_derived_file(path, "first").ok());
  ASSERT_TRUE(write_derived_file(path, "second").ok());
  EXPECT_EQ(read_file(path).value(), std::vector<std::uint8_t>({'s', 'e', 'c', 'o', 'n', 'd'}));
  EXPECT_FALSE(write_derived_file(scratch_.path() / "none" / "page.html", "x").ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_.path()), {}), 1);
}

TEST_F(File, WritesAndReplaces) {
  const fs::path path = folder_ / "out";
  ASSERT_TRUE(write_file(path, "first").ok());
  EXPECT_EQ(slurp(path), "first");
  ASSERT_TRUE(write_file(path, std::string_view("with\0zero", 9)).ok());
  EXPECT_EQ(slurp(path), std::string("with\0zero", 9));
  ASSERT_TRUE(write_file(path, "").ok());
  EXPECT_EQ(slurp(path), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a temporary file was left behind";
}

TEST_F(File, APipeIsWrittenToAndStaysOne) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(write_output(pipe, "rows"));
  char bytes[8];
  EXPECT_EQ(::read(reader, bytes, sizeof bytes), 4);
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(File, AFailedWriteLeavesTheOldFile) {
  const fs::path path = folder_ / "out";
  ASSERT_TRUE(write_file(path, "old").ok());
  // A file size limit makes write(2) fail half way, as a full disk does.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = write_file(path, std::string(5000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, path.string() + ": cannot write: File too large");
  EXPECT_EQ(slurp(path), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a temporary file was left behind";
}

TEST_F(File, AppearsWhenItIsWhole) {
  const fs::path path = folder_ / "out";
  ASSERT_TRUE(write_file(path, "old").ok());
  {
    FileWriter given_up = FileWriter::create(path).value();
    ASSERT_TRUE(given_up.write("half").ok());
  }
  EXPECT_EQ(slurp(path), "old");
  FileWriter first = FileWriter::create(path).value();
  ASSERT_TRUE(first.write("one ").ok());
  FileWriter writer = std::move(first);
  ASSERT_TRUE(writer.write("").ok());
  ASSERT_TRUE(writer.write("two").ok());
  EXPECT_EQ(slurp(path), "old");
  ASSERT_TRUE(writer.finish().ok());
  EXPECT_EQ(slurp(path), "one two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a temporary file was left behind";
}

TEST_F(File, WritingNamesThePathAndTheReason) {
  const Status missing = write_file(folder_ / "none" / "out", "x");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, (folder_ / "none" / "out").string() + ": cannot write: No such file or directory");

  fs::create_directory(folder_ / "taken");
  const Status taken = write_file(folder_ / "taken", "x");
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().message, (folder_ / "taken").string() + ": is a folder, want a file");
  EXPECT_FALSE(fs::exists(folder_ / "taken.tmp"));
}

TEST_F(File, MakesFoldersWithTheirParents) {
  ASSERT_TRUE(make_folder(folder_ / "a" / "b" / "c").ok());
  EXPECT_TRUE(fs::is_directory(folder_ / "a" / "b" / "c"));
  EXPECT_TRUE(make_folder(folder_ / "a" / "b" / "c").ok()) << "an existing folder is fine";
}

TEST_F(File, AFolderThatCannotBeIsAnError) {
  put("file", text("x"));
  const Status below_file = make_folder(folder_ / "file" / "sub");
  ASSERT_FALSE(below_file.ok());
  EXPECT_THAT(below_file.error().message, StartsWith((folder_ / "file" / "sub").string() + ": cannot create folder: "));
  const Status in_place_of_file = make_folder(folder_ / "file");
  ASSERT_FALSE(in_place_of_file.ok());
  EXPECT_THAT(in_place_of_file.error().message, StartsWith((folder_ / "file").string() + ": "));
}

using FileDeathTest = File;

TEST_F(FileDeathTest, AFolderWithoutWritePermissionIsAnError) {
  fs::permissions(folder_,
                  fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  const auto try_it = [&] {
    constexpr uid_t kNobody = 65534;  // root may write everywhere
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) std::_Exit(3);
    const Status status = make_folder(folder_);
    std::fprintf(stderr, "%s\n", status ? "made" : status.error().message.c_str());
    std::_Exit(0);
  };
  EXPECT_EXIT(try_it(), ::testing::ExitedWithCode(0), "cannot write to folder: Permission denied");
}

}  // namespace
}  // namespace muster
