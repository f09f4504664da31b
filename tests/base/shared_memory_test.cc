#include "base/shared_memory.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

namespace muster {
namespace {

using testing::HasSubstr;

Result<std::shared_ptr<const SharedMemory>> with_text(const std::string& text) {
  return SharedMemory::make(text.size(),
                            [&](std::span<std::byte> room) { std::memcpy(room.data(), text.data(), text.size()); });
}

std::string text_of(const SharedMemory& memory) {
  return {reinterpret_cast<const char*>(memory.bytes().data()), memory.bytes().size()};
}

// Whether `check` holds in another process.
template <typename Check>
bool elsewhere(Check check) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(check() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(SharedMemory, IsSeenByAnotherProcess) {
  const std::string text(100000, 'x');
  const auto memory = with_text(text);
  ASSERT_TRUE(memory) << memory.error().message;
  const SharedPlace place = (*memory)->place();
  EXPECT_EQ(text_of(**memory), text);
  EXPECT_TRUE(elsewhere([&] {
    const auto seen = SharedMemory::attach(place);
    return seen.ok() && text_of(**seen) == text;
  }));
}

TEST(SharedMemory, OutlivesTheProcessThatMadeItAndNothingIsLeftBehind) {
  int from_child[2];
  int to_child[2];
  ASSERT_EQ(::pipe(from_child), 0);
  ASSERT_EQ(::pipe(to_child), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto memory = with_text("made by the one that dies");
    const SharedPlace place = (*memory)->place();
    char word = 0;
    if (::write(from_child[1], &place, sizeof place) != sizeof place) std::_Exit(1);
    if (::read(to_child[0], &word, 1) < 0) std::_Exit(1);
    std::raise(SIGKILL);
  }
  SharedPlace place;
  ASSERT_EQ(::read(from_child[0], &place, sizeof place), static_cast<ssize_t>(sizeof place));
  const auto seen = SharedMemory::attach(place);
  ASSERT_TRUE(seen) << seen.error().message;
  ASSERT_EQ(::write(to_child[1], "k", 1), 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(text_of(**seen), "made by the one that dies");
  EXPECT_FALSE(SharedMemory::attach(place));
  for (const int end : {from_child[0], from_child[1], to_child[0], to_child[1]}) ::close(end);
}

TEST(SharedMemory, NobodyCanChangeIt) {
  const auto memory = with_text("as it is");
  ASSERT_TRUE(memory);
  const int descriptor = (*memory)->place().descriptor;
  EXPECT_NE(::ftruncate(descriptor, 2), 0);
  EXPECT_EQ(::pwrite(descriptor, "x", 1, 0), -1);
  EXPECT_EQ(::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), MAP_FAILED);
  EXPECT_TRUE(elsewhere([&] {
    std::signal(SIGSEGV, [](int) { std::_Exit(0); });
    const_cast<std::byte&>((*memory)->bytes()[0]) = std::byte{0};
    return false;
  }));
}

TEST(SharedMemory, WhatIsSomethingElseIsRefused) {
  const auto memory = with_text("something");
  ASSERT_TRUE(memory);
  const SharedPlace place = (*memory)->place();
  const auto refused = [&](auto change) {
    SharedPlace other = place;
    change(other);
    const auto attached = SharedMemory::attach(other);
    return attached.ok() ? std::string("attached") : attached.error().message;
  };
  EXPECT_THAT(refused([](SharedPlace& p) { ++p.token; }), HasSubstr("not what it was said to be"));
  EXPECT_THAT(refused([](SharedPlace& p) { ++p.bytes; }), HasSubstr("not what it was said to be"));
  EXPECT_THAT(refused([](SharedPlace& p) { p.descriptor = STDIN_FILENO; }), Not(HasSubstr("attached")));
  EXPECT_THAT(refused([](SharedPlace& p) { p.descriptor = 100000; }), HasSubstr("No such file"));
  EXPECT_THAT(refused([](SharedPlace& p) { p.process = 0; }), HasSubstr("No such file"));
}

TEST(SharedMemory, FailsBeforeItIsFilledIfThereIsTooLittle) {
  bool filled = false;
  const auto memory = SharedMemory::make(std::uint64_t{1} << 62, [&](std::span<std::byte>) { filled = true; });
  ASSERT_FALSE(memory);
  EXPECT_THAT(memory.error().message, HasSubstr("MB of shared memory: Cannot allocate memory"));
  EXPECT_FALSE(filled);
}

}  // namespace
}  // namespace muster
