#include "model/resolve.h"

#include <algorithm>
#include <map>
#include <set>

#include "model/layers/conv.h"
#include "model/layers/pool.h"

namespace muster {
namespace {

// Far above what trains on one core; below them no size can overflow.
constexpr std::size_t kMostParameters = std::size_t{1} << 30;
constexpr std::size_t kMostValues = std::size_t{1} << 26;  // of a sample, between all layers

std::string pixels(Shape shape) {
  return fmt::format("{} x {} pixels", shape.height, shape.width);
}

// The words without `as NAME`.
std::string bare(const LayerSpec& spec) {
  return spec.words.substr(0, spec.words.find(" as "));
}

template <typename... Args>
Error refused(const LayerSpec& spec, fmt::format_string<Args...> format, Args&&... args) {
  return usage_error("{}: {} {}", spec.where, bare(spec), fmt::format(format, std::forward<Args>(args)...));
}

bool is_norm(LayerKind kind) {
  return kind == LayerKind::kBatchNorm || kind == LayerKind::kGroupNorm;
}

class Resolver {
 public:
  explicit Resolver(Shape data) : data_(data) {}

  Result<std::vector<LayerFace>> list(std::span<const LayerSpec> specs, Shape input, const std::string& prefix) {
    std::vector<LayerFace> faces;
    std::map<std::string, int> numbers;
    for (const LayerSpec& spec : specs) {
      LayerFace face{.spec = spec, .input = faces.empty() ? input : faces.back().output};
      fit_to_sequences(face.spec);
      const LayerFace* before = faces.empty() ? nullptr : &faces.back();
      MUSTER_TRY(name(face, before, prefix, numbers));
      MUSTER_TRY(shape(face, faces.empty() && prefix.empty()));
      MUSTER_TRY(count(face));
      faces.push_back(std::move(face));
    }
    return faces;
  }

 private:
  // On data of height 1 one number is a length.
  void fit_to_sequences(LayerSpec& spec) const {
    if (data_.height == 1 && spec.square) {
      spec.kernel.height = 1;
      spec.padding.top = spec.padding.bottom = 0;
    }
    if (data_.height == 1 && spec.kind != LayerKind::kConv) spec.stride.height = 1;
    if (spec.same) spec.padding = same_padding(spec.kernel);
  }

  // Sets the name of a layer that has tensors. A normalisation right after a convolution shares its name.
  Status name(LayerFace& face, const LayerFace* before, const std::string& prefix,
              std::map<std::string, int>& numbers) {
    const LayerSpec& spec = face.spec;
    std::string word;
    switch (spec.kind) {
      case LayerKind::kDense:
      case LayerKind::kConv:
      case LayerKind::kResidual:
      case LayerKind::kEmbedding:
      case LayerKind::kLstm:
      case LayerKind::kGru:
      case LayerKind::kFusion:
        word = spec.words.substr(spec.words.find_first_not_of(' '));
        word = word.substr(0, word.find(' '));
        break;
      case LayerKind::kBatchNorm:
      case LayerKind::kGroupNorm:
        if (spec.name.empty() && before && before->spec.kind == LayerKind::kConv) {
          face.name = before->name;
          return {};
        }
        word = "norm";
        break;
      case LayerKind::kLayerNorm:
        word = "norm";
        break;
      case LayerKind::kMaxPool:
      case LayerKind::kMeanPool:
      case LayerKind::kGlobalMean:
      case LayerKind::kRelu:
      case LayerKind::kTanh:
      case LayerKind::kGelu:
      case LayerKind::kDropout:
        if (!spec.name.empty()) return refused(spec, "has no parameters that could be called \"{}\"", spec.name);
        return {};
    }
    face.name = prefix + (spec.name.empty() ? fmt::format("{}{}", word, ++numbers[word]) : spec.name);
    if (!names_.insert(face.name).second) return refused(spec, "would be the second layer called \"{}\"", face.name);
    return {};
  }

