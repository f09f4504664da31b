#include "record/onnx_network.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>

#include "base/check.h"
#include "record/torch_layout.h"

namespace muster {
namespace {

constexpr float kEpsilon = 1e-5f;  // of every normalisation, as in model/layers/norm.cc

// A result on the way through the network.
struct Value {
  std::string name;
  bool flat = false;  // rows x features; else rows x channels x height x width
};

class OnnxWriter {
 public:
  // `weights`: those of the network, no two of one name.
  OnnxWriter(const Network& network, const TorchNetwork& weights) : network_(network), weights_(weights) {}

  OnnxGraph write() && {
    MUSTER_CHECK(network_.description().back().spec.kind == LayerKind::kDense, "the last layer gives no logits");
    const Value logits = list(network_.description(), input());
    graph_.output(logits.name, OnnxType::kFloat, {network_.outputs()});
    probabilities(logits);
    return std::move(graph_);
  }

 private:
  Value input() {
    const Shape shape = network_.input();
    if (network_.description().front().spec.kind == LayerKind::kEmbedding) {
      graph_.input("input", OnnxType::kInteger, {shape.width});
      return {"input", true};
    }
    if (shape.height == 1 && shape.width == 1) {
      graph_.input("input", OnnxType::kFloat, {shape.channels});
      return {"input", true};
    }
    graph_.input("input", OnnxType::kFloat, {shape.channels, shape.height, shape.width});
    return {"input", false};
  }

  // One output on two classes is the logit of the second: its sigmoid, and that of its negative.
  void probabilities(const Value& logits) {
    const char* result = "probabilities";
    if (network_.outputs() == network_.classes()) {
      node("Softmax", {logits.name}, {{"axis", 1}}, result);
    } else {
      const std::string both = node("Concat", {node("Neg", {logits.name}), logits.name}, {{"axis", 1}});
      node("Sigmoid", {both}, {}, result);
    }
    graph_.output(result, OnnxType::kFloat, {network_.classes()});
  }

  Value list(std::span<const LayerFace> faces, Value value) {
    const LayerFace* before = nullptr;
    for (const LayerFace& face : faces) {
      value = layer(face, torch_name(face, before), value);
      before = &face;
    }
    return value;
  }

  Value layer(const LayerFace& face, const std::string& name, const Value& in) {
    switch (face.spec.kind) {
      case LayerKind::kDense:
        return dense(face, name, in);
      case LayerKind::kConv:
        return conv(face, name, in);
      case LayerKind::kMaxPool:
        return pool("MaxPool", face, in);
      case LayerKind::kMeanPool:
        return pool("AveragePool", face, in);
      case LayerKind::kGlobalMean:
        return {node("GlobalAveragePool", {image(in, face.input)})};
      case LayerKind::kRelu:
        return {node("Relu", {in.name}), in.flat};
      case LayerKind::kTanh:
        return {node("Tanh", {in.name}), in.flat};
      case LayerKind::kGelu:
        return gelu(in);
      case LayerKind::kBatchNorm:
        return batch_norm(face, name, in);
      case LayerKind::kGroupNorm:
        return group_norm(face, name, in);
      case LayerKind::kLayerNorm:
        return layer_norm(face, name, in);
      case LayerKind::kDropout:
        return in;  // off outside training
      case LayerKind::kResidual:
        return residual(face, in);
      case LayerKind::kEmbedding:
        return embedding(face, name, in);
      case LayerKind::kLstm:
      case LayerKind::kGru:
        return recurrent(face, name, in);
      case LayerKind::kFusion:
        if (face.spec.fusion != Fusion::kConv) return in;  // of equal features
        return {node("Conv", {image(in, face.input), weight(name + ".weight")}, {{"kernel_shape", OnnxShape{1, 1}}})};
    }
    return in;
  }

  Value dense(const LayerFace& face, const std::string& name, const Value& in) {
    const std::string rows = in.flat ? in.name : node("Flatten", {in.name}, {{"axis", 1}});
    const bool last = &face == &network_.description().back();
    return {
        node("Gemm", {rows, weight(name + ".weight"), weight(name + ".bias")}, {{"transB", 1}}, last ? "logits" : ""),
        true};
  }

  Value conv(const LayerFace& face, const std::string& name, const Value& in) {
    const LayerSpec& spec = face.spec;
    std::vector<std::string> inputs{image(in, face.input), weight(name + ".weight")};
    if (spec.bias) inputs.push_back(weight(name + ".bias"));
    return {graph_.node(
        "Conv", inputs,
        {{"kernel_shape", extents(spec.kernel)},
         {"strides", extents(spec.stride)},
         {"pads", OnnxShape{spec.padding.top, spec.padding.left, spec.padding.bottom, spec.padding.right}}})};
  }

  Value pool(std::string_view op, const LayerFace& face, const Value& in) {
    return {node(op, {image(in, face.input)},
                 {{"kernel_shape", extents(face.spec.kernel)}, {"strides", extents(face.spec.stride)}})};
  }

