#include "model/network.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "model/layer.h"

namespace muster {
namespace {

// Half-width of the uniform draw for a weight or bias; 0 means the tensor starts as zeros.
double initial_bound(const std::string& init, const TensorSpec& tensor) {
  if (init == "torch") return 1.0 / std::sqrt(static_cast<double>(tensor.torch_fan));
  if (tensor.role == TensorRole::kBias) return 0;
  if (init == "glorot") return std::sqrt(6.0 / (static_cast<double>(tensor.fan_in) + tensor.fan_out));
  return 0.07;  // MXNet's default
}

void fill(const std::string& init, const TensorSpec& tensor, std::span<float> values, Stream& stream) {
  switch (tensor.role) {
    case TensorRole::kScale:
    case TensorRole::kVariance:
      for (float& value : values) value = 1;
      return;
    case TensorRole::kShift:
    case TensorRole::kMean:
      for (float& value : values) value = 0;
      return;
    case TensorRole::kIdentity:
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = i / tensor.shape.back() == i % tensor.shape.back() ? 1.0f : 0.0f;
      }
      return;
    case TensorRole::kWeight:
    case TensorRole::kBias:
      break;
    case TensorRole::kTable:
      if (init != "torch") break;
      for (float& value : values) value = static_cast<float>(stream.normal());
      return;
  }
  const double bound = initial_bound(init, tensor);
  for (float& value : values) value = bound == 0 ? 0 : static_cast<float>(bound * (2 * stream.uniform() - 1));
}

}  // namespace

Network::Network(Shape input, std::uint32_t classes, std::vector<std::unique_ptr<Layer>> layers, std::string init,
                 std::vector<LayerFace> faces)
    : input_(input), classes_(classes), layers_(std::move(layers)), faces_(std::move(faces)), init_(std::move(init)) {
  MUSTER_CHECK(!layers_.empty(), "a network without layers");
  outputs_ = static_cast<std::uint32_t>(layers_.back()->output().size());
  MUSTER_CHECK(outputs_ == classes || (outputs_ == 1 && classes == 2), "{} outputs for {} classes", outputs_, classes);
  for (const bool trained : {true, false}) {
    for (const auto& layer : layers_) {
      for (const TensorSpec& tensor : layer->tensors()) {
        if (tensor.trained() != trained) continue;
        const bool normalises = !trained || tensor.role == TensorRole::kScale || tensor.role == TensorRole::kShift;
        tensors_.push_back({tensor.name, tensor.shape, {size_, tensor.size()}, trained, normalises});
        if (layer->fuses()) fusion_ = tensors_.back().range;
        size_ += tensor.size();
      }
    }
    if (trained) parameters_ = size_;
  }
}

Network::Network(Shape input, std::uint32_t classes, std::vector<ParameterTensor> tensors, std::vector<float> initial)
    : input_(input),
      classes_(classes),
      outputs_(classes),
      parameters_(initial.size()),
      size_(initial.size()),
      tensors_(std::move(tensors)),
      initial_(std::move(initial)) {
  MUSTER_CHECK(size_ > 0, "a model without values");
}

Network::~Network() = default;

ParameterRange Network::last_layer() const {
  if (external()) return {parameters_, 0};
  std::size_t size = 0;
  for (const TensorSpec& tensor : layers_.back()->tensors()) size += tensor.trained() ? tensor.size() : 0;
  return {parameters_ - size, size};
}

ParameterRange Network::classifier() const {
  std::size_t size = 0;
  for (std::size_t i = layers_.size(); i > 0; --i) {
    const std::vector<TensorSpec> tensors = layers_[i - 1]->tensors();
    if (!layers_[i - 1]->dense() && !tensors.empty()) break;
    for (const TensorSpec& tensor : tensors) size += tensor.size();
  }
  return {parameters_ - size, size};
}

ParameterRange Network::features() const {
  return {0, classifier().offset};
}

std::uint64_t Network::forward_macs() const {
  std::uint64_t sum = 0;
  for (const auto& layer : layers_) sum += layer->forward_macs();
  return sum;
}

std::uint64_t Network::fused_macs() const {
  if (!fuses()) return 0;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; !layers_[i]->fuses(); ++i) sum += layers_[i]->forward_macs();
  return sum;
}

std::string describe_network(const Network& network) {
  if (!network.external()) return describe_layers(network.input(), network.description());
  std::string text;
  for (const ParameterTensor& tensor : network.tensors()) {
    text += fmt::format("{}  {}\n", tensor.name, fmt::join(tensor.shape, " x "));
  }
  return text;
}

void Network::initialise(std::span<float> flat, Stream& stream) const {
  MUSTER_CHECK(flat.size() == size_, "{} floats for {} parameters", flat.size(), size_);
  if (external()) {
    std::ranges::copy(initial_, flat.begin());
    return;
  }
  // Layer by layer, trained tensors before statistics: the order of the flat vector, which the draws follow.
  std::size_t at = 0;
  for (const bool trained : {true, false}) {
    for (const auto& layer : layers_) {
      for (const TensorSpec& tensor : layer->tensors()) {
        if (tensor.trained() != trained) continue;
        fill(init_, tensor, flat.subspan(at, tensor.size()), stream);
        at += tensor.size();
      }
    }
  }
}

}  // namespace muster
