// LayerSpec: one layer of a list, its words understood and its numbers in bounds. Knows nothing of the data's shape;
// resolve.h fits specs to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/layer_list.h"

namespace muster {

enum class LayerKind {
  kDense,
  kConv,
  kMaxPool,
  kMeanPool,
  kGlobalMean,
  kRelu,
  kTanh,
  kGelu,
  kBatchNorm,
  kGroupNorm,
  kLayerNorm,
  kDropout,
  kResidual,
  kEmbedding,
  kLstm,
  kGru,
  kFusion,  // no word of a list: the objective of that name puts it into a network
};

struct Extent {
  std::uint32_t height = 1;
  std::uint32_t width = 1;
  bool operator==(const Extent&) const = default;
};

struct Padding {
  std::uint32_t top = 0;
  std::uint32_t left = 0;
  std::uint32_t bottom = 0;
  std::uint32_t right = 0;
  bool operator==(const Padding&) const = default;
};

// What a residual adds to its branch where the branch changes the shape.
enum class Shortcut {
  kIdentity,   // the shape stays as it is
  kPadded,     // no parameters: the mean of each stride x stride window, channels padded with zeros on both sides
  kProjected,  // a 1 x 1 convolution with stride, and the normalisation with which the branch ends
};

// How a fusion joins the features of a trained and of a frozen extractor; see layers/fusion.h.
enum class Fusion { kConv, kMulti, kSingle };

struct LayerSpec {
  LayerKind kind = LayerKind::kDense;
  std::string words;             // as written
  std::string where;             // for messages, e.g. "model.layers[3]"
  std::string name{};            // after `as`; empty: by kind and number
  std::uint32_t width = 0;       // dense: outputs; conv: channels; embedding: dimension; lstm, gru: units
  std::uint32_t vocabulary = 0;  // embedding; 0: as many as the data have
  Extent kernel{};               // conv, max-pool, mean-pool
  Extent stride{};               // likewise
  Padding padding{};             // conv
  bool square = true;            // kernel (and with it stride and padding) is one number: on sequences it is a length
  bool same = false;             // conv: padding keeps the size at stride 1
  bool bias = true;              // conv
  std::uint32_t groups = 1;      // group-norm
  double drop = 0;               // dropout: probability
  bool sequence = false;         // lstm, gru: the state after every word, not only after the last
  Shortcut shortcut = Shortcut::kProjected;  // residual: where the shape changes
  std::vector<LayerSpec> inside{};           // residual
  Fusion fusion = Fusion::kConv;             // fusion
};

// Understands a list. Errors begin with `place` and the layer's index: `model.layers[3]: "conv 0 5": ...`. Lists of
// thousands of layers and residuals nested more than a few deep are refused.
[[nodiscard]] Result<std::vector<LayerSpec>> parse_layers(const LayerList& list, std::string_view place);

// Every layer with its words, for lists and documents: "conv CHANNELS KERNEL [stride S] ...".
struct LayerUsage {
  std::string name;
  std::string usage;
  std::string summary;
};
[[nodiscard]] std::vector<LayerUsage> layer_catalogue();

}  // namespace muster
