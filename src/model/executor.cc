#include "model/executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/stopwatch.h"
#include "model/fixed_rows.h"
#include "model/floats.h"
#include "model/kernels/elementwise.h"
#include "model/kernels/loss.h"
#include "model/layer.h"
#include "model/layers/dense.h"
#include "model/parameter_parts.h"

namespace muster {
namespace {

// A layer's place in the flat vector and in the packed parameters.
struct Place {
  const Layer* layer;
  std::size_t flat;
  std::size_t packed;
};

// A running statistic's place in the flat vector and in the padded statistics.
struct Statistic {
  std::size_t flat;
  std::size_t size;
  std::size_t at;
};

// Parts of a buffer that are put back after every step.
struct HeldValues {
  ParameterRanges ranges;
  std::vector<float> values;

  // `kinds`: of each float of the buffer: 0 padding, 1 held, else free. Padding never changes and may go along.
  void take(std::span<const float> kinds, const Floats& buffer) {
    ranges.clear();
    bool open = false;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] == 1 && !open) ranges.push_back({i, 0});
      open = kinds[i] == 1 || (open && kinds[i] == 0);
      if (open) ++ranges.back().size;
    }
    values = gather_ranges({buffer.data(), buffer.size()}, ranges);
  }
  void put_back(Floats& buffer) const { scatter_ranges(values, ranges, {buffer.data(), buffer.size()}); }
};

// The network compiled for one batch size.
struct Plan {
  Compiler::Lists lists;
  Activation first;  // what the first layer delivers
  Activation logits;
  std::size_t sample_floats = 0;  // of activations
};

// What runs forward beside the parameters that are trained: a copy of them, and plans over it. The plans share the
// regions of the trained ones, so the outputs are moved away before those run; features for a fusion have a place there
// that nothing else uses.
struct Frozen {
  bool active = false;
  OutputHook hook;
  Floats weights;
  Floats statistics;
  Floats outputs;
  std::vector<std::optional<Plan>> plans;  // by batch size
};

// A batch whose activations take more than kBatchFloats is trained in parts of about kPartFloats, which stay in the
// cache between the forward and the backward pass.
constexpr std::size_t kBatchFloats = std::size_t{6} << 20;
constexpr std::size_t kPartFloats = std::size_t{2} << 20;

// Memory for activations, shared by the plans that lay it out alike.
struct Region {
  std::vector<std::size_t> layout;
  Floats floats;
};

void run(std::span<const Call> calls, const Pass& pass) {
  for (const Call& call : calls) call(pass);
}

void run(std::span<const Call> calls, const Pass& pass, ExecutorTimes& times,
         double ExecutorTimes::LayerTime::*seconds) {
  for (const Call& call : calls) {
    const Stopwatch watch(&(times.layers[call.layer].*seconds));
    call(pass);
  }
}

Plan compile(const Network& network, Compiler& compiler, float* input) {
  const Shape shape = network.input();
  Activation activation{.data = input,
                        .format = Format::kChannels,
                        .shape = shape,
                        .sample_stride = shape.size(),
                        .row_stride = std::size_t{shape.width} * shape.channels,
                        .pixel_stride = shape.channels};
  Plan plan;
  const auto layers = network.layers();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool last = i + 1 == layers.size();
    const Request want = last ? Request{Format::kRows, 0} : layers[i + 1]->request(compiler.batch());
    activation = compiler.add(*layers[i], activation, want);
    if (i == 0) plan.first = activation;
  }
  plan.logits = activation;
  plan.lists = compiler.take_lists();
  return plan;
}

}  // namespace

struct Executor::Impl {
  std::shared_ptr<const Network> network;
  std::uint32_t max_batch;
  std::vector<Place> places;
  std::vector<Statistic> statistic_places;
  Floats weights;
  Floats statistics;
  Floats input;
  std::vector<std::int32_t> labels;
  std::vector<Region> regions;
  std::vector<std::optional<Plan>> plans;  // by batch size

  // Packed like the weights; allocated when first needed.
  Floats gradient;
  Floats drift;
  Floats moment1;
  Floats moment2;
  bool has_drift = false;
  double adam_steps = 0;
  std::uint64_t noise_seed = 0;
  std::uint32_t noise_steps = 0;
  FixedRows fixed_rows;
  Frozen frozen;
  HeldValues held_weights;
  HeldValues held_statistics;
  ExecutorTimes* times = nullptr;