  Status shape(LayerFace& face, bool first) {
    const LayerSpec& spec = face.spec;
    const Shape in = face.input;
    face.output = in;
    switch (spec.kind) {
      case LayerKind::kDense:
        face.output = {1, 1, spec.width};
        return {};
      case LayerKind::kConv:
        face.output = conv_output(
            in, {.channels = spec.width, .kernel = spec.kernel, .stride = spec.stride.height, .padding = spec.padding});
        if (face.output.size() == 0) return refused(spec, "on {}; the kernel must fit", pixels(in));
        // Also bounds the memory for zeros around images.
        if (std::max(spec.padding.top, spec.padding.bottom) > in.height ||
            std::max(spec.padding.left, spec.padding.right) > in.width) {
          return refused(spec, "on {}; it pads with more pixels than there are", pixels(in));
        }
        return {};
      case LayerKind::kMaxPool:
      case LayerKind::kMeanPool:
        face.output = pool_output(in, spec.kernel, spec.stride);
        if (face.output.size() == 0) return refused(spec, "on {}; the window must fit", pixels(in));
        if (spec.kind == LayerKind::kMaxPool && spec.kernel.height * spec.kernel.width > 255) {
          return refused(spec, "has windows of {} pixels, want at most 255", spec.kernel.height * spec.kernel.width);
        }
        return {};
      case LayerKind::kGlobalMean:
        face.output = {1, 1, in.channels};
        return {};
      case LayerKind::kGroupNorm:
        if (in.channels % spec.groups != 0)
          return refused(spec, "on {} channels; the groups must be equal", in.channels);
        return {};
      case LayerKind::kLayerNorm:
        if (in.channels < 2) return refused(spec, "on 1 channel; want two or more");
        return {};
      case LayerKind::kEmbedding:
        if (!first) return refused(spec, "reads token ids, so it can only be the first layer");
        if (in.height != 1 || in.channels != 1) {
          return refused(spec, "reads texts (data.tokens), the samples are {} x {} x {}", in.height, in.width,
                         in.channels);
        }
        if (spec.vocabulary == 0 && in.tokens == 0) {
          return refused(spec, "on data that do not tell how many tokens they have; want a VOCABULARY too");
        }
        if (spec.vocabulary > 0 && spec.vocabulary < in.tokens) {
          return refused(spec, "on data with {} tokens; want a larger VOCABULARY, or none", in.tokens);
        }
        if (spec.vocabulary == 0) face.spec.vocabulary = in.tokens;
        face.output = {1, in.width, spec.width};
        return {};
      case LayerKind::kLstm:
      case LayerKind::kGru:
        if (in.height != 1) return refused(spec, "on {}; want a sequence, which has height 1", pixels(in));
        face.output = {1, spec.sequence ? in.width : 1, spec.width};
        return {};
      case LayerKind::kResidual:
        return residual(face);
      case LayerKind::kRelu:
      case LayerKind::kTanh:
      case LayerKind::kGelu:
      case LayerKind::kBatchNorm:
      case LayerKind::kDropout:
      case LayerKind::kFusion:
        return {};
    }
    return {};
  }

  Status residual(LayerFace& face) {
    MUSTER_ASSIGN(face.inside, list(face.spec.inside, face.input, face.name + "."));
    const Shape in = face.input;
    const Shape out = face.inside.back().output;
    face.output = out;
    if (in == out) return {};
    face.shortcut = face.spec.shortcut;
    const auto change = [&] { return fmt::format("{} to {}", describe_shape(in), describe_shape(out)); };
    std::uint32_t stride = 1;
    const auto strided = [&](std::uint32_t extent) { return (extent - 1) / stride + 1; };
    while (stride <= std::max(in.height, in.width) &&
           (strided(in.height) != out.height || strided(in.width) != out.width)) {
      ++stride;
    }
    if (stride > std::max(in.height, in.width)) {
      return refused(face.spec, "from {}: no stride of the shortcut gives that size", change());
    }
    face.shortcut_stride = stride;
    if (face.shortcut == Shortcut::kPadded) {
      if (out.channels < in.channels) return refused(face.spec, "from {}: padding cannot take channels away", change());
      return {};
    }
    return project(face);
  }

