#include "model/layer_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>

#include "base/names.h"

namespace muster {
namespace {

constexpr std::size_t kMostLayers = 4096;
constexpr int kDeepest = 4;
constexpr std::size_t kLongestWords = 120;
constexpr std::size_t kLongestName = 64;
constexpr std::uint32_t kMostUnits = 65536;
constexpr std::uint32_t kMostChannels = 4096;
constexpr std::uint32_t kMostExtent = 4096;   // of kernels, windows, strides and paddings
constexpr std::uint32_t kMostIds = 1u << 24;  // which a float counts exactly

// Words for an error message: one line, and not a long one.
std::string shown(std::string_view words) {
  std::string line;
  for (const char c : words.substr(0, kLongestWords))
    line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  return words.size() > kLongestWords ? line + "..." : line;
}

std::optional<std::uint32_t> whole_number(std::string_view word) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// The words of a layer after its name, taken one after the other.
class Words {
 public:
  Words(std::string_view text, std::string usage) : usage_(std::move(usage)) {
    while (true) {
      const std::size_t begin = text.find_first_not_of(' ');
      if (begin == std::string_view::npos) break;
      text.remove_prefix(begin);
      words_.push_back(text.substr(0, text.find(' ')));
      text.remove_prefix(words_.back().size());
    }
    at_ = std::min<std::size_t>(1, words_.size());
  }

  [[nodiscard]] bool done() const { return at_ == words_.size(); }
  // Takes the word if it comes next.
  bool take(std::string_view word) {
    if (done() || words_[at_] != word) return false;
    ++at_;
    return true;
  }
  // How many of the next words are numbers.
  [[nodiscard]] std::size_t numbers() const {
    const auto end = std::find_if_not(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end(), whole_number);
    return static_cast<std::size_t>(end - words_.begin()) - at_;
  }
  Result<std::string_view> word() {
    if (done()) return misused();
    return words_[at_++];
  }
  Result<std::uint32_t> number(const char* what, std::uint32_t low, std::uint32_t high) {
    if (done()) return misused();
    const auto value = whole_number(words_[at_]);
    if (!value || *value < low || *value > high) {
      return usage_error("{} {}, want an integer from {} to {}", what, shown(words_[at_]), low, high);
    }
    ++at_;
    return *value;
  }
  // "5" or "3x5"; `square` says which.
  Result<Extent> extent(const char* what, bool& square) {
    if (done()) return misused();
    const std::string_view word = words_[at_++];
    const std::size_t cross = word.find('x');
    square = cross == std::string_view::npos;
    const auto height = whole_number(word.substr(0, cross));
    const auto width = square ? height : whole_number(word.substr(cross + 1));
    const auto fits = [](const auto& value) { return value && *value >= 1 && *value <= kMostExtent; };
    if (!fits(height) || !fits(width)) {
      return usage_error("{} {}, want a size such as 3 or 1x3, each from 1 to {}", what, shown(word), kMostExtent);
    }
    return Extent{*height, *width};
  }
  [[nodiscard]] Error misused() const { return usage_error("want {}", usage_); }