  Impl(std::shared_ptr<const Network> shared, std::uint32_t batch) : network(std::move(shared)), max_batch(batch) {
    MUSTER_CHECK(network && max_batch >= 1, "an executor needs a network and a batch size");
    std::size_t flat = 0;
    std::size_t packed = 0;
    std::size_t statistic = 0;
    std::size_t flat_statistic = network->parameters();
    for (const auto& layer : network->layers()) {
      places.push_back({layer.get(), flat, packed});
      packed += layer->packed_size();
      for (const TensorSpec& tensor : layer->tensors()) {
        if (tensor.trained()) {
          flat += tensor.size();
        } else {
          statistic_places.push_back({flat_statistic, tensor.size(), statistic});
          flat_statistic += tensor.size();
          statistic += padded(tensor.size());
        }
      }
    }
    weights = Floats(packed);
    statistics = Floats(statistic);
    input = Floats(network->input().size() * max_batch);
    labels.resize(max_batch);
    plans.resize(max_batch + 1);
  }

  Plan& plan(std::uint32_t batch) {
    MUSTER_CHECK(batch >= 1 && batch <= max_batch, "batch {}, at most {}", batch, max_batch);
    if (!plans[batch]) plans[batch] = make_plan(batch, weights.data(), statistics.data(), false);
    return *plans[batch];
  }

  Plan& frozen_plan(std::uint32_t batch) {
    std::optional<Plan>& made = frozen.plans[batch];
    if (!made) made = make_plan(batch, frozen.weights.data(), frozen.statistics.data(), true);
    return *made;
  }

  Plan make_plan(std::uint32_t batch, float* packed, float* moments, bool is_frozen) {
    Compiler measure(batch, max_batch, input.data(), packed, moments, is_frozen);
    (void)compile(*network, measure, input.data());
    auto region = std::find_if(regions.begin(), regions.end(),
                               [&](const Region& candidate) { return candidate.layout == measure.layout(); });
    if (region == regions.end()) {
      region = regions.insert(regions.end(), Region{measure.layout(), Floats(measure.arena_floats())});
    }
    Compiler compiler(batch, max_batch, region->floats.data(), packed, moments, is_frozen);
    Plan made = compile(*network, compiler, input.data());
    made.sample_floats = measure.arena_floats() / max_batch;
    return made;
  }

  void pack(const float* flat, Floats& packed) const {
    if (packed.empty()) packed = Floats(weights.size());
    for (const Place& place : places) place.layer->pack(flat + place.flat, packed.data() + place.packed);
  }

  void unpack(const Floats& packed, float* flat) const {
    for (const Place& place : places) place.layer->unpack(packed.data() + place.packed, flat + place.flat);
  }

  BatchResult loss(const Plan& made, std::uint32_t batch, bool with_gradient) const {
    for (std::uint32_t i = 0; i < batch; ++i) {
      MUSTER_CHECK(labels[i] >= 0 && static_cast<std::uint32_t>(labels[i]) < network->classes(), "label {} of {}",
                   labels[i], network->classes());
    }
    const LossKernels& kernels = loss_kernels();
    const std::uint32_t outputs = network->outputs();
    const Activation& logits = made.logits;
    const LossResult result = (network->classes() == outputs ? kernels.softmax : kernels.sigmoid)(
        batch, outputs, logits.sample_stride, logits.data, labels.data(), with_gradient ? logits.gradient : nullptr);
    return {result.sum, result.correct};
  }

  void name_timed_layers(const Plan& made) const {
    if (!times->layers.empty()) return;
    for (const std::string& name : made.lists.layers) times->layers.push_back({.name = name});
  }

  // In how many parts to train a batch.
  std::uint32_t parts_of(std::uint32_t batch) {
    // Batch statistics tie samples together, and so may a hook.
    if (network->size() != network->parameters() || (frozen.active && frozen.hook.run)) return 1;
    const std::size_t floats = plan(batch).sample_floats * batch;
    if (floats <= kBatchFloats) return 1;
    return static_cast<std::uint32_t>(std::min<std::size_t>(batch, (floats + kPartFloats - 1) / kPartFloats));
  }

