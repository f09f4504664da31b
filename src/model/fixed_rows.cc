#include "model/fixed_rows.h"

#include "base/check.h"
#include "model/kernels/plane_kernels.h"

namespace muster {
namespace {

constexpr std::size_t kMostFloats = std::size_t{16} << 20;

// A matrix with one line of `width` outputs per row.
DenseShape lines_of(std::uint32_t rows, std::size_t width) {
  const auto outputs = static_cast<std::uint32_t>(width);
  return {.in = rows, .out = outputs, .out_padded = outputs, .block = rows};
}

void grow(Floats& buffer, std::size_t count) {
  if (buffer.size() < count) buffer = Floats(count);
}

// As begin_update does to weights.
void shrink_and_drift(Floats& values, std::size_t count, float keep, float rate, const float* drift) {
  (void)begin_update({.fused = true, .keep = keep, .drift_rate = rate, .weights = values.data(), .drift = drift}, 0,
                     count);
}

}  // namespace

bool FixedRows::pays(const DenseShape& shape, std::uint32_t rows, std::uint64_t samples) {
  const double n = rows;
  const double in = shape.in;
  const double out = shape.out_padded;
  if (n * (2 * in + n + 4 * out) > static_cast<double>(kMostFloats)) return false;
  const double trained = static_cast<double>(samples);
  const double ordinary = 2 * trained * in * out;
  const double fixed = 2 * n * in * out + n * n * in + trained * n * out;
  return 2 * fixed < ordinary;
}

float* FixedRows::prepare(const DenseShape& shape, std::uint32_t rows, std::uint32_t max_batch) {
  MUSTER_CHECK(!active_ && rows > 0, "{} rows while others are in use", rows);
  shape_ = shape;
  rows_ = rows;
  grow(x_, rows * stride());
  grow(picked_, max_batch * padded(rows));
  return x_.data();
}

void FixedRows::begin(const float* weights, const float* drift) {
  const DenseKernels& kernels = dense_kernels();
  const std::size_t wide = shape_.out_padded;
  const DenseShape inputs = lines_of(rows_, stride());
  const DenseShape outputs = lines_of(rows_, wide);
  grow(panels_, inputs.packed());
  grow(scratch_, 2 * kPad * stride());
  grow(inner_, rows_ * padded(rows_));
  grow(z_, outputs.packed());
  grow(y_, outputs.packed());
  grow(lines_, outputs.packed());

  kernels.pack(inputs, x_.data(), panels_.data());
  kernels.backward(inputs, 0, 1, rows_, x_.data(), stride(), panels_.data(), nullptr, inner_.data(), padded(rows_),
                   scratch_.data());

  y_.clear();
  const auto product = [&](const float* matrix, Floats& to) {
    // The line of zeros that the sums begin with: y is all zero here.
    kernels.forward(shape_, rows_, x_.data(), stride(), matrix, y_.data(), lines_.data(), wide, false);
    kernels.pack(outputs, lines_.data(), to.data());
  };
  product(weights, z_);
  if (drift) {
    grow(drift_z_, outputs.packed());
    product(drift, drift_z_);
  }
  weights_share_ = 1;
  drift_share_ = 0;
  active_ = true;
}

void FixedRows::forward(std::span<const std::uint32_t> rows, const float* bias, const Activation& out) const {
  dense_kernels().pick(lines_of(rows_, shape_.out_padded), rows.size(), rows.data(), z_.data(), bias, out.data,
                       out.sample_stride, out.relu);
}

void FixedRows::backward(std::span<const std::uint32_t> rows, const Activation& out, const Pass& pass) {
  MUSTER_CHECK(pass.fused, "fixed rows are for plain SGD");
  const DenseShape outputs = lines_of(rows_, shape_.out_padded);
  const std::size_t width = padded(rows_);
  const float* drift = pass.drift ? drift_z_.data() : nullptr;
  shrink_and_drift(z_, outputs.packed(), pass.keep, pass.drift_rate, drift);
  shrink_and_drift(y_, outputs.packed(), pass.keep, 0, nullptr);
  const double keep = static_cast<double>(pass.keep);
  weights_share_ *= keep;
  if (drift) drift_share_ = keep * drift_share_ + static_cast<double>(pass.drift_rate);

  for (std::size_t i = 0; i < rows.size(); ++i) {
    MUSTER_CHECK(rows[i] < rows_, "row {} of {}", rows[i], rows_);
    std::memcpy(picked_.data() + i * width, inner_.data() + rows[i] * width, width * sizeof(float));
    plane_kernels().add_scaled(outputs.out_padded, pass.scale, out.gradient + i * out.sample_stride,
                               y_.data() + std::size_t{rows[i]} * outputs.out_padded);
  }
  dense_kernels().update(outputs, 0, 1, rows.size(), picked_.data(), width, out.gradient, out.sample_stride, pass.scale,
                         z_.data(), nullptr);
}

void FixedRows::end(float* weights, const float* drift) {
  MUSTER_CHECK(active_, "no fixed rows to end");
  float* target = begin_update({.fused = true,
                                .keep = static_cast<float>(weights_share_),
                                .drift_rate = static_cast<float>(drift_share_),
                                .weights = weights,
                                .drift = drift},
                               0, shape_.packed());
  dense_kernels().update(shape_, 0, shape_.blocks(), rows_, x_.data(), stride(), y_.data(), shape_.out_padded, 1.0f,
                         target, nullptr);
  active_ = false;
}

}  // namespace muster