 private:
  std::string usage_;
  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
};

Status parse_dense(Words& words, LayerSpec& spec) {
  MUSTER_ASSIGN(spec.width, words.number("units", 1, kMostUnits));
  return {};
}

Status parse_conv(Words& words, LayerSpec& spec) {
  MUSTER_ASSIGN(spec.width, words.number("channels", 1, kMostChannels));
  MUSTER_ASSIGN(spec.kernel, words.extent("kernel", spec.square));
  while (true) {
    if (words.take("stride")) {
      MUSTER_ASSIGN(const std::uint32_t stride, words.number("stride", 1, kMostExtent));
      spec.stride = {stride, stride};
    } else if (words.take("pad")) {
      if (words.take("same")) {
        spec.same = true;
        continue;
      }
      const std::uint32_t most = std::min(spec.kernel.height, spec.kernel.width) - 1;
      MUSTER_ASSIGN(const std::uint32_t pad, words.number("pad", 0, most));
      spec.padding = {pad, pad, pad, pad};
      spec.same = false;
    } else if (words.take("no-bias")) {
      spec.bias = false;
    } else {
      return {};
    }
  }
}

Status parse_pool(Words& words, LayerSpec& spec) {
  MUSTER_ASSIGN(spec.kernel, words.extent("window", spec.square));
  spec.stride = spec.kernel;
  if (words.take("stride")) {
    bool square = false;
    MUSTER_ASSIGN(spec.stride, words.extent("stride", square));
  }
  return {};
}

Status parse_max_pool(Words& words, LayerSpec& spec) {
  constexpr std::uint32_t kMostPixels = 255;
  MUSTER_TRY(parse_pool(words, spec));
  // One number may turn out to be a length: resolve.cc looks again at what it is in full.
  const std::uint32_t pixels = spec.square ? spec.kernel.width : spec.kernel.height * spec.kernel.width;
  if (pixels > kMostPixels) return usage_error("a window of {} pixels, want at most {}", pixels, kMostPixels);
  return {};
}

Status parse_nothing(Words&, LayerSpec&) {
  return {};
}

Status parse_group_norm(Words& words, LayerSpec& spec) {
  MUSTER_ASSIGN(spec.groups, words.number("groups", 1, kMostChannels));
  return {};
}

Status parse_dropout(Words& words, LayerSpec& spec) {
  MUSTER_ASSIGN(const std::string_view word, words.word());
  const std::string text(word);
  char* end = nullptr;
  const bool digits = word.find_first_not_of("0123456789.e-+") == std::string_view::npos;
  spec.drop = digits ? std::strtod(text.c_str(), &end) : -1;
  if (!digits || *end != '\0' || !(spec.drop >= 0 && spec.drop < 1)) {
    return usage_error("probability {}, want a number >= 0 and < 1", shown(word));
  }
  return {};
}

Status parse_residual(Words& words, LayerSpec& spec) {
  if (words.take("padded")) {
    spec.shortcut = Shortcut::kPadded;
  } else {
    (void)words.take("projected");
  }
  return {};
}

Status parse_embedding(Words& words, LayerSpec& spec) {
  // One number is the dimension: the data know how many tokens they have.
  if (words.numbers() > 1) {
    MUSTER_ASSIGN(spec.vocabulary, words.number("vocabulary", 1, kMostIds));
  }
  MUSTER_ASSIGN(spec.width, words.number("dimension", 1, kMostChannels));
  return {};
}

Status parse_recurrent(Words& words, LayerSpec& spec) {
  MUSTER_ASSIGN(spec.width, words.number("units", 1, kMostChannels));
  spec.sequence = words.take("sequence");
  return {};
}

struct Row {
  LayerUsage face;
  LayerKind kind;
  Status (*parse)(Words&, LayerSpec&);
};

const std::vector<Row>& rows() {
  static const std::vector<Row> list = {
      {{"dense", "dense UNITS", "fully connected, over all values of a sample"}, LayerKind::kDense, parse_dense},
      {{"conv", "conv CHANNELS KERNEL [stride S] [pad same | pad N] [no-bias]", "convolution"},
       LayerKind::kConv,
       parse_conv},
      {{"max-pool", "max-pool WINDOW [stride S]", "the largest value of each window"},
       LayerKind::kMaxPool,
       parse_max_pool},
      {{"mean-pool", "mean-pool WINDOW [stride S]", "the mean of each window"}, LayerKind::kMeanPool, parse_pool},
      {{"global-mean", "global-mean", "the mean of each channel over all pixels or words"},
       LayerKind::kGlobalMean,
       parse_nothing},
      {{"relu", "relu", "max(x, 0)"}, LayerKind::kRelu, parse_nothing},
      {{"tanh", "tanh", "hyperbolic tangent"}, LayerKind::kTanh, parse_nothing},
      {{"gelu", "gelu", "x times the normal distribution function of x"}, LayerKind::kGelu, parse_nothing},
      {{"batch-norm", "batch-norm", "channels normalised over the batch, by running statistics in evaluation"},
       LayerKind::kBatchNorm,
       parse_nothing},
      {{"group-norm", "group-norm GROUPS", "groups of channels normalised over each sample's pixels"},
       LayerKind::kGroupNorm,
       parse_group_norm},
      {{"layer-norm", "layer-norm", "each pixel or word normalised over its channels"},
       LayerKind::kLayerNorm,
       parse_nothing},
      {{"dropout", "dropout PROBABILITY", "zeroes values at random while training"},
       LayerKind::kDropout,
       parse_dropout},
      {{"residual", "residual [projected | padded]", "adds its input to what the layers inside make of it"},
       LayerKind::kResidual,
       parse_residual},
      {{"embedding", "embedding [VOCABULARY] DIMENSION", "a trained vector per token id"},
       LayerKind::kEmbedding,
       parse_embedding},
      {{"lstm", "lstm UNITS [sequence]", "long short-term memory over the words of a sequence"},
       LayerKind::kLstm,
       parse_recurrent},
      {{"gru", "gru UNITS [sequence]", "gated recurrent unit over the words of a sequence"},
       LayerKind::kGru,
       parse_recurrent},
  };
  return list;
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  return !text.empty() && text.size() <= kLongestName && std::all_of(text.begin(), text.end(), fits) &&
         text.front() != '.' && text.back() != '.';
}

Result<LayerSpec> parse_words(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::string_view name = text.substr(begin, text.substr(begin).find(' '));
  const auto row = std::find_if(rows().begin(), rows().end(), [&](const Row& r) { return r.face.name == name; });
  if (row == rows().end()) {
    std::vector<std::string> names;
    for (const Row& known : rows()) names.push_back(known.face.name);
    return Error{ErrorCode::kUsage, unknown_name("layer", shown(name), names)};
  }
  Words words(text, row->face.usage);
  LayerSpec spec{.kind = row->kind, .words = std::string(text), .where = {}};
  MUSTER_TRY(row->parse(words, spec));
  if (words.take("as")) {
    MUSTER_ASSIGN(const std::string_view own, words.word());
    if (!is_name(own)) {
      return usage_error("name {}, want at most {} letters, digits, '_', '-' and '.'", shown(own), kLongestName);
    }
    spec.name = own;
  }
  if (!words.done()) return words.misused();
  return spec;
}

// `left`: layers that may still come.
Result<std::vector<LayerSpec>> parse_items(const LayerList& list, const std::string& place, std::size_t first,
                                           int depth, std::size_t& left) {
  std::vector<LayerSpec> specs;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const LayerItem& item = list[i];
    const std::string where = fmt::format("{}[{}]", place, i + first);
    if (left-- == 0) return usage_error("{}: one layer too many, want at most {}", where, kMostLayers);
    if (item.words.size() > kLongestWords) {
      return usage_error("{}: \"{}\", want at most {} characters", where, shown(item.words), kLongestWords);
    }
    auto spec = parse_words(item.words);
    if (!spec) return std::move(spec).error().within(fmt::format("{}: \"{}\"", where, shown(item.words)));
    spec->where = where;
    if (spec->kind == LayerKind::kResidual) {
      if (item.inside.empty()) {
        return usage_error(
            "{}: \"{}\", want a list with the layers inside: [\"residual\", \"conv 16 3 pad same\", ...]", where,
            shown(item.words));
      }
      if (depth == kDeepest) return usage_error("{}: residuals nest at most {} deep", where, kDeepest);
      MUSTER_ASSIGN(spec->inside, parse_items(item.inside, where, 1, depth + 1, left));
    } else if (!item.inside.empty()) {
      return usage_error("{}: \"{}\" with layers inside; only a residual has them", where, shown(item.words));
    }
    specs.push_back(*std::move(spec));
  }
  return specs;
}

}  // namespace

Result<std::vector<LayerSpec>> parse_layers(const LayerList& list, std::string_view place) {
  std::size_t left = kMostLayers;
  return parse_items(list, std::string(place), 0, 0, left);
}

std::vector<LayerUsage> layer_catalogue() {
  std::vector<LayerUsage> faces;
  for (const Row& row : rows()) faces.push_back(row.face);
  return faces;
}

}  // namespace muster
