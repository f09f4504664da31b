#include "model/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/layers/activation.h"
#include "model/layers/branch.h"
#include "model/layers/conv.h"
#include "model/layers/dense.h"
#include "model/layers/dropout.h"
#include "model/layers/embedding.h"
#include "model/layers/fusion.h"
#include "model/layers/gru.h"
#include "model/layers/lstm.h"
#include "model/layers/norm_layer.h"
#include "model/layers/pool.h"
#include "model/layers/relay.h"
#include "model/layers/residual.h"

namespace muster {
namespace {

using Faces = std::span<const LayerFace>;

bool is(Faces faces, std::size_t i, LayerKind kind) {
  return i < faces.size() && faces[i].spec.kind == kind;
}

// Dense layers and fusions read rows; what treats every value alike may hand rows on to them.
bool wants_rows(Faces faces, std::size_t i) {
  while (is(faces, i, LayerKind::kRelu) || is(faces, i, LayerKind::kTanh) || is(faces, i, LayerKind::kGelu) ||
         is(faces, i, LayerKind::kDropout)) {
    ++i;
  }
  return is(faces, i, LayerKind::kDense) || is(faces, i, LayerKind::kFusion);
}

Norm norm_of(LayerKind kind) {
  return kind == LayerKind::kBatchNorm ? Norm::kBatch : kind == LayerKind::kGroupNorm ? Norm::kGroup : Norm::kNone;
}

// A convolution and what follows it in one unit.
struct Unit {
  ConvOptions options;
  std::size_t end = 0;  // the first face behind it
};

Unit unit_at(Faces faces, std::size_t i) {
  const LayerSpec& conv = faces[i].spec;
  Unit unit;
  unit.options = {.channels = conv.width,
                  .kernel = conv.kernel,
                  .stride = conv.stride.height,
                  .padding = conv.padding,
                  .bias = conv.bias,
                  .relu = false};
  unit.end = i + 1;
  // A normalisation of the convolution shares its name.
  if (unit.end < faces.size() && faces[unit.end].name == faces[i].name) {
    unit.options.norm = norm_of(faces[unit.end].spec.kind);
    unit.options.groups = faces[unit.end].spec.groups;
    ++unit.end;
  }
  if (is(faces, unit.end, LayerKind::kRelu)) {
    unit.options.relu = true;
    ++unit.end;
  }
  if (is(faces, unit.end, LayerKind::kMaxPool) && faces[unit.end].spec.kernel == faces[unit.end].spec.stride) {
    unit.options.pool = faces[unit.end].spec.kernel;
    ++unit.end;
  }
  return unit;
}

// Whether the convolutions with which a network begins put samples in the vector lanes (see conv.h): all of them, up to
// the dense layers, or none.
struct LanesRun {
  Lanes lanes = Lanes::kNever;
  std::size_t end = 0;  // the first face behind them
};

LanesRun lanes_run(Faces faces) {
  bool odd = false;
  LanesRun run;
  while (is(faces, run.end, LayerKind::kConv)) {
    const Unit unit = unit_at(faces, run.end);
    const ConvOptions& o = unit.options;
    const bool plain = o.norm == Norm::kNone && o.stride == 1 && o.padding == Padding{} && o.pool != Extent{};
    if (!plain || o.kernel != faces.front().spec.kernel) return {};
    odd = odd || o.channels % kPad != 0;
    run.end = unit.end;
  }
  if (!wants_rows(faces, run.end)) return {};
  run.lanes = odd ? Lanes::kOften : Lanes::kFilled;
  return run;
}

// The block of residual.h, with the ReLU behind it at faces[i + 1]?
bool is_block(Faces faces, std::size_t i) {
  const LayerFace& face = faces[i];
  const Faces inside = face.inside;
  if (inside.size() != 5 || !is(faces, i + 1, LayerKind::kRelu)) return false;
  if (!is(inside, 0, LayerKind::kConv) || !is(inside, 3, LayerKind::kConv)) return false;
  const Unit first = unit_at(inside, 0);
  const Unit second = unit_at(inside, 3);
  const auto fits = [&](const ConvOptions& o) {
    return o.kernel == Extent{3, 3} && o.padding == same_padding({3, 3}) && o.norm != Norm::kNone &&
           o.norm == first.options.norm && o.groups == first.options.groups && o.bias == first.options.bias &&
           o.channels == first.options.channels;
  };
  return first.end == 3 && second.end == 5 && fits(first.options) && fits(second.options) && first.options.relu &&
         !second.options.relu && second.options.stride == 1 && inside[0].name == face.name + ".conv1" &&
         inside[3].name == face.name + ".conv2";
}

class Lowering {
 public:
  // `inside`: the branch of a residual, which reads channels.
  std::vector<std::unique_ptr<Layer>> list(Faces faces, bool inside) {
    std::vector<std::unique_ptr<Layer>> layers;
    const LanesRun run = inside ? LanesRun{} : lanes_run(faces);
    for (std::size_t i = 0; i < faces.size();) {
      Step step = lower(faces, i, i < run.end ? run.lanes : Lanes::kNever);
      if (needs_relay(layers.empty() ? nullptr : &faces[i - 1], faces[i], *step.layer, inside)) {
        layers.push_back(make_relay(fmt::format("relay{}", ++relays_), faces[i].input));
      }
      layers.push_back(std::move(step.layer));
      i = step.end;
    }
    return layers;
  }

