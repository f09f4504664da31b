// Samples: labelled examples in memory, as compact as their source (images stay u8, text stays token ids), and the
// act of gathering a batch of them as floats. Knows nothing of clients.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"

namespace muster {

// The shape of one sample, stored height-major, channels fastest. A flat feature vector is {1, 1, n}; a waveform
// {1, length, 1}; a sentence {1, words, embedding dimension}, or {1, tokens, 1} of ids that the network embeds.
struct Shape {
  std::uint32_t height = 1;
  std::uint32_t width = 1;
  std::uint32_t channels = 1;
  std::uint32_t tokens = 0;  // of texts whose values are ids of tokens: all are below this; 0 = numbers
  [[nodiscard]] std::size_t size() const { return std::size_t{height} * width * channels; }
  bool operator==(const Shape&) const = default;
};

// Frozen word vectors: row 0 is the zero vector (padding and unknown words).
struct WordVectors {
  std::uint32_t dimension = 0;
  std::vector<float> rows;
};

// Where the values of samples lie, in whatever memory: a label of each, and its numbers in one of the others.
struct SampleValues {
  std::span<const std::int32_t> labels;
  std::span<const std::uint8_t> bytes;
  std::span<const float> floats;
  std::span<const std::uint32_t> tokens;
  std::span<const float> word_vectors;  // `dimension` values each; empty = none
  std::uint32_t dimension = 0;
};

struct Samples {
  enum class Storage { kBytes, kFloats, kTokens };

  Storage storage = Storage::kFloats;
  Shape shape;
  std::uint32_t classes = 0;
  std::vector<std::int32_t> labels;  // one per sample, in [0, classes)

  // Exactly one of these holds size() samples, by `storage`. kTokens: shape.width ids per sample, into `vectors`
  // or, where there are none, below shape.tokens.
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
  std::vector<std::uint32_t> tokens;
  std::shared_ptr<const WordVectors> vectors;

  // value = stored * scale + offset, applied while gathering. One entry, one per channel, or one per feature;
  // empty = as stored (bytes: divided by 255). Not used for tokens.
  std::vector<float> scale;
  std::vector<float> offset;

  // Set where the values lie in memory that several processes see (data/shared_data.h), which whoever has the samples
  // keeps: `labels`, `bytes`, `floats`, `tokens` and `vectors` are empty then.
  std::optional<SampleValues> shared;

  [[nodiscard]] std::size_t size() const { return shared ? shared->labels.size() : labels.size(); }
  // Wherever they are; valid as long as nobody changes the samples.
  [[nodiscard]] SampleValues values() const {
    if (shared) return *shared;
    SampleValues own;
    own.labels = labels;
    own.bytes = bytes;
    own.floats = floats;
    own.tokens = tokens;
    if (vectors) {
      own.word_vectors = vectors->rows;
      own.dimension = vectors->dimension;
    }
    return own;
  }
};

// What happens to training images while a batch is gathered.
struct Augmentation {
  std::uint32_t crop_padding = 0;  // random crop after zero-padding by this many pixels; 0 = off
  bool flip = false;               // mirror left-right with probability one half
  [[nodiscard]] bool any() const { return crop_padding > 0 || flip; }
};

// A view of some samples: rows of `samples`, each turned by `quarter_turns` * 90 degrees counter-clockwise.
// Valid as long as what it was taken from.
struct SampleView {
  const Samples* samples = nullptr;
  std::span<const std::uint32_t> rows;
  std::uint32_t quarter_turns = 0;
  [[nodiscard]] std::size_t size() const { return rows.size(); }
};

// Writes the samples view.rows[positions[i]] as floats to out[i * shape.size()...] and their labels to labels[i].
// With an augmentation, `stream` must be given and is drawn from in the order of positions. Does not allocate.
void gather(const SampleView& view, std::span<const std::uint32_t> positions, const Augmentation& augmentation,
            Stream* stream, float* out, std::int32_t* labels);

}  // namespace muster