  // x * (1 + erf(x / sqrt 2)) / 2
  Value gelu(const Value& in) {
    const std::string scaled = node("Div", {in.name, graph_.scalar(std::numbers::sqrt2_v<float>)});
    const std::string share = node("Add", {node("Erf", {scaled}), graph_.scalar(1)});
    return {node("Mul", {node("Mul", {in.name, share}), graph_.scalar(0.5f)}), in.flat};
  }

  // Always of images: OpenCV 4.6 computes it wrongly of the sum of two vectors.
  Value batch_norm(const LayerFace& face, const std::string& name, const Value& in) {
    return {node("BatchNormalization",
                 {image(in, face.input), weight(name + ".weight"), weight(name + ".bias"),
                  weight(name + ".running_mean"), weight(name + ".running_var")},
                 {{"epsilon", kEpsilon}})};
  }

  // Operator set 13 has neither of the next two; both are InstanceNormalization once what is normalised together stands
  // in the last axis of rows x parts x values.
  Value group_norm(const LayerFace& face, const std::string& name, const Value& in) {
    const std::int64_t groups = face.spec.groups;
    const std::string parts = normalized(reshape(in.name, {-1, groups, values(face.input) / groups}), groups);
    return scaled(name, face.input.channels, {reshape(parts, shape_of(in, face.input)), in.flat});
  }

  Value layer_norm(const LayerFace& face, const std::string& name, const Value& in) {
    const Shape shape = face.input;
    const std::int64_t pixels = std::int64_t{shape.height} * shape.width;
    std::string rows = in.name;
    if (!in.flat) rows = transpose(rows, {0, 2, 3, 1});
    rows = normalized(reshape(rows, {-1, pixels, shape.channels}), pixels);
    if (in.flat) return scaled(name, shape.channels, {reshape(rows, {-1, shape.channels}), true});
    rows = reshape(rows, {-1, shape.height, shape.width, shape.channels});
    return scaled(name, shape.channels, {transpose(rows, {0, 3, 1, 2})});
  }

  // The operator's own scale and shift are per part, ours per channel: they are left at 1 and 0.
  std::string normalized(const std::string& rows, std::int64_t parts) {
    const auto filled = [&](const char* what, float value) {
      std::string name = fmt::format("{}.{}", what, parts);
      if (filled_.insert(name).second) graph_.floats(name, {parts}, std::vector<float>(parts, value));
      return name;
    };
    return node("InstanceNormalization", {rows, filled("ones", 1), filled("zeros", 0)}, {{"epsilon", kEpsilon}});
  }

  Value scaled(const std::string& name, std::int64_t channels, const Value& in) {
    const OnnxShape shape = in.flat ? OnnxShape{channels} : OnnxShape{channels, 1, 1};
    const std::string product = node("Mul", {in.name, weight(name + ".weight", shape)});
    return {node("Add", {product, weight(name + ".bias", shape)}), in.flat};
  }

  Value residual(const LayerFace& face, const Value& in) {
    const Value branch = list(face.inside, in);
    const Value other = shortcut(face, in);
    if (branch.flat && other.flat) return {node("Add", {branch.name, other.name}), true};
    return {node("Add", {image(branch, face.output), image(other, face.output)})};
  }

  Value shortcut(const LayerFace& face, const Value& in) {
    if (face.shortcut == Shortcut::kProjected) return list(face.projection, in);
    if (face.shortcut == Shortcut::kIdentity) return in;
    std::string mean = image(in, face.input);
    const std::int64_t stride = face.shortcut_stride;
    if (stride > 1) {
      // Windows at the lower and right edge hold what is left of the image; the padding does not count, by default.
      const std::int64_t below = face.output.height * stride - face.input.height;
      const std::int64_t right = face.output.width * stride - face.input.width;
      mean = node("AveragePool", {mean},
                  {{"kernel_shape", OnnxShape{stride, stride}},
                   {"strides", OnnxShape{stride, stride}},
                   {"pads", OnnxShape{0, 0, below, right}}});
    }
    const std::int64_t more = face.output.channels - face.input.channels;
    if (more == 0) return {mean};
    return {node("Pad", {mean, graph_.integers({0, more / 2, 0, 0, 0, more - more / 2, 0, 0})})};
  }

  Value embedding(const LayerFace& face, const std::string& name, const Value& in) {
    const std::string rows = node("Gather", {weight(name + ".weight"), in.name}, {{"axis", 0}});
    return {reshape(transpose(rows, {0, 2, 1}), shape_of({}, face.output))};
  }

