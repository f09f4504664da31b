// Wav folders in the layout of Google's Speech Commands, WORD/SPEAKER_nohash_INDEX.wav -> waveforms of one second
// {1, 8000, 1}, a class per word, a client per speaker. Kept as floats: 32 kB a clip.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "data/raw_data.h"

namespace muster {

struct SpeechOptions {
  std::uint32_t rate = 8000;    // samples per second; a clip's own rate must be a multiple of it
  std::uint32_t length = 8000;  // samples: longer clips are cut, shorter ones padded with zeros
};

// A mono RIFF/WAVE file in memory -> `length` samples in [-1, 1]. Higher rates pass a windowed-sinc low-pass before
// they are decimated, so that nothing above the new half rate folds back.
[[nodiscard]] Result<std::vector<float>> parse_wav(std::span<const std::uint8_t> bytes, const SpeechOptions& options);

// Folders starting with '_' are left out. The files named in testing_list.txt, if there is one, are the test part;
// validation_list.txt is not used: those clips are training clips. Words and files are taken in sorted order.
[[nodiscard]] Result<RawData> read_speech_folder(const std::filesystem::path& folder,
                                                 const SpeechOptions& options = {});

}  // namespace muster
