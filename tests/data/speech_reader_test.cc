#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numbers>

#include "data/error_text.h"
#include "data/little_endian.h"
#include "data/readers/speech.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

void put_text(Bytes& bytes, std::string_view text) {
  bytes.insert(bytes.end(), text.begin(), text.end());
}

struct Format {
  std::uint32_t tag = 1;  // 1 = integers, 3 = floats
  std::uint32_t channels = 1;
  std::uint32_t rate = 8000;
  std::uint32_t bits = 16;
};

Bytes wav(const Format& format, const Bytes& samples) {
  Bytes bytes;
  put_text(bytes, "RIFF");
  put(bytes, static_cast<std::uint32_t>(36 + samples.size()), 4);
  put_text(bytes, "WAVEfmt ");
  put(bytes, 16, 4);
  put(bytes, format.tag, 2);
  put(bytes, format.channels, 2);
  put(bytes, format.rate, 4);
  put(bytes, format.rate * format.channels * format.bits / 8, 4);
  put(bytes, format.channels * format.bits / 8, 2);
  put(bytes, format.bits, 2);
  put_text(bytes, "data");
  put(bytes, static_cast<std::uint32_t>(samples.size()), 4);
  bytes.insert(bytes.end(), samples.begin(), samples.end());
  return bytes;
}

Bytes tone(std::uint32_t rate, double hertz, std::size_t count) {
  Bytes samples;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = 0.5 * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / rate);
    put(samples, static_cast<std::uint32_t>(std::lround(value * 32767)) & 0xffff, 2);
  }
  return wav({.rate = rate}, samples);
}

double power(const std::vector<float>& samples, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += static_cast<double>(samples[i]) * samples[i];
  return sum / static_cast<double>(to - from);
}

TEST(SpeechReader, PadsAndCutsToOneSecond) {
  auto brief = parse_wav(wav({}, {0x00, 0x40, 0x00, 0xc0}), {});
  ASSERT_TRUE(brief) << error_of(brief);
  ASSERT_EQ(brief->size(), 8000u);
  EXPECT_FLOAT_EQ((*brief)[0], 0.5f);
  EXPECT_FLOAT_EQ((*brief)[1], -0.5f);
  EXPECT_THAT(std::vector<float>(brief->begin() + 2, brief->end()), Each(0.0f));
  auto lengthy = parse_wav(tone(8000, 440, 9000), {});
  ASSERT_TRUE(lengthy) << error_of(lengthy);
  EXPECT_EQ(lengthy->size(), 8000u);
}

TEST(SpeechReader, DecimationKeepsWhatFitsAndDropsWhatWouldFold) {
  for (const std::uint32_t rate : {16000u, 48000u}) {
    auto low = parse_wav(tone(rate, 1000, rate), {});
    ASSERT_TRUE(low) << error_of(low);
    for (std::size_t i = 100; i < 7900; ++i) {
      ASSERT_NEAR((*low)[i], 0.5 * std::sin(2 * std::numbers::pi * 1000 * static_cast<double>(i) / 8000), 2e-3) << i;
    }
    // 5 kHz is above half of 8 kHz: averaging neighbours would leave much of it, folded to 3 kHz.
    auto high = parse_wav(tone(rate, 5000, rate), {});
    ASSERT_TRUE(high) << error_of(high);
    EXPECT_LT(power(*high, 100, 7900), 1e-6);
  }
}

TEST(SpeechReader, RefusesOtherFiles) {
  EXPECT_THAT(error_of(parse_wav(Bytes{'R', 'I'}, {})), HasSubstr("not a RIFF/WAVE"));
  EXPECT_THAT(error_of(parse_wav(Bytes(100, 0), {})), HasSubstr("not a RIFF/WAVE"));
  EXPECT_THAT(error_of(parse_wav(wav({.channels = 2}, Bytes(8, 0)), {})), HasSubstr("2 channels, want 1"));
  EXPECT_THAT(error_of(parse_wav(wav({.rate = 11025}, Bytes(8, 0)), {})), HasSubstr("11025 samples per second"));
  EXPECT_THAT(error_of(parse_wav(wav({.rate = 8000 * 25}, Bytes(8, 0)), {})), HasSubstr("up to 192000"));
  EXPECT_THAT(error_of(parse_wav(wav({}, {}), {})), HasSubstr("no samples"));
  Bytes nan(4);
  const float value = NAN;
  std::memcpy(nan.data(), &value, 4);
  EXPECT_THAT(error_of(parse_wav(wav({.tag = 3, .bits = 32}, nan), {})), HasSubstr("sample 0 is not a finite"));
  const Bytes whole = wav({}, Bytes(8, 0));
  EXPECT_THAT(error_of(parse_wav(Bytes(whole.begin(), whole.begin() + 20), {})), HasSubstr("not a readable wav"));
}