  BatchResult forward_backward(std::uint32_t batch, const Pass& pass) {
    MUSTER_CHECK(!fixed_rows.active(), "a batch amid fixed rows");
    MUSTER_CHECK(frozen.active || !network->fuses(), "a fusion without a frozen copy");
    const std::uint32_t parts = parts_of(batch);
    if (parts == 1) return forward_backward_whole(batch, pass);
    Pass part = pass;
    if (pass.fused) {
      ensure(gradient);
      part.fused = false;
      part.gradient = gradient.data();
    }
    const std::size_t row = network->input().size();
    BatchResult total;
    std::uint32_t size_before = 0;
    for (std::uint32_t i = 0, at = 0; i < parts; ++i) {
      const std::uint32_t size = batch / parts + (i < batch % parts ? 1 : 0);
      part.resumed = i > 0;
      // The frozen plans leave their own derived weights in the region.
      part.same_weights = size == size_before && !frozen.active;
      part.first_sample = at;
      // A plan reads the first rows.
      const auto exchange = [&] {
        if (at == 0) return;
        std::swap_ranges(input.data(), input.data() + size * row, input.data() + at * row);
        std::swap_ranges(labels.data(), labels.data() + size, labels.data() + at);
      };
      exchange();
      const BatchResult result = forward_backward_whole(size, part);
      exchange();
      total.loss_sum += result.loss_sum;
      total.correct += result.correct;
      size_before = size;
      at += size;
    }
    if (pass.fused) {
      float* target = begin_update(pass, 0, weights.size());
      elementwise_kernels().scale_add(weights.size(), 1, target, 1, gradient.data());
    }
    return total;
  }

  BatchResult forward_backward_whole(std::uint32_t batch, const Pass& pass) {
    const Plan& made = plan(batch);
    if (times) name_timed_layers(made);
    if (frozen.active) run_frozen(batch, pass);
    run_timed(made.lists.train, pass, &ExecutorTimes::LayerTime::forward_s);
    BatchResult result;
    {
      const Stopwatch watch(timed(&ExecutorTimes::loss_s));
      result = loss(made, batch, true);
      if (frozen.active && frozen.hook.run) frozen.hook.run(frozen.hook.self, output_pair(made, batch));
    }
    run_timed(made.lists.backward, pass, &ExecutorTimes::LayerTime::backward_s);
    return result;
  }

  void run_frozen(std::uint32_t batch, const Pass& pass) {
    const Plan& made = frozen_plan(batch);
    Pass forward = pass;
    forward.move_statistics = false;
    run_timed(made.lists.train, forward, &ExecutorTimes::LayerTime::forward_s);
    if (!frozen.hook.run) return;
    std::memcpy(frozen.outputs.data(), made.logits.data, batch * made.logits.sample_stride * sizeof(float));
  }

  [[nodiscard]] OutputPair output_pair(const Plan& made, std::uint32_t batch) const {
    return {.batch = batch,
            .outputs = network->outputs(),
            .stride = made.logits.sample_stride,
            .frozen = frozen.outputs.data(),
            .trained = made.logits.data,
            .gradient = made.logits.gradient};
  }

  [[nodiscard]] const DenseShape* first_matrix() const { return dense_matrix(*network->layers().front()); }
  [[nodiscard]] const float* drift_or_null() const { return has_drift ? drift.data() : nullptr; }

  [[nodiscard]] Pass sgd_pass(std::uint32_t batch, const StepRule& rule) {
    Pass pass;
    add_noise(pass);
    pass.weights = weights.data();
    pass.fused = true;
    pass.scale = -rule.learning_rate / static_cast<float>(batch);
    pass.keep = 1 - rule.learning_rate * rule.pull;
    pass.drift_rate = rule.learning_rate;
    pass.drift = drift_or_null();
    return pass;
  }

  // Each training step draws anew.
  void add_noise(Pass& pass) {
    pass.noise = true;
    pass.noise_seed = noise_seed;
    pass.noise_step = noise_steps++;
  }

  // A step in which fixed_rows takes the place of the first layer: of its one call at the front of the forward list
  // and its one call at the end of the backward list.
  BatchResult fixed_rows_step(std::span<const std::uint32_t> rows, const Pass& pass) {
    const auto batch = static_cast<std::uint32_t>(rows.size());
    const Plan& made = plan(batch);
    const DenseShape& matrix = *first_matrix();
    const std::span<const Call> forward = std::span(made.lists.train).subspan(1);
    const std::span<const Call> backward = std::span(made.lists.backward).first(made.lists.backward.size() - 1);
    if (times) name_timed_layers(made);
    ExecutorTimes::LayerTime* first = times ? times->layers.data() : nullptr;
    {
      const Stopwatch watch(first ? &first->forward_s : nullptr);
      fixed_rows.forward(rows, weights.data() + matrix.packed(), made.first);
    }
    run_timed(forward, pass, &ExecutorTimes::LayerTime::forward_s);
    BatchResult result;
    {
      const Stopwatch watch(timed(&ExecutorTimes::loss_s));
      result = loss(made, batch, true);
    }
    run_timed(backward, pass, &ExecutorTimes::LayerTime::backward_s);
    const Stopwatch watch(first ? &first->backward_s : nullptr);
    fixed_rows.backward(rows, made.first, pass);
    dense_kernels().update_bias(batch, matrix.out_padded, made.first.gradient, made.first.sample_stride, pass.scale,
                                begin_update(pass, matrix.packed(), matrix.out_padded));
    return result;
  }

