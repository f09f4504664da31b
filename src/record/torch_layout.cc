#include "record/torch_layout.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "record/json_text.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

const char* word_of(LayerKind kind) {
  switch (kind) {
    case LayerKind::kDense:
      return "dense";
    case LayerKind::kConv:
      return "conv";
    case LayerKind::kMaxPool:
      return "max-pool";
    case LayerKind::kMeanPool:
      return "mean-pool";
    case LayerKind::kGlobalMean:
      return "global-mean";
    case LayerKind::kRelu:
      return "relu";
    case LayerKind::kTanh:
      return "tanh";
    case LayerKind::kGelu:
      return "gelu";
    case LayerKind::kBatchNorm:
      return "batch-norm";
    case LayerKind::kGroupNorm:
      return "group-norm";
    case LayerKind::kLayerNorm:
      return "layer-norm";
    case LayerKind::kDropout:
      return "dropout";
    case LayerKind::kResidual:
      return "residual";
    case LayerKind::kEmbedding:
      return "embedding";
    case LayerKind::kLstm:
      return "lstm";
    case LayerKind::kGru:
      return "gru";
    case LayerKind::kFusion:
      return "conv";  // see fusion()
  }
  return "?";
}

bool is_norm(LayerKind kind) {
  return kind == LayerKind::kBatchNorm || kind == LayerKind::kGroupNorm || kind == LayerKind::kLayerNorm;
}

// A normalisation right after a convolution goes by its name.
bool shares_name(const LayerFace& face, const LayerFace* before) {
  return is_norm(face.spec.kind) && before && before->spec.kind == LayerKind::kConv && !face.name.empty() &&
         face.spec.name.empty();
}

// A fusion by shares leaves equal features as they are.
bool hands_on(const LayerFace& face) {
  return face.spec.kind == LayerKind::kFusion && face.spec.fusion != Fusion::kConv;
}

class TorchWriter {
 public:
  TorchWriter(const Network& network, std::span<const float> flat) : network_(network), from_(flat) {}

  TorchNetwork write() && {
    const Json layers = list(network_.description());
    MUSTER_CHECK(used_ == network_.tensors().size(), "{} of {} tensors written", used_, network_.tensors().size());
    out_.layers = json_text(layers);
    return std::move(out_);
  }

 private:
  Json list(std::span<const LayerFace> faces) {
    Json layers = Json::array();
    const LayerFace* before = nullptr;
    for (const LayerFace& face : faces) {
      if (hands_on(face)) {
        ++used_;
      } else {
        layers.push_back(layer(face, torch_name(face, before)));
      }
      before = &face;
    }
    return layers;
  }

  Json layer(const LayerFace& face, const std::string& name) {
    const LayerSpec& spec = face.spec;
    Json json{{"kind", word_of(spec.kind)}};
    if (!face.tensors.empty()) json["name"] = name;
    switch (spec.kind) {
      case LayerKind::kDense:
        dense(face, name);
        break;
      case LayerKind::kConv:
        json["stride"] = {spec.stride.height, spec.stride.width};
        json["pad"] = {spec.padding.left, spec.padding.right, spec.padding.top, spec.padding.bottom};
        conv(face, name);
        break;
      case LayerKind::kMaxPool:
      case LayerKind::kMeanPool:
        json["kernel"] = {spec.kernel.height, spec.kernel.width};
        json["stride"] = {spec.stride.height, spec.stride.width};
        break;
      case LayerKind::kGroupNorm:
        json["groups"] = spec.groups;
        norm(face, name);
        break;
      case LayerKind::kBatchNorm:
      case LayerKind::kLayerNorm:
        norm(face, name);
        break;
      case LayerKind::kDropout:
        json["probability"] = spec.drop;
        break;
      case LayerKind::kEmbedding:
        add(name + ".weight", tensor(face, "weight").shape, values(face, "weight"));
        break;
      case LayerKind::kLstm:
      case LayerKind::kGru:
        json["sequence"] = spec.sequence;
        recurrent(face, name);
        break;
      case LayerKind::kResidual:
        residual(face, json);
        break;
      case LayerKind::kFusion:
        json["stride"] = {1, 1};
        json["pad"] = {0, 0, 0, 0};
        fusion(face, name);
        break;
      case LayerKind::kGlobalMean:
      case LayerKind::kRelu:
      case LayerKind::kTanh:
      case LayerKind::kGelu:
        break;
    }
    return json;
  }

  // Parameters of the projection come before those of the branch, as in the flat vector.
  void residual(const LayerFace& face, Json& json) {
    if (face.shortcut == Shortcut::kProjected) {
      json["projection"] = list(face.projection);
    } else if (face.shortcut == Shortcut::kPadded) {
      const std::uint32_t more = face.output.channels - face.input.channels;
      json["padded"] = {{"stride", face.shortcut_stride}, {"before", more / 2}, {"after", more - more / 2}};
    }
    json["inside"] = list(face.inside);
  }

  const ParameterTensor& tensor(const LayerFace& face, std::string_view part) const {
    const std::string name = face.name + "." + std::string(part);
    const auto found = std::ranges::find(network_.tensors(), name, &ParameterTensor::name);
    MUSTER_CHECK(found != network_.tensors().end(), "no tensor {}", name);
    return *found;
  }
  bool has(const LayerFace& face, std::string_view part) const {
    return std::ranges::find(face.tensors, face.name + "." + std::string(part)) != face.tensors.end();
  }
  std::span<const float> values(const LayerFace& face, std::string_view part) {
    const ParameterRange range = tensor(face, part).range;
    ++used_;
    return from_.subspan(range.offset, range.size);
  }