TEST(SpeechReader, WordsAreClassesAndSpeakersClients) {
  const ScratchFolder folder;
  const Bytes clip = tone(8000, 440, 100);
  for (const char* name : {"yes/bob_nohash_0.wav", "yes/ann_nohash_1.wav", "yes/ann_nohash_0.wav",
                           "no/bob_nohash_0.wav", "_background_noise_/hum.wav"}) {
    folder.write(name, clip);
  }
  folder.write("no/notes.txt", Bytes{1});
  auto all = read_speech_folder(folder.path());
  ASSERT_TRUE(all) << error_of(all);
  EXPECT_THAT(all->class_names, ElementsAre("no", "yes"));
  EXPECT_THAT(all->client_names, ElementsAre("ann", "bob"));
  EXPECT_THAT(all->train.labels, ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(all->train_clients, ElementsAre(1, 0, 0, 1));
  EXPECT_EQ(all->train.shape, (Shape{1, 8000, 1}));
  folder.write("testing_list.txt", std::string("yes/ann_nohash_1.wav\r\nabsent/x_nohash_0.wav\n"));
  auto divided = read_speech_folder(folder.path());
  ASSERT_TRUE(divided) << error_of(divided);
  EXPECT_THAT(divided->train_clients, ElementsAre(1, 0, 1));
  EXPECT_THAT(divided->test_clients, ElementsAre(0));
  EXPECT_THAT(divided->test.labels, ElementsAre(1));
}

TEST(SpeechReader, FolderErrorsNameTheFile) {
  const ScratchFolder folder;
  EXPECT_THAT(error_of(read_speech_folder(folder.path())), HasSubstr("no clips"));
  EXPECT_THAT(error_of(read_speech_folder(folder.path() / "none")), HasSubstr("none"));
  folder.write("yes/ann.wav", Bytes(100, 0));
  EXPECT_THAT(error_of(read_speech_folder(folder.path())), HasSubstr("ann.wav: want a name SPEAKER_nohash_INDEX.wav"));
  std::filesystem::remove(folder.path() / "yes/ann.wav");
  folder.write("yes/ann_nohash_0.wav", Bytes(100, 0));
  EXPECT_THAT(error_of(read_speech_folder(folder.path())), HasSubstr("ann_nohash_0.wav: not a RIFF/WAVE"));
  folder.write("yes/ann_nohash_0.wav", tone(8000, 440, 10));
  folder.write("testing_list.txt", std::string("yes/ann_nohash_0.wav\n"));
  EXPECT_THAT(error_of(read_speech_folder(folder.path())), HasSubstr("none is left to train on"));
}

TEST(SpeechReaderRealData, FreeSpokenDigits) {
  const std::filesystem::path archive = MUSTER_SOURCE_DIR "/../shared/data/fsdd/fsdd-speech-commands-layout.tar.gz";
  if (!std::filesystem::exists(archive)) GTEST_SKIP() << "the spoken digits are not at " << archive;
  const ScratchFolder folder;
  const std::string command = fmt::format("tar -xzf '{}' -C '{}'", archive.string(), folder.path().string());
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "cannot unpack the spoken digits: " << command;
  auto data = read_speech_folder(folder.path() / "fsdd");
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_EQ(data->train.size(), 3000u);
  EXPECT_EQ(data->client_names.size(), 6u);
  std::map<std::pair<std::uint32_t, std::int32_t>, int> counts;
  for (std::size_t i = 0; i < data->train.size(); ++i) ++counts[{data->train_clients[i], data->train.labels[i]}];
  EXPECT_EQ(counts.size(), 60u);
  for (const auto& [who_and_what, count] : counts) EXPECT_EQ(count, 50);
}

}  // namespace
}  // namespace muster
