// Layer: one building block of a network, and the framework that compiles layers into a list of kernel calls. A layer
// describes its parameters, moves them between the flat vector and the padded layout its kernels like, and for a batch
// size appends calls to the forward and the backward list. Layers are immutable; nothing virtual runs in a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/samples.h"

namespace muster {

// Rows, channels and outputs are padded to this many floats: one AVX-512 register, one cache line.
constexpr std::size_t kPad = 16;
constexpr std::size_t padded(std::size_t count) {
  return (count + kPad - 1) / kPad * kPad;
}

// How the activations of a batch lie in memory.
enum class Format {
  kRows,      // [batch][padded(features)], features in height-width-channel order
  kChannels,  // [batch][height + 2 halo][width + 2 halo][padded(channels)]
  kLanes,     // [ceil(batch / 16)][channels][height + 2 halo][width + 2 halo][16]: 16 samples side by side
};

// What a layer would like its input to be: the layer before must deliver it. A halo of zeros around each image lets
// kernels with padding do without edge logic.
struct Request {
  Format format = Format::kRows;
  std::uint32_t halo = 0;
};

// One tensor of activations and, of the same layout, the gradient of the loss (summed over the batch, not averaged)
// with respect to it. Strides are in floats; `data` points at the first value inside the halo.
//
// Invariants: halo and padded channels or features of `data` and `gradient` are zero (the arena starts as zeros;
// kernels write either inside only, or zeros; a value computed from zero weights is zero). In kLanes, lanes beyond the
// batch may hold any finite data but zero gradient.
//
// The backward calls of the one consumer overwrite all of `gradient`. It is null when nobody needs it (the network's
// input): then the consumer computes none.
struct Activation {
  float* data = nullptr;
  float* gradient = nullptr;
  Format format = Format::kRows;
  Shape shape;
  std::uint32_t halo = 0;
  std::size_t sample_stride = 0;   // kLanes: between blocks of 16 samples
  std::size_t row_stride = 0;      // kChannels, kLanes: between image rows
  std::size_t pixel_stride = 0;    // kChannels: padded channels (the network's input: its channels); kLanes: 16
  std::size_t channel_stride = 1;  // kLanes only
  // `data` came out of a ReLU whose derivative is left to the consumer, for which it is free: it must write zero
  // gradient wherever data is zero.
  bool relu = false;
};

// What one run of the lists is told. The weight gradient of a layer is scale * x^T dz, accumulated onto what
// begin_update() returns.
struct Pass {
  float scale = 1;     // fused: -learning rate / batch; else 1 / batch
  bool fused = false;  // step the weights inside the backward pass; else leave the gradient in `gradient`
  float keep = 1;      // fused: w = keep * w + drift_rate * drift precedes the gradient
  float drift_rate = 0;
  float* weights = nullptr;      // packed parameters
  float* gradient = nullptr;     // packed, same layout
  const float* drift = nullptr;  // packed, same layout; null: none
  bool move_statistics = true;   // forward in training: false leaves running statistics as they are
  // A batch may come in parts, never fused.
  bool resumed = false;       // not the first part: begin_update() keeps the gradient of those before
  bool same_weights = false;  // what this plan derived from the weights in its last pass still holds
  // Dropout, in training steps only: what its draws are keyed by.
  bool noise = false;
  std::uint64_t noise_seed = 0;
  std::uint32_t noise_step = 0;
  std::uint32_t first_sample = 0;  // where in the batch this part begins
};

// Prepares packed parameters [offset, offset + count) to receive scale * gradient and returns where it is to be added:
// the weights themselves, shrunk and drifted, when fused; else the gradient buffer, zeroed unless the batch is resumed.
// Call it after the last use of these weights in the layer's backward pass.
[[nodiscard]] float* begin_update(const Pass& pass, std::size_t offset, std::size_t count);

// One kernel call: a plain function over captured pointers and sizes.
class Call {
 public:
  static constexpr std::size_t kCapacity = 816;