  // The operators want words x rows x channels and give words x 1 x rows x units. They also give the state after the
  // last word by itself, but OpenCV 4.6 does not know that of a GRU.
  Value recurrent(const LayerFace& face, const std::string& name, const Value& in) {
    const std::int64_t words = face.input.width;
    const std::int64_t units = face.spec.width;
    const bool lstm = face.spec.kind == LayerKind::kLstm;
    std::vector<std::string> inputs{transpose(reshape(in.name, {-1, face.input.channels, words}), {2, 0, 1})};
    for (std::string& part : gates(name, units, lstm)) inputs.push_back(std::move(part));
    OnnxAttributes attributes{{"hidden_size", units}};
    if (!lstm) attributes.push_back({"linear_before_reset", 1});
    const std::string states = graph_.node(lstm ? "LSTM" : "GRU", inputs, attributes);
    if (face.spec.sequence) {
      return {reshape(transpose(reshape(states, {words, -1, units}), {1, 2, 0}), shape_of({}, face.output))};
    }
    const std::string last =
        node("Slice", {states, graph_.integers({words - 1}), graph_.integers({words}), graph_.integers({0})});
    return {reshape(last, {-1, units}), true};
  }

  // W, R and B: input weights, recurrent weights, both biases. LSTM: gates i, f, g, o become i, o, f, g; GRU: r, z, n
  // become z, r, n.
  std::array<std::string, 3> gates(const std::string& name, std::int64_t units, bool lstm) {
    const std::vector<std::size_t> order =
        lstm ? std::vector<std::size_t>{0, 3, 1, 2} : std::vector<std::size_t>{1, 0, 2};
    const auto append = [&](const std::string& from, std::vector<float>& to) {
      const std::span<const float> values = found(from).second;
      const std::size_t size = values.size() / order.size();
      for (const std::size_t gate : order) {
        const std::span<const float> part = values.subspan(gate * size, size);
        to.insert(to.end(), part.begin(), part.end());
      }
    };
    const std::int64_t rows = static_cast<std::int64_t>(order.size()) * units;
    std::vector<float> input;
    append(name + ".weight_ih_l0", input);
    std::vector<float> state;
    append(name + ".weight_hh_l0", state);
    std::vector<float> bias;
    append(name + ".bias_ih_l0", bias);
    append(name + ".bias_hh_l0", bias);
    const std::int64_t channels = static_cast<std::int64_t>(input.size()) / rows;
    return {graph_.floats(name + ".W", {1, rows, channels}, input), graph_.floats(name + ".R", {1, rows, units}, state),
            graph_.floats(name + ".B", {1, 2 * rows}, bias)};
  }

  std::string node(std::string_view op, std::initializer_list<std::string> inputs,
                   const OnnxAttributes& attributes = {}, std::string result = {}) {
    return graph_.node(op, std::span(inputs.begin(), inputs.size()), attributes, std::move(result));
  }
  std::string reshape(const std::string& value, const OnnxShape& shape) {
    return node("Reshape", {value, graph_.integers(shape)});
  }
  std::string transpose(const std::string& value, const OnnxShape& order) {
    return node("Transpose", {value}, {{"perm", order}});
  }
  // As rows x channels x height x width.
  std::string image(const Value& value, Shape shape) {
    return value.flat ? reshape(value.name, shape_of({}, shape)) : value.name;
  }

  static std::int64_t values(Shape shape) { return static_cast<std::int64_t>(shape.size()); }
  static OnnxShape extents(Extent extent) { return {extent.height, extent.width}; }
  static OnnxShape shape_of(const Value& value, Shape shape) {
    if (value.flat) return {-1, values(shape)};
    return {-1, shape.channels, shape.height, shape.width};
  }

  std::pair<OnnxShape, std::span<const float>> found(const std::string& name) const {
    const auto tensor = std::ranges::find(weights_.tensors, name, &ParameterTensor::name);
    MUSTER_CHECK(tensor != weights_.tensors.end(), "no tensor {}", name);
    return {OnnxShape(tensor->shape.begin(), tensor->shape.end()),
            std::span(weights_.flat).subspan(tensor->range.offset, tensor->range.size)};
  }
  std::string weight(const std::string& name) { return weight(name, found(name).first); }
  std::string weight(const std::string& name, const OnnxShape& shape) {
    return graph_.floats(name, shape, found(name).second);
  }

  const Network& network_;
  const TorchNetwork& weights_;
  OnnxGraph graph_;
  std::set<std::string> filled_;
};

}  // namespace

Result<std::string> to_onnx(const Network& network, std::span<const float> flat, const OnnxProducer& producer,
                            const std::map<std::string, std::string>& metadata) {
  MUSTER_CHECK(flat.size() == network.size(), "{} values for a network of {}", flat.size(), network.size());
  MUSTER_TRY(check_onnx_size(flat.size_bytes()));  // before they are copied
  const TorchNetwork weights = to_torch(network, flat);
  MUSTER_TRY(check_torch_names(weights));
  std::string bytes = OnnxWriter(network, weights).write().write(producer, metadata);
  MUSTER_TRY(check_onnx_size(bytes.size()));
  return bytes;
}

Status check_onnx_size(std::size_t bytes) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  if (bytes <= kMost) return {};
  return failure("a file of {} bytes is too large for ONNX, which ends at {}; export as .safetensors", bytes, kMost);
}

}  // namespace muster
