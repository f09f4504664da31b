// Every reader that is fuzzed takes its seeds, and a few hundred inputs that were made from them: enough to see
// that it still reads what it should, and that what is checked of it holds. fuzz/run looks for more.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "python_with.h"
#include "scratch_folder.h"

// As libFuzzer calls them; only readers of messages have a way of their own to change an input.
#define READER(name)                                                                                              \
  extern "C" int take_##name(const std::uint8_t* data, std::size_t size);                                         \
  extern "C" std::size_t change_##name(std::uint8_t* data, std::size_t size, std::size_t most, unsigned int seed) \
      __attribute__((weak));
#include "readers.inc"
#undef READER

namespace muster {
namespace {

constexpr std::size_t kMostBytes = 1024;

// Bytes that are changed, cut off, repeated or put in, a few at a time.
std::size_t change_bytes(std::uint8_t* data, std::size_t size, std::size_t most, Stream& stream) {
  const auto below = [&](std::size_t bound) { return stream.below(static_cast<std::uint32_t>(bound)); };
  for (std::uint32_t times = 1 + below(4); times > 0; --times) {
    switch (below(4)) {
      case 0:
        if (size > 0) data[below(size)] = static_cast<std::uint8_t>(below(256));
        break;
      case 1:
        if (size > 0) data[below(size)] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 2:
        size = below(size + 1);
        break;
      default: {
        const std::size_t added = std::min<std::size_t>(1 + below(8), most - std::min(most, size));
        for (std::size_t i = 0; i < added; ++i) {
          data[size + i] = size > 0 ? data[below(size)] : static_cast<std::uint8_t>(below(256));
        }
        size += added;
      }
    }
  }
  return size;
}

struct Reader {
  std::string name;
  int (*take)(const std::uint8_t*, std::size_t);
  std::size_t (*change)(std::uint8_t*, std::size_t, std::size_t, unsigned int);
};
std::ostream& operator<<(std::ostream& out, const Reader& reader) {
  return out << reader.name;
}

std::vector<Reader> readers() {
  return {
#define READER(name) {#name, take_##name, change_##name},
#include "readers.inc"
#undef READER
  };
}

class Readers : public testing::TestWithParam<Reader> {
 protected:
  void SetUp() override {
    if (python_.empty()) GTEST_SKIP() << "no python3 to write the seeds";
  }
  std::vector<std::vector<std::uint8_t>> seeds() const {
    const std::string command =
        python_ + " '" MUSTER_SOURCE_DIR "/fuzz/seeds.py' '" + scratch_.path().string() + "' >&2";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path() / GetParam().name)) {
      files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<std::vector<std::uint8_t>> found;
    for (const std::filesystem::path& file : files) {
      std::ifstream in(file, std::ios::binary);
      found.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return found;
  }

  const std::string python_ = python_with("base64, struct, zlib");
  ScratchFolder scratch_;
};

TEST_P(Readers, StandWhatIsMadeFromTheirSeeds) {
  const Reader& reader = GetParam();
  const std::vector<std::vector<std::uint8_t>> from = seeds();
  ASSERT_FALSE(from.empty());
  for (const std::vector<std::uint8_t>& seed : from) EXPECT_EQ(reader.take(seed.data(), seed.size()), 0);
  Stream stream({.seed = 7, .purpose = Purpose::kTest});
  const int inputs = reader.name == "run_folder" ? 20 : 300;  // which resumes a whole run each time
  for (int i = 0; i < inputs; ++i) {
    std::vector<std::uint8_t> input = from[stream.below(static_cast<std::uint32_t>(from.size()))];
    const std::size_t before = input.size();
    const std::size_t most = std::max(kMostBytes, before);
    input.resize(most);
    const bool own = reader.change && stream.below(4) != 0;
    const std::size_t size = own ? reader.change(input.data(), before, most, stream.below(1u << 31))
                                 : change_bytes(input.data(), before, most, stream);
    input.resize(size);
    input.shrink_to_fit();  // so that what reads past the end can be seen
    EXPECT_EQ(reader.take(input.data(), input.size()), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Readers, testing::ValuesIn(readers()),
                         [](const auto& reader) { return reader.param.name; });

}  // namespace
}  // namespace muster

// What libFuzzer brings: how readers of messages change bytes, now and then.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
  static muster::Stream stream({.seed = 11, .purpose = muster::Purpose::kTest});
  return muster::change_bytes(data, size, most, stream);
}