  void run_timed(std::span<const Call> calls, const Pass& pass, double ExecutorTimes::LayerTime::*seconds) const {
    if (times) {
      run(calls, pass, *times, seconds);
    } else {
      run(calls, pass);
    }
  }

  double* timed(double ExecutorTimes::*seconds) const { return times ? &(times->*seconds) : nullptr; }

  void put_back_held() {
    held_weights.put_back(weights);
    held_statistics.put_back(statistics);
  }

  void ensure(Floats& buffer) const {
    if (buffer.empty()) buffer = Floats(weights.size());
  }

  // Momentum and Adam: all parameters in one pass over the gradient that the backward pass left.
  void step(const StepRule& rule) {
    const ElementwiseKernels& kernels = elementwise_kernels();
    const float* constant = drift_or_null();
    if (rule.optimizer == Optimizer::kMomentum) {
      kernels.momentum(weights.size(), rule.learning_rate, rule.momentum, rule.pull, gradient.data(), constant,
                       moment1.data(), weights.data());
      return;
    }
    adam_steps += 1;
    const double correction1 = 1 - std::pow(static_cast<double>(rule.beta1), adam_steps);
    const double correction2 = 1 - std::pow(static_cast<double>(rule.beta2), adam_steps);
    kernels.adam(weights.size(), static_cast<float>(static_cast<double>(rule.learning_rate) / correction1),
                 static_cast<float>(1 / correction2), rule.beta1, rule.beta2, rule.epsilon, rule.pull, gradient.data(),
                 constant, moment1.data(), moment2.data(), weights.data());
  }
};

Executor::Executor(std::shared_ptr<const Network> network, std::uint32_t max_batch)
    : impl_(std::make_unique<Impl>(std::move(network), max_batch)) {}
Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

const Network& Executor::network() const {
  return *impl_->network;
}
std::uint32_t Executor::max_batch() const {
  return impl_->max_batch;
}

void Executor::load(std::span<const float> flat) {
  MUSTER_CHECK(flat.size() == network().size(), "{} floats for {}", flat.size(), network().size());
  MUSTER_CHECK(!impl_->fixed_rows.active(), "loading amid fixed rows");
  const Stopwatch watch(impl_->timed(&ExecutorTimes::load_s));
  impl_->held_weights = {};
  impl_->held_statistics = {};
  impl_->pack(flat.data(), impl_->weights);
  for (const Statistic& place : impl_->statistic_places) {
    std::memcpy(impl_->statistics.data() + place.at, flat.data() + place.flat, place.size * sizeof(float));
  }
}

void Executor::store(std::span<float> flat) const {
  MUSTER_CHECK(flat.size() == network().size(), "{} floats for {}", flat.size(), network().size());
  MUSTER_CHECK(!impl_->fixed_rows.active(), "storing amid fixed rows");
  const Stopwatch watch(impl_->timed(&ExecutorTimes::store_s));
  impl_->unpack(impl_->weights, flat.data());
  for (const Statistic& place : impl_->statistic_places) {
    std::memcpy(flat.data() + place.flat, impl_->statistics.data() + place.at, place.size * sizeof(float));
  }
}

bool Executor::has_nonfinite() const {
  const ElementwiseKernels& kernels = elementwise_kernels();
  return !kernels.all_finite(impl_->weights.size(), impl_->weights.data()) ||
         !kernels.all_finite(impl_->statistics.size(), impl_->statistics.data());
}

void Executor::set_drift(std::span<const float> flat) {
  MUSTER_CHECK(flat.size() == network().size() || flat.size() == network().parameters(), "{} floats for {}",
               flat.size(), network().size());
  impl_->pack(flat.data(), impl_->drift);
  impl_->has_drift = true;
}

void Executor::clear_drift() {
  impl_->has_drift = false;
}

