#include "data/readers/speech.h"

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numbers>
#include <set>
#include <string>
#include <string_view>

#include "base/file.h"

namespace muster {
namespace {

constexpr std::uint32_t kMostDecimation = 24;                  // 192 kHz to 8 kHz
constexpr std::uint64_t kClipLimit = std::uint64_t{64} << 20;  // bytes of one wav file

// A read-only file in memory, as libsndfile's callbacks see it.
struct MemoryFile {
  std::span<const std::uint8_t> bytes;
  std::size_t at = 0;

  static sf_count_t size(void* self) { return static_cast<sf_count_t>(static_cast<MemoryFile*>(self)->bytes.size()); }
  static sf_count_t seek(sf_count_t offset, int whence, void* self) {
    auto* file = static_cast<MemoryFile*>(self);
    const auto end = static_cast<sf_count_t>(file->bytes.size());
    const sf_count_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? static_cast<sf_count_t>(file->at) : end;
    if (offset < -base || offset > end - base) return -1;
    file->at = static_cast<std::size_t>(base + offset);
    return base + offset;
  }
  static sf_count_t read(void* out, sf_count_t count, void* self) {
    auto* file = static_cast<MemoryFile*>(self);
    if (count <= 0) return 0;
    const std::size_t take = std::min(static_cast<std::size_t>(count), file->bytes.size() - file->at);
    std::memcpy(out, file->bytes.data() + file->at, take);
    file->at += take;
    return static_cast<sf_count_t>(take);
  }
  static sf_count_t write(const void*, sf_count_t, void*) { return 0; }
  static sf_count_t tell(void* self) { return static_cast<sf_count_t>(static_cast<MemoryFile*>(self)->at); }
};

struct SoundCloser {
  void operator()(SNDFILE* sound) const { sf_close(sound); }
};

// A low-pass at nine tenths of the new half rate: sinc under a Blackman window, 16 zero crossings to each side.
std::vector<double> low_pass(std::uint32_t factor) {
  const int half = 16 * static_cast<int>(factor);
  const double cutoff = 0.9 / factor;
  std::vector<double> taps(2 * static_cast<std::size_t>(half) + 1);
  double sum = 0;
  for (int i = -half; i <= half; ++i) {
    const double x = std::numbers::pi * cutoff * i;
    const double sinc = i == 0 ? 1.0 : std::sin(x) / x;
    const double phase = std::numbers::pi * i / (half + 1);
    const double window = 0.42 + 0.5 * std::cos(phase) + 0.08 * std::cos(2 * phase);
    sum += taps[static_cast<std::size_t>(i + half)] = sinc * window;
  }
  for (double& tap : taps) tap /= sum;
  return taps;
}

std::vector<float> decimate(const std::vector<float>& in, std::uint32_t factor, std::size_t length) {
  const std::vector<double> taps = low_pass(factor);
  const auto half = static_cast<std::ptrdiff_t>(taps.size() / 2);
  const auto count = static_cast<std::ptrdiff_t>(in.size());
  std::vector<float> out(std::min(length, (in.size() + factor - 1) / factor));
  for (std::size_t n = 0; n < out.size(); ++n) {
    const auto centre = static_cast<std::ptrdiff_t>(n * factor);
    const std::ptrdiff_t from = std::max<std::ptrdiff_t>(0, centre - half);
    const std::ptrdiff_t to = std::min(count - 1, centre + half);
    double sum = 0;
    for (std::ptrdiff_t i = from; i <= to; ++i)
      sum += in[static_cast<std::size_t>(i)] * taps[static_cast<std::size_t>(i - centre + half)];
    out[n] = static_cast<float>(sum);
  }
  return out;
}

// Sorted names in a folder that satisfy `keep`.
template <typename Keep>
Result<std::vector<std::string>> list_folder(const std::filesystem::path& folder, Keep keep) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (keep(entry)) names.push_back(entry.path().filename().string());
  }
  if (error) return failure("{}: cannot list the folder: {}", folder.string(), error.message());
  std::sort(names.begin(), names.end());
  return names;
}

// The lines of testing_list.txt, WORD/FILE; empty if there is no such file.
Result<std::set<std::string>> read_testing_list(const std::filesystem::path& folder) {
  std::set<std::string> clips;
  const std::filesystem::path path = folder / "testing_list.txt";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return clips;
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, kClipLimit));
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text = newline == std::string_view::npos ? std::string_view() : text.substr(newline + 1);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (!line.empty()) clips.emplace(line);
  }
  return clips;
}

struct Clip {
  std::string word;
  std::string file;
  std::string speaker;
  std::uint32_t label = 0;
};