  // `work` is a lambda or functor called as work(const Pass&).
  template <typename Work>
  explicit Call(const Work& work)
      : run_([](const void* captured, const Pass& pass) { (*static_cast<const Work*>(captured))(pass); }) {
    static_assert(std::is_trivially_copyable_v<Work> && sizeof(Work) <= kCapacity && alignof(Work) <= 16);
    ::new (static_cast<void*>(captured_)) Work(work);
  }
  void operator()(const Pass& pass) const { run_(captured_, pass); }

  // Which layer it belongs to, for profiles: an index into Compiler::Lists::layers.
  std::uint32_t layer = 0;

 private:
  void (*run_)(const void*, const Pass&);
  alignas(16) unsigned char captured_[kCapacity];
};

enum class TensorRole { kWeight, kBias, kTable, kScale, kShift, kIdentity, kMean, kVariance };

// A parameter tensor as a layer declares it. kMean and kVariance are running statistics: not trained, last in the flat
// vector, kept apart from the packed parameters.
struct TensorSpec {
  std::string name;
  std::vector<std::uint32_t> shape;
  TensorRole role = TensorRole::kWeight;
  // Initialisation: torch draws weights and biases from U(+-1/sqrt(torch_fan)), glorot weights from
  // U(+-sqrt(6 / (fan_in + fan_out))). Of a kTable, an embedding, torch draws from the standard normal distribution. A
  // kIdentity is one where its place in the last axis is that in all axes before it, else zero.
  std::uint32_t torch_fan = 1;
  std::uint32_t fan_in = 1;
  std::uint32_t fan_out = 1;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool trained() const { return role != TensorRole::kMean && role != TensorRole::kVariance; }
};

class Layer;

// Collects the calls of one plan: the network for one batch size. Memory comes from an arena laid out by max_batch, so
// that plans whose layers choose the same formats share it.
class Compiler {
 public:
  struct Lists {
    std::vector<Call> train;     // forward, for training
    std::vector<Call> evaluate;  // forward, for evaluation
    std::vector<Call> backward;
    std::vector<std::string> layers;  // names, in the order in which they were added; a composite before its children
  };

  // A first compilation over a dummy arena measures (arena_floats, layout); its calls are thrown away. `frozen`: the
  // plan only runs forward in training, before that of the trained parameters in the same arena, to which a fusion
  // leaves its features.
  Compiler(std::uint32_t batch, std::uint32_t max_batch, float* arena, float* weights, float* statistics,
           bool frozen = false);

  [[nodiscard]] std::uint32_t batch() const { return batch_; }
  [[nodiscard]] std::uint32_t max_batch() const { return max_batch_; }
  [[nodiscard]] bool frozen() const { return frozen_; }
  // What follows in the training list of a frozen plan need not run.
  void end_frozen() { frozen_end_ = lists_.train.size(); }

  // Compiles a layer or, from a composite's compile(), one of its children (in the order of its tensors).
  Activation add(const Layer& layer, const Activation& in, const Request& want);

  // Appends to the lists. Backward calls of a layer run in the order given, before those of the layers added earlier;
  // a composite puts what must precede its children's backward calls in with backward_first.
  void forward(const Call& call);
  void forward_train(const Call& call) { lists_.train.push_back(owned(call)); }
  void forward_evaluate(const Call& call) { lists_.evaluate.push_back(owned(call)); }
  void backward(const Call& call) { lists_.backward.push_back(owned(call)); }
  void backward_first(const Call& call) { lists_.backward.insert(lists_.backward.begin(), owned(call)); }

  // The packed parameters of the layer being compiled, their offset for begin_update, and its running statistics
  // (tensor after tensor, each padded to kPad floats).
  [[nodiscard]] float* weights() const { return weights_ + weights_at_; }
  [[nodiscard]] std::size_t weights_offset() const { return weights_at_; }
  [[nodiscard]] float* statistics() const { return statistics_ + statistics_at_; }

