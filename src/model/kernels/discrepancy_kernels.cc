#include "model/kernels/discrepancy_kernels.h"

#include "model/kernels/vector_math.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

constexpr std::size_t kBlock = 16;

std::size_t whole_blocks(std::size_t count) {
  return (count + kBlock - 1) / kBlock * kBlock;
}

// Vectors side by side: [width][columns], so that one vector meets kLanes others at a time.
void transpose(std::size_t batch, std::size_t width, std::size_t stride, const float* rows, std::size_t columns,
               float* out) {
  for (std::size_t c = 0; c < width; ++c) {
    for (std::size_t b = 0; b < columns; ++b) out[c * columns + b] = b < batch ? rows[b * stride + c] : 0.0f;
  }
}

// The sum of k over one vector and all of a set. `slope` (null: not wanted): the derivative of k by the squared
// distance.
double kernel_row(const GaussianSum& kernel, std::size_t batch, std::size_t width, const float* row,
                  const float* others, std::size_t columns, float* slope) {
  Vec total{};
  for (std::size_t at = 0; at < columns; at += kLanes) {
    Vec squares{};
    for (std::size_t c = 0; c < width; ++c) {
      const Vec apart = splat(row[c]) - load(others + c * columns + at);
      squares += apart * apart;
    }
    // Columns behind the last vector are infinitely far away.
    for (int j = 0; j < kLanes; ++j) {
      if (at + static_cast<std::size_t>(j) >= batch) squares[j] = 1e30f;
    }
    Vec value{};
    Vec steep{};
    for (std::size_t i = 0; i < kernel.count; ++i) {
      const Vec e = exp_nonpositive(squares * splat(-kernel.rates[i]));
      value += e;
      steep -= e * splat(kernel.rates[i]);
    }
    total += value;
    if (slope) store(slope + at, steep);
  }
  return static_cast<double>(add_lanes(total));
}

// out[c] += factor * sum over others of slope * (row[c] - other[c])
void add_pull(std::size_t width, const float* row, const float* others, std::size_t columns, const float* slope,
              float factor, float* out) {
  for (std::size_t c = 0; c < width; ++c) {
    Vec total{};
    for (std::size_t at = 0; at < columns; at += kLanes) {
      total += load(slope + at) * (splat(row[c]) - load(others + c * columns + at));
    }
    out[c] += factor * add_lanes(total);
  }
}

std::size_t scratch_floats(std::size_t batch, std::size_t width) {
  return (2 * width + 1) * whole_blocks(batch);
}

double squared(const GaussianSum& kernel, std::size_t batch, std::size_t width, std::size_t stride, const float* x,
               const float* y, float* scratch, float* gradient) {
  const std::size_t columns = whole_blocks(batch);
  float* const xs = scratch;
  float* const ys = xs + width * columns;
  float* const slope = ys + width * columns;
  transpose(batch, width, stride, x, columns, xs);
  transpose(batch, width, stride, y, columns, ys);
  // d mean k(y, y) / d y_j has each pair twice, and the squared distance has the factor 2.
  const float factor = 4.0f / (static_cast<float>(batch) * static_cast<float>(batch));
  double among_x = 0;
  double among_y = 0;
  double between = 0;
  for (std::size_t j = 0; j < batch; ++j) {
    const float* const row = y + j * stride;
    float* const out = gradient + j * width;
    for (std::size_t c = 0; c < width; ++c) out[c] = 0;
    among_x += kernel_row(kernel, batch, width, x + j * stride, xs, columns, nullptr);
    among_y += kernel_row(kernel, batch, width, row, ys, columns, slope);
    add_pull(width, row, ys, columns, slope, factor, out);
    between += kernel_row(kernel, batch, width, row, xs, columns, slope);
    add_pull(width, row, xs, columns, slope, -factor, out);
  }
  return (among_x + among_y - 2 * between) / (static_cast<double>(batch) * static_cast<double>(batch));
}

}  // namespace

const DiscrepancyKernels& discrepancy_kernels() {
  static constexpr DiscrepancyKernels table{scratch_floats, squared};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
