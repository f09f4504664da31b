#include "model/layer.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "model/kernels/elementwise.h"

namespace muster {
namespace {

// Tags that tell layouts apart; formats come after them.
constexpr std::size_t kPlainTag = 0;
constexpr std::size_t kScratchTag = 1;
constexpr std::size_t kFormatTag = 2;

std::size_t trained_floats(const Layer& layer) {
  std::size_t sum = 0;
  for (const TensorSpec& tensor : layer.tensors()) sum += tensor.trained() ? tensor.size() : 0;
  return sum;
}

std::size_t statistics_floats(const Layer& layer) {
  std::size_t sum = 0;
  for (const TensorSpec& tensor : layer.tensors()) sum += tensor.trained() ? 0 : padded(tensor.size());
  return sum;
}

}  // namespace

float* begin_update(const Pass& pass, std::size_t offset, std::size_t count) {
  if (!pass.fused) {
    if (!pass.resumed) std::memset(pass.gradient + offset, 0, count * sizeof(float));
    return pass.gradient + offset;
  }
  float* weights = pass.weights + offset;
  if (pass.drift) {
    elementwise_kernels().scale_add(count, pass.keep, weights, pass.drift_rate, pass.drift + offset);
  } else if (pass.keep != 1.0f) {
    elementwise_kernels().scale(count, pass.keep, weights);
  }
  return weights;
}

std::size_t TensorSpec::size() const {
  std::size_t product = 1;
  for (const std::uint32_t extent : shape) product *= extent;
  return product;
}

Compiler::Compiler(std::uint32_t batch, std::uint32_t max_batch, float* arena, float* weights, float* statistics,
                   bool frozen)
    : batch_(batch), max_batch_(max_batch), arena_(arena), weights_(weights), statistics_(statistics), frozen_(frozen) {
  MUSTER_CHECK(batch >= 1 && batch <= max_batch, "batch {}, at most {}", batch, max_batch);
}

Activation Compiler::add(const Layer& layer, const Activation& in, const Request& want) {
  const std::size_t weights_end = weights_at_ + layer.packed_size();
  const std::size_t statistics_end = statistics_at_ + statistics_floats(layer);
  const std::uint32_t around = layer_;
  layer_ = static_cast<std::uint32_t>(lists_.layers.size());
  lists_.layers.push_back(layer.name());
  std::vector<Call> earlier = std::exchange(lists_.backward, {});
  Activation out = layer.compile(*this, in, want);
  layer_ = around;
  MUSTER_CHECK(out.format == want.format && out.halo >= want.halo, "{} delivers another format than asked",
               layer.name());
  MUSTER_CHECK(out.shape == layer.output(), "{} delivers another shape than promised", layer.name());
  lists_.backward.insert(lists_.backward.end(), earlier.begin(), earlier.end());
  weights_at_ = weights_end;
  statistics_at_ = statistics_end;
  return out;
}

void Compiler::forward(const Call& call) {
  forward_train(call);
  forward_evaluate(call);
}

Compiler::Lists Compiler::take_lists() {
  if (frozen_) {
    lists_.evaluate.clear();
    lists_.backward.clear();
    if (frozen_end_)
      lists_.train.erase(lists_.train.begin() + static_cast<std::ptrdiff_t>(*frozen_end_), lists_.train.end());
  }
  return std::move(lists_);
}

float* Compiler::take(std::size_t count, std::size_t tag) {
  const std::size_t at = used_;
  used_ += padded(count);
  layout_.push_back(tag);
  layout_.push_back(count);
  return arena_ + at;
}

Activation Compiler::activation(Format format, Shape shape, std::uint32_t halo, bool with_gradient) {
  Activation tensor{.format = format, .shape = shape, .halo = halo};
  const std::size_t height = shape.height + 2 * std::size_t{halo};
  const std::size_t width = shape.width + 2 * std::size_t{halo};
  std::size_t count = 0;
  switch (format) {
    case Format::kRows:
      MUSTER_CHECK(halo == 0, "rows have no halo");
      tensor.sample_stride = padded(shape.size());
      count = tensor.sample_stride * max_batch_;
      break;
    case Format::kChannels:
      tensor.pixel_stride = padded(shape.channels);
      tensor.row_stride = width * tensor.pixel_stride;
      tensor.sample_stride = height * tensor.row_stride;
      count = tensor.sample_stride * max_batch_;
      break;
    case Format::kLanes:
      tensor.pixel_stride = kPad;
      tensor.row_stride = width * kPad;
      tensor.channel_stride = height * tensor.row_stride;
      tensor.sample_stride = shape.channels * tensor.channel_stride;
      count = tensor.sample_stride * (padded(max_batch_) / kPad);
      break;
  }
  const std::size_t inside = halo * (tensor.row_stride + tensor.pixel_stride);
  const std::size_t tag = kFormatTag + static_cast<std::size_t>(format) + 3 * std::size_t{halo};
  tensor.data = take(count, tag) + inside;
  if (with_gradient) tensor.gradient = take(count, tag) + inside;
  return tensor;
}

Activation Compiler::with_own_gradient(const Activation& tensor) {
  Activation copy = tensor;
  if (tensor.gradient) copy.gradient = activation(tensor.format, tensor.shape, tensor.halo, false).data;
  return copy;
}

float* Compiler::floats(std::size_t count) {
  return take(count, kPlainTag);
}

float* Compiler::scratch(std::size_t count) {
  if (count > scratch_count_) {
    scratch_ = take(count, kScratchTag);
    scratch_count_ = count;
  }
  return scratch_;
}

Sequence::Sequence(std::vector<std::unique_ptr<Layer>> layers) {
  for (auto& layer : layers) push(std::move(layer));
}

void Sequence::push(std::unique_ptr<Layer> layer) {
  trained_.push_back(trained_floats(*layer));
  layers_.push_back(std::move(layer));
}

std::vector<TensorSpec> Sequence::tensors() const {
  std::vector<TensorSpec> all;
  for (const bool trained : {true, false}) {
    for (const auto& layer : layers_) {
      for (TensorSpec& tensor : layer->tensors()) {
        if (tensor.trained() == trained) all.push_back(std::move(tensor));
      }
    }
  }
  return all;
}

std::size_t Sequence::packed_size() const {
  std::size_t sum = 0;
  for (const auto& layer : layers_) sum += layer->packed_size();
  return sum;
}

std::size_t Sequence::trained_size() const {
  return std::accumulate(trained_.begin(), trained_.end(), std::size_t{0});
}

void Sequence::pack(const float* flat, float* packed) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i]->pack(flat, packed);
    flat += trained_[i];
    packed += layers_[i]->packed_size();
  }
}

void Sequence::unpack(const float* packed, float* flat) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i]->unpack(packed, flat);
    flat += trained_[i];
    packed += layers_[i]->packed_size();
  }
}

std::uint64_t Sequence::forward_macs() const {
  std::uint64_t sum = 0;
  for (const auto& layer : layers_) sum += layer->forward_macs();
  return sum;
}

Activation Sequence::compile(Compiler& compiler, Activation in, const Request& want) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const bool last = i + 1 == layers_.size();
    in = compiler.add(*layers_[i], in, last ? want : layers_[i + 1]->request(compiler.batch()));
  }
  return in;
}

}  // namespace muster