 private:
  struct Step {
    std::unique_ptr<Layer> layer;
    std::size_t end;
  };

  // Whether `before` (null: the network's input, or that of the branch) cannot deliver what the layer wants.
  static bool needs_relay(const LayerFace* before, const LayerFace& face, const Layer& layer, bool inside) {
    const Request want = layer.request(1);
    if (!before && inside) return want.format == Format::kRows;
    if (!before) {
      switch (face.spec.kind) {
        case LayerKind::kDense:
        case LayerKind::kConv:
        case LayerKind::kEmbedding:
        case LayerKind::kLstm:
        case LayerKind::kGru:
          return false;
        default:
          return true;
      }
    }
    switch (before->spec.kind) {
      case LayerKind::kDense:
      case LayerKind::kEmbedding:
      case LayerKind::kLstm:
      case LayerKind::kGru:
        return want.halo > 0 || (want.format == Format::kRows && face.input.width > 1);
      default:
        return false;
    }
  }

  Step lower(Faces faces, std::size_t i, Lanes lanes) {
    const LayerFace& face = faces[i];
    const LayerSpec& spec = face.spec;
    const Shape in = face.input;
    const bool rows = wants_rows(faces, i + 1);
    const auto one = [&](std::unique_ptr<Layer> layer) { return Step{std::move(layer), i + 1}; };
    switch (spec.kind) {
      case LayerKind::kDense: {
        // A ReLU's derivative is left to the consumer, which must be dense too.
        const bool relu = is(faces, i + 1, LayerKind::kRelu) && is(faces, i + 2, LayerKind::kDense);
        return {make_dense(face.name, in, spec.width, relu), i + (relu ? 2 : 1)};
      }
      case LayerKind::kConv: {
        Unit unit = unit_at(faces, i);
        unit.options.lanes = lanes;
        return {make_conv(face.name, in, unit.options), unit.end};
      }
      case LayerKind::kMaxPool:
        return one(make_pool(number("max-pool"), in, Pool::kMax, spec.kernel, spec.stride));
      case LayerKind::kMeanPool:
        return one(make_pool(number("mean-pool"), in, Pool::kMean, spec.kernel, spec.stride));
      case LayerKind::kGlobalMean:
        return one(make_pool(number("global-mean"), in, Pool::kMean, {in.height, in.width}, {1, 1}));
      case LayerKind::kRelu:
        return one(make_activation(number("relu"), in, Curve::kRelu, rows));
      case LayerKind::kTanh:
        return one(make_activation(number("tanh"), in, Curve::kTanh, rows));
      case LayerKind::kGelu:
        return one(make_activation(number("gelu"), in, Curve::kGelu, rows));
      case LayerKind::kBatchNorm:
      case LayerKind::kGroupNorm:
        return one(make_norm(face.name, in, norm_of(spec.kind), spec.groups));
      case LayerKind::kLayerNorm:
        return one(make_layer_norm(face.name, in));
      case LayerKind::kDropout:
        ++dropouts_;
        return one(make_dropout(fmt::format("dropout{}", dropouts_), in, spec.drop, dropouts_, rows));
      case LayerKind::kResidual:
        return residual(faces, i);
      case LayerKind::kEmbedding:
        return one(make_embedding(face.name, in, spec.vocabulary, spec.width));
      case LayerKind::kLstm:
        return one(make_lstm(face.name, in, spec.width, spec.sequence));
      case LayerKind::kGru:
        return one(make_gru(face.name, in, spec.width, spec.sequence));
      case LayerKind::kFusion:
        return one(make_fusion(face.name, in, spec.fusion));
    }
    return {};
  }

  Step residual(Faces faces, std::size_t i) {
    const LayerFace& face = faces[i];
    if (is_block(faces, i)) {
      const ConvOptions first = unit_at(face.inside, 0).options;
      return {make_residual(face.name, face.input,
                            {.channels = first.channels,
                             .stride = first.stride,
                             .norm = first.norm,
                             .groups = first.groups,
                             .bias = first.bias,
                             .shortcut = face.spec.shortcut}),
              i + 2};
    }
    BranchOptions options{
        .branch = Sequence(list(face.inside, true)), .shortcut = face.shortcut, .stride = face.shortcut_stride};
    if (face.shortcut == Shortcut::kProjected) {
      const LayerFace& conv = face.projection.front();
      options.projection = make_conv(conv.name, face.input, unit_at(face.projection, 0).options);
    }
    return {make_branch(face.name, face.input, std::move(options)), i + 1};
  }

  // Names for profiles of layers without tensors.
  std::string number(const char* word) { return fmt::format("{}{}", word, ++numbers_); }

  std::uint32_t numbers_ = 0;
  std::uint32_t relays_ = 0;
  std::uint32_t dropouts_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Layer>> lower_layers(std::span<const LayerFace> faces) {
  return Lowering().list(faces, false);
}

}  // namespace muster
