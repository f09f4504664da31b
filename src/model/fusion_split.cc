#include "model/fusion_split.h"

#include <algorithm>

namespace muster {
namespace {

bool has_parameters(const LayerSpec& spec) {
  switch (spec.kind) {
    case LayerKind::kDense:
    case LayerKind::kConv:
    case LayerKind::kBatchNorm:
    case LayerKind::kGroupNorm:
    case LayerKind::kLayerNorm:
    case LayerKind::kEmbedding:
    case LayerKind::kLstm:
    case LayerKind::kGru:
    case LayerKind::kFusion:
      return true;
    case LayerKind::kResidual:
      return std::ranges::any_of(spec.inside, has_parameters) || spec.shortcut == Shortcut::kProjected;
    case LayerKind::kMaxPool:
    case LayerKind::kMeanPool:
    case LayerKind::kGlobalMean:
    case LayerKind::kRelu:
    case LayerKind::kTanh:
    case LayerKind::kGelu:
    case LayerKind::kDropout:
      return false;
  }
  return false;
}

// The first layer of the classifier; specs.size() is the last layer, which is not in the list.
std::size_t classifier_begin(const std::vector<LayerSpec>& specs) {
  std::size_t begin = specs.size();
  for (std::size_t i = specs.size(); i > 0; --i) {
    const LayerSpec& spec = specs[i - 1];
    if (spec.kind == LayerKind::kDense) {
      begin = i - 1;
    } else if (has_parameters(spec)) {
      return begin;
    }
  }
  return specs.size();
}

}  // namespace

Status insert_fusion(std::vector<LayerSpec>& specs, Fusion fusion, const std::string& model) {
  if (std::ranges::none_of(specs, has_parameters)) {
    return usage_error(
        "local.objective: \"fusion\" joins features, and model.name = \"{}\" has none: nothing is trained before its "
        "last layer; want another network, such as \"cnn\" or \"mlp\"",
        model);
  }
  const std::size_t at = classifier_begin(specs);
  specs.insert(specs.begin() + static_cast<std::ptrdiff_t>(at),
               LayerSpec{.kind = LayerKind::kFusion,
                         .words = std::string("fusion ") + name_of(fusion),
                         .where = "local.fusion",
                         .name = "fusion",
                         .fusion = fusion});
  return {};
}

const char* name_of(Fusion fusion) {
  switch (fusion) {
    case Fusion::kConv:
      return "conv";
    case Fusion::kMulti:
      return "multi";
    case Fusion::kSingle:
      return "single";
  }
  return "";
}

}  // namespace muster