Result<std::vector<Clip>> list_clips(const std::filesystem::path& folder, const std::vector<std::string>& words) {
  constexpr std::string_view kMark = "_nohash_";
  std::vector<Clip> clips;
  for (std::size_t label = 0; label < words.size(); ++label) {
    MUSTER_ASSIGN(const std::vector<std::string> files, list_folder(folder / words[label], [](const auto& entry) {
                    return entry.path().extension() == ".wav";
                  }));
    for (const std::string& file : files) {
      const std::size_t mark = file.find(kMark);
      if (mark == 0 || mark == std::string::npos) {
        return failure("{}: want a name SPEAKER_nohash_INDEX.wav", (folder / words[label] / file).string());
      }
      clips.push_back({words[label], file, file.substr(0, mark), static_cast<std::uint32_t>(label)});
    }
  }
  return clips;
}

}  // namespace

Result<std::vector<float>> parse_wav(std::span<const std::uint8_t> bytes, const SpeechOptions& options) {
  // libsndfile knows dozens of formats; only this one is meant to reach it.
  if (bytes.size() < 12 || std::memcmp(bytes.data(), "RIFF", 4) != 0 || std::memcmp(bytes.data() + 8, "WAVE", 4) != 0) {
    return failure("not a RIFF/WAVE file");
  }
  MemoryFile file{bytes};
  SF_VIRTUAL_IO callbacks{MemoryFile::size, MemoryFile::seek, MemoryFile::read, MemoryFile::write, MemoryFile::tell};
  SF_INFO info{};
  const std::unique_ptr<SNDFILE, SoundCloser> sound(sf_open_virtual(&callbacks, SFM_READ, &info, &file));
  if (!sound) return failure("not a readable wav file: {}", sf_strerror(nullptr));
  if (info.channels != 1) return failure("{} channels, want 1", info.channels);
  if (info.samplerate <= 0 || static_cast<std::uint32_t>(info.samplerate) % options.rate != 0 ||
      static_cast<std::uint32_t>(info.samplerate) / options.rate > kMostDecimation) {
    return failure("{} samples per second, want a multiple of {} up to {}", info.samplerate, options.rate,
                   options.rate * kMostDecimation);
  }
  const std::uint32_t factor = static_cast<std::uint32_t>(info.samplerate) / options.rate;
  // As much as the output and the filter's reach need; the header's own count of frames is not believed.
  std::vector<float> in(std::size_t{options.length + 16} * factor);
  const sf_count_t got = sf_readf_float(sound.get(), in.data(), static_cast<sf_count_t>(in.size()));
  in.resize(static_cast<std::size_t>(std::clamp<sf_count_t>(got, 0, static_cast<sf_count_t>(in.size()))));
  if (in.empty()) return failure("no samples");
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!std::isfinite(in[i])) return failure("sample {} is not a finite number", i);
  }
  std::vector<float> out = factor == 1 ? std::move(in) : decimate(in, factor, options.length);
  out.resize(options.length, 0.0f);
  for (float& sample : out) sample = std::clamp(sample, -1.0f, 1.0f);
  return out;
}

Result<RawData> read_speech_folder(const std::filesystem::path& folder, const SpeechOptions& options) {
  MUSTER_ASSIGN(const std::vector<std::string> words, list_folder(folder, [](const auto& entry) {
                  const std::string name = entry.path().filename().string();
                  return entry.is_directory() && !name.starts_with("_") && !name.starts_with(".");
                }));
  MUSTER_ASSIGN(const std::vector<Clip> clips, list_clips(folder, words));
  MUSTER_ASSIGN(const std::set<std::string> testing, read_testing_list(folder));
  if (clips.empty()) return failure("{}: no clips, want WORD/SPEAKER_nohash_INDEX.wav", folder.string());

  RawData data;
  data.class_names = words;
  std::set<std::string> speakers;
  for (const Clip& clip : clips) speakers.insert(clip.speaker);
  data.client_names.assign(speakers.begin(), speakers.end());
  for (Samples* samples : {&data.train, &data.test}) {
    samples->shape = {1, options.length, 1};
    samples->classes = static_cast<std::uint32_t>(words.size());
  }
  for (const Clip& clip : clips) {
    const std::filesystem::path path = folder / clip.word / clip.file;
    MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, kClipLimit));
    auto wave = parse_wav(bytes, options);
    if (!wave) return std::move(wave).error().within(path.string());
    const bool test = testing.contains(clip.word + "/" + clip.file);
    Samples& samples = test ? data.test : data.train;
    samples.floats.insert(samples.floats.end(), wave->begin(), wave->end());
    samples.labels.push_back(static_cast<std::int32_t>(clip.label));
    const auto speaker = std::lower_bound(data.client_names.begin(), data.client_names.end(), clip.speaker);
    (test ? data.test_clients : data.train_clients)
        .push_back(static_cast<std::uint32_t>(speaker - data.client_names.begin()));
  }
  if (data.train.size() == 0)
    return failure("{}: testing_list.txt names every clip, none is left to train on", folder.string());
  return data;
}

}  // namespace muster