  Status project(LayerFace& face) {
    const LayerSpec& last = face.inside.back().spec;
    const bool norm = is_norm(last.kind);
    LayerFace conv{.spec = {.kind = LayerKind::kConv,
                            .words = fmt::format("conv {} 1 stride {}{}", face.output.channels, face.shortcut_stride,
                                                 norm ? " no-bias" : ""),
                            .where = face.spec.where,
                            .width = face.output.channels,
                            .stride = {face.shortcut_stride, face.shortcut_stride},
                            .bias = !norm},
                   .name = face.name + ".shortcut",
                   .input = face.input,
                   .output = face.output};
    if (!names_.insert(conv.name).second) {
      return refused(face.spec, "needs the name \"{}\" for its shortcut", conv.name);
    }
    MUSTER_TRY(count(conv));
    face.projection.push_back(conv);
    if (norm) {
      LayerFace scaled{.spec = last, .name = conv.name, .input = face.output, .output = face.output};
      MUSTER_TRY(count(scaled));
      face.projection.push_back(std::move(scaled));
    }
    return {};
  }

  // Names the tensors, counts the parameters and keeps both sums in bounds.
  Status count(LayerFace& face) {
    const LayerSpec& spec = face.spec;
    const std::size_t in = face.input.channels;
    const std::size_t width = spec.width;
    const auto own = [&](std::initializer_list<const char*> suffixes) {
      for (const char* suffix : suffixes) face.tensors.push_back(face.name + suffix);
    };
    switch (spec.kind) {
      case LayerKind::kDense:
        own({".weight", ".bias"});
        face.parameters = (face.input.size() + 1) * width;
        break;
      case LayerKind::kConv:
        own({".weight"});
        if (spec.bias) own({".bias"});
        face.parameters = std::size_t{spec.kernel.height} * spec.kernel.width * in * width + (spec.bias ? width : 0);
        break;
      case LayerKind::kBatchNorm:
        own({".scale", ".shift", ".mean", ".variance"});
        face.parameters = 2 * in;
        break;
      case LayerKind::kGroupNorm:
      case LayerKind::kLayerNorm:
        own({".scale", ".shift"});
        face.parameters = 2 * in;
        break;
      case LayerKind::kEmbedding:
        own({".weight"});
        face.parameters = std::size_t{spec.vocabulary} * width;
        break;
      case LayerKind::kLstm:
        own({".input_weight", ".recurrent_weight", ".bias"});
        face.parameters = 4 * width * (in + width + 1);
        break;
      case LayerKind::kGru:
        own({".input_weight", ".recurrent_weight", ".bias", ".recurrent_bias"});
        face.parameters = 3 * width * (in + width + 1) + width;
        break;
      case LayerKind::kFusion:
        own({spec.fusion == Fusion::kConv ? ".weight" : ".share"});
        face.parameters = spec.fusion == Fusion::kConv ? 2 * in * in : spec.fusion == Fusion::kMulti ? in : 1;
        break;
      case LayerKind::kResidual:
        for (const auto* parts : {&face.projection, &face.inside}) {
          for (const LayerFace& part : *parts) face.parameters += part.parameters;
        }
        break;
      case LayerKind::kMaxPool:
      case LayerKind::kMeanPool:
      case LayerKind::kGlobalMean:
      case LayerKind::kRelu:
      case LayerKind::kTanh:
      case LayerKind::kGelu:
      case LayerKind::kDropout:
        break;
    }
    if (spec.kind != LayerKind::kResidual) parameters_ += face.parameters;  // those inside are counted already
    if (parameters_ > kMostParameters) {
      return refused(spec, "brings the network to {} parameters, want at most {}", parameters_, kMostParameters);
    }
    values_ += face.output.size();
    if (spec.kind == LayerKind::kLstm || spec.kind == LayerKind::kGru) values_ += 4 * width * face.input.width;
    if (values_ > kMostValues) {
      return refused(spec, "brings the values of a sample to {}, want at most {}", values_, kMostValues);
    }
    return {};
  }

  Shape data_;
  std::set<std::string> names_;
  std::size_t parameters_ = 0;
  std::size_t values_ = 0;
};

}  // namespace

Result<std::vector<LayerFace>> resolve_layers(std::span<const LayerSpec> specs, Shape data, std::uint32_t outputs) {
  std::vector<LayerSpec> whole(specs.begin(), specs.end());
  whole.push_back({.kind = LayerKind::kDense,
                   .words = fmt::format("dense {}", outputs),
                   .where = "model: the last layer",
                   .width = outputs});
  return Resolver(data).list(whole, data, "");
}

}  // namespace muster