  void add(std::string name, std::vector<std::uint32_t> shape, std::span<const float> values) {
    out_.tensors.push_back({std::move(name), std::move(shape), {out_.flat.size(), values.size()}});
    out_.flat.insert(out_.flat.end(), values.begin(), values.end());
  }

  // [rows][columns] -> [columns][rows]
  static std::vector<float> transposed(std::span<const float> matrix, std::size_t columns) {
    const std::size_t rows = matrix.size() / columns;
    std::vector<float> result(matrix.size());
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) result[c * rows + r] = matrix[r * columns + c];
    }
    return result;
  }

  // [height * width * channels][out] -> [out][channels * height * width]
  void dense(const LayerFace& face, const std::string& name) {
    const std::vector<std::uint32_t> shape = tensor(face, "weight").shape;
    const std::size_t in = shape[0];
    const std::size_t out = shape[1];
    const std::size_t channels = face.input.channels;
    const std::size_t pixels = in / channels;
    const std::span<const float> weight = values(face, "weight");
    std::vector<float> result(weight.size());
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t o = 0; o < out; ++o) {
          result[o * in + c * pixels + pixel] = weight[(pixel * channels + c) * out + o];
        }
      }
    }
    add(name + ".weight", {shape[1], shape[0]}, result);
    add(name + ".bias", {shape[1]}, values(face, "bias"));
  }

  // [kernel height][kernel width][in][out] -> [out][in][kernel height][kernel width]
  void conv(const LayerFace& face, const std::string& name) {
    const std::vector<std::uint32_t> shape = tensor(face, "weight").shape;
    const std::size_t window = std::size_t{shape[0]} * shape[1];
    const std::size_t in = shape[2];
    const std::size_t out = shape[3];
    const std::span<const float> weight = values(face, "weight");
    std::vector<float> result(weight.size());
    for (std::size_t k = 0; k < window; ++k) {
      for (std::size_t i = 0; i < in; ++i) {
        for (std::size_t o = 0; o < out; ++o) result[(o * in + i) * window + k] = weight[(k * in + i) * out + o];
      }
    }
    add(name + ".weight", {shape[3], shape[2], shape[0], shape[1]}, result);
    if (has(face, "bias")) add(name + ".bias", {shape[3]}, values(face, "bias"));
  }

  // Outside training one extractor's features take both places, so the two halves of the weights add up:
  // [1][1][2 in][out] -> [out][in][1][1].
  void fusion(const LayerFace& face, const std::string& name) {
    const std::size_t channels = face.input.channels;
    const std::span<const float> weight = values(face, "weight");
    std::vector<float> sum(channels * channels);
    for (std::size_t i = 0; i < channels; ++i) {
      for (std::size_t o = 0; o < channels; ++o) {
        sum[o * channels + i] = weight[i * channels + o] + weight[(channels + i) * channels + o];
      }
    }
    add(name + ".weight", {face.input.channels, face.input.channels, 1, 1}, sum);
  }

  void norm(const LayerFace& face, const std::string& name) {
    constexpr std::pair<const char*, const char*> kParts[] = {
        {"scale", "weight"}, {"shift", "bias"}, {"mean", "running_mean"}, {"variance", "running_var"}};
    for (const auto& [ours, theirs] : kParts) {
      if (has(face, ours)) add(fmt::format("{}.{}", name, theirs), {face.input.channels}, values(face, ours));
    }
  }

  // Theirs has two biases. The second is zero, but for the GRU's new gate, where it stands inside the product.
  void recurrent(const LayerFace& face, const std::string& name) {
    const std::vector<std::uint32_t> input = tensor(face, "input_weight").shape;
    const std::vector<std::uint32_t> state = tensor(face, "recurrent_weight").shape;
    add(name + ".weight_ih_l0", {input[1], input[0]}, transposed(values(face, "input_weight"), input[1]));
    add(name + ".weight_hh_l0", {state[1], state[0]}, transposed(values(face, "recurrent_weight"), state[1]));
    add(name + ".bias_ih_l0", {input[1]}, values(face, "bias"));
    std::vector<float> second(input[1], 0.0f);
    if (has(face, "recurrent_bias")) {
      std::ranges::copy(values(face, "recurrent_bias"), second.end() - state[0]);
    }
    add(name + ".bias_hh_l0", {input[1]}, second);
  }

  const Network& network_;
  std::span<const float> from_;
  std::size_t used_ = 0;
  TorchNetwork out_;
};

}  // namespace

std::string torch_name(const LayerFace& face, const LayerFace* before) {
  std::string name = face.name;
  std::ranges::replace(name, '.', '_');
  return shares_name(face, before) ? name + "_norm" : name;
}

TorchNetwork to_torch(const Network& network, std::span<const float> flat) {
  MUSTER_CHECK(flat.size() == network.size(), "{} values for a network of {}", flat.size(), network.size());
  return TorchWriter(network, flat).write();
}

Status check_torch_names(const TorchNetwork& network) {
  std::set<std::string_view> names;
  for (const ParameterTensor& tensor : network.tensors) {
    if (names.insert(tensor.name).second) continue;
    return usage_error(
        "model.layers: two tensors would be called \"{}\", as a dot in a layer's name becomes \"_\" outside "
        "Muster; rename a layer",
        tensor.name);
  }
  return {};
}

}  // namespace muster