  // Memory for max_batch samples, 64-byte aligned, zero at first. `with_gradient` false leaves gradient null.
  Activation activation(Format format, Shape shape, std::uint32_t halo = 0, bool with_gradient = true);
  // A gradient buffer of its own for the same tensor, e.g. for the second branch of a sum.
  Activation with_own_gradient(const Activation& tensor);
  // `count` floats of anything else, zero at first; count must follow from max_batch, not from batch.
  float* floats(std::size_t count);
  // A buffer only used within calls that run one after the other: every layer may get the same one.
  float* scratch(std::size_t count);

  [[nodiscard]] std::size_t arena_floats() const { return used_; }
  // Equal for plans that can share an arena.
  [[nodiscard]] const std::vector<std::size_t>& layout() const { return layout_; }
  [[nodiscard]] Lists take_lists();

 private:
  float* take(std::size_t count, std::size_t tag);
  [[nodiscard]] Call owned(Call call) const {
    call.layer = layer_;
    return call;
  }

  std::uint32_t batch_;
  std::uint32_t max_batch_;
  float* arena_;
  float* weights_;
  float* statistics_;
  bool frozen_;
  std::optional<std::size_t> frozen_end_;
  std::size_t used_ = 0;
  float* scratch_ = nullptr;
  std::size_t scratch_count_ = 0;
  std::size_t weights_at_ = 0;
  std::size_t statistics_at_ = 0;
  std::uint32_t layer_ = 0;  // the one being compiled
  std::vector<std::size_t> layout_;
  Lists lists_;
};

class Layer {
 public:
  explicit Layer(std::string name) : name_(std::move(name)) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] virtual Shape output() const = 0;
  // Trained tensors in flat order, then running statistics. Names begin with name().
  [[nodiscard]] virtual std::vector<TensorSpec> tensors() const { return {}; }
  // Floats of the packed trained parameters: a multiple of kPad.
  [[nodiscard]] virtual std::size_t packed_size() const { return 0; }
  // Between the layer's trained tensors, contiguous in flat order, and its packed parameters. pack also writes the
  // padding (zero).
  virtual void pack(const float* /*flat*/, float* /*packed*/) const {}
  virtual void unpack(const float* /*packed*/, float* /*flat*/) const {}
  // Multiply-adds of one sample's forward pass in products.
  [[nodiscard]] virtual std::uint64_t forward_macs() const { return 0; }
  // Belongs to the classifier: what FedSeq and others call the fully connected part.
  [[nodiscard]] virtual bool dense() const { return false; }
  // Joins its input with that of a frozen copy of the layers before it.
  [[nodiscard]] virtual bool fuses() const { return false; }

  [[nodiscard]] virtual Request request(std::uint32_t batch) const = 0;
  // `in` is as request() asked, except in the first layer: the network's input comes as kChannels without halo or
  // padding, pixel_stride = channels, sample_stride = shape.size(). The result must be as `want` asks.
  virtual Activation compile(Compiler& compiler, const Activation& in, const Request& want) const = 0;

 private:
  std::string name_;
};

// Layers in a row, as part of a composite: sums and dispatches what Layer asks.
class Sequence {
 public:
  Sequence() = default;
  explicit Sequence(std::vector<std::unique_ptr<Layer>> layers);

  void push(std::unique_ptr<Layer> layer);
  [[nodiscard]] bool empty() const { return layers_.empty(); }
  [[nodiscard]] std::span<const std::unique_ptr<Layer>> layers() const { return layers_; }
  // Trained tensors of all layers, then their statistics.
  [[nodiscard]] std::vector<TensorSpec> tensors() const;
  [[nodiscard]] std::size_t packed_size() const;
  [[nodiscard]] std::size_t trained_size() const;
  void pack(const float* flat, float* packed) const;
  void unpack(const float* packed, float* flat) const;
  [[nodiscard]] std::uint64_t forward_macs() const;
  // Precondition: not empty.
  [[nodiscard]] Request request(std::uint32_t batch) const { return layers_.front()->request(batch); }
  Activation compile(Compiler& compiler, Activation in, const Request& want) const;

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<std::size_t> trained_;  // floats per layer: pack and unpack run per task and must not ask for names
};

}  // namespace muster