void Executor::hold(std::span<const ParameterRange> ranges) {
  MUSTER_CHECK(!impl_->fixed_rows.active(), "holding amid fixed rows");
  std::vector<float> kinds(network().size(), 2.0f);
  for (const ParameterRange& range : ranges) {
    MUSTER_CHECK(range.offset + range.size <= kinds.size(), "{} + {} of {}", range.offset, range.size, kinds.size());
    std::fill_n(kinds.begin() + static_cast<std::ptrdiff_t>(range.offset), range.size, 1.0f);
  }
  Floats packed;
  impl_->pack(kinds.data(), packed);
  impl_->held_weights.take({packed.data(), packed.size()}, impl_->weights);
  std::vector<float> of_statistics(impl_->statistics.size());
  for (const Statistic& place : impl_->statistic_places) {
    std::copy_n(kinds.begin() + static_cast<std::ptrdiff_t>(place.flat), place.size,
                of_statistics.begin() + static_cast<std::ptrdiff_t>(place.at));
  }
  impl_->held_statistics.take(of_statistics, impl_->statistics);
}

void Executor::reset_optimizer() {
  if (!impl_->moment1.empty()) impl_->moment1.clear();
  if (!impl_->moment2.empty()) impl_->moment2.clear();
  impl_->adam_steps = 0;
}

std::size_t Executor::optimizer_state_size(Optimizer optimizer) const {
  switch (optimizer) {
    case Optimizer::kSgd:
      return 0;
    case Optimizer::kMomentum:
      return network().size();
    case Optimizer::kAdam:
      return 2 * network().size() + 1;
  }
  return 0;
}

void Executor::load_optimizer(Optimizer optimizer, std::span<const float> state) {
  MUSTER_CHECK(state.size() == optimizer_state_size(optimizer), "{} floats for {}", state.size(),
               optimizer_state_size(optimizer));
  if (optimizer == Optimizer::kSgd) return;
  impl_->pack(state.data(), impl_->moment1);
  if (optimizer == Optimizer::kAdam) {
    impl_->pack(state.data() + network().size(), impl_->moment2);
    impl_->adam_steps = static_cast<double>(state.back());
  }
}

void Executor::store_optimizer(Optimizer optimizer, std::span<float> state) const {
  MUSTER_CHECK(state.size() == optimizer_state_size(optimizer), "{} floats for {}", state.size(),
               optimizer_state_size(optimizer));
  // Before the first step, and for running statistics always, the state is zero.
  std::fill(state.begin(), state.end(), 0.0f);
  if (optimizer == Optimizer::kSgd) return;
  if (!impl_->moment1.empty()) impl_->unpack(impl_->moment1, state.data());
  if (optimizer == Optimizer::kAdam) {
    if (!impl_->moment2.empty()) impl_->unpack(impl_->moment2, state.data() + network().size());
    state.back() = static_cast<float>(impl_->adam_steps);
  }
}

void Executor::freeze(const OutputHook& hook) {
  MUSTER_CHECK(!hook.run || !network().fuses(), "a fusion's frozen copy has no outputs");
  Frozen& frozen = impl_->frozen;
  if (frozen.plans.empty()) {
    frozen.weights = Floats(impl_->weights.size());
    frozen.statistics = Floats(impl_->statistics.size());
    frozen.plans.resize(max_batch() + 1);
  }
  if (hook.run && frozen.outputs.empty()) frozen.outputs = Floats(max_batch() * padded(network().outputs()));
  std::memcpy(frozen.weights.data(), impl_->weights.data(), impl_->weights.size() * sizeof(float));
  std::memcpy(frozen.statistics.data(), impl_->statistics.data(), impl_->statistics.size() * sizeof(float));
  frozen.hook = hook;
  frozen.active = true;
}

void Executor::thaw() {
  impl_->frozen.active = false;
}

void Executor::seed_dropout(const StreamKey& key) {
  impl_->noise_seed = Stream(key).next64();
  impl_->noise_steps = 0;
}

float* Executor::input(std::uint32_t batch) {
  MUSTER_CHECK(batch >= 1 && batch <= max_batch(), "batch {}, at most {}", batch, max_batch());
  return impl_->input.data();
}

std::int32_t* Executor::labels(std::uint32_t batch) {
  MUSTER_CHECK(batch >= 1 && batch <= max_batch(), "batch {}, at most {}", batch, max_batch());
  return impl_->labels.data();
}

BatchResult Executor::train(std::uint32_t batch, const StepRule& rule) {
  if (rule.optimizer == Optimizer::kSgd) {
    const BatchResult result = impl_->forward_backward(batch, impl_->sgd_pass(batch, rule));
    impl_->put_back_held();
    return result;
  }
  Pass pass;
  impl_->add_noise(pass);
  pass.weights = impl_->weights.data();
  impl_->ensure(impl_->gradient);
  impl_->ensure(impl_->moment1);
  if (rule.optimizer == Optimizer::kAdam) impl_->ensure(impl_->moment2);
  pass.scale = 1 / static_cast<float>(batch);
  pass.gradient = impl_->gradient.data();
  const BatchResult result = impl_->forward_backward(batch, pass);
  const Stopwatch watch(impl_->timed(&ExecutorTimes::step_s));
  impl_->step(rule);
  impl_->put_back_held();
  return result;
}

bool Executor::fixed_rows_pay(std::uint32_t rows, std::uint64_t samples) const {
  const DenseShape* matrix = impl_->first_matrix();
  return matrix && !impl_->frozen.active && FixedRows::pays(*matrix, rows, samples);
}

float* Executor::prepare_fixed_rows(std::uint32_t rows) {
  const DenseShape* matrix = impl_->first_matrix();
  MUSTER_CHECK(matrix, "the first layer is not dense");
  return impl_->fixed_rows.prepare(*matrix, rows, max_batch());
}

std::size_t Executor::fixed_row_stride() const {
  return impl_->fixed_rows.stride();
}

void Executor::begin_fixed_rows() {
  const Stopwatch watch(impl_->timed(&ExecutorTimes::load_s));
  impl_->fixed_rows.begin(impl_->weights.data(), impl_->drift_or_null());
}

BatchResult Executor::train_fixed_rows(std::span<const std::uint32_t> rows, const StepRule& rule) {
  MUSTER_CHECK(impl_->fixed_rows.active() && rule.optimizer == Optimizer::kSgd, "fixed rows are for plain SGD");
  MUSTER_CHECK(impl_->held_weights.ranges.empty(), "held parameters amid fixed rows");
  return impl_->fixed_rows_step(rows, impl_->sgd_pass(static_cast<std::uint32_t>(rows.size()), rule));
}

void Executor::end_fixed_rows() {
  const Stopwatch watch(impl_->timed(&ExecutorTimes::store_s));
  impl_->fixed_rows.end(impl_->weights.data(), impl_->drift_or_null());
}

BatchResult Executor::evaluate(std::uint32_t batch) {
  MUSTER_CHECK(!impl_->fixed_rows.active(), "evaluation amid fixed rows");
  const Plan& made = impl_->plan(batch);
  run(made.lists.evaluate, Pass{});
  return impl_->loss(made, batch, false);
}

BatchResult Executor::gradient(std::uint32_t batch, std::span<float> flat_gradient) {
  MUSTER_CHECK(flat_gradient.size() == network().parameters(), "{} floats for {}", flat_gradient.size(),
               network().parameters());
  impl_->ensure(impl_->gradient);
  Pass pass;
  pass.weights = impl_->weights.data();
  pass.gradient = impl_->gradient.data();
  pass.scale = 1 / static_cast<float>(batch);
  pass.move_statistics = false;
  const BatchResult result = impl_->forward_backward(batch, pass);
  impl_->unpack(impl_->gradient, flat_gradient.data());
  return result;
}

void Executor::logits(std::uint32_t batch, std::span<float> out) const {
  const std::size_t outputs = network().outputs();
  MUSTER_CHECK(out.size() == batch * outputs, "{} floats for {} logits", out.size(), batch * outputs);
  const Activation& logits = impl_->plan(batch).logits;
  for (std::uint32_t b = 0; b < batch; ++b) {
    std::memcpy(out.data() + b * outputs, logits.data + b * logits.sample_stride, outputs * sizeof(float));
  }
}

void Executor::set_times(ExecutorTimes* times) {
  impl_->times = times;
}

std::size_t Executor::arena_bytes() const {
  std::size_t floats = impl_->input.size();
  for (const Floats* buffer :
       {&impl_->weights, &impl_->statistics, &impl_->gradient, &impl_->drift, &impl_->moment1, &impl_->moment2,
        &impl_->frozen.weights, &impl_->frozen.statistics, &impl_->frozen.outputs}) {
    floats += buffer->size();
  }
  for (const Region& region : impl_->regions) floats += region.floats.size();
  return floats * sizeof(float);
}

}  // namespace muster
