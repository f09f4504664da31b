// FixedRows: a network's first layer, dense, trained by plain SGD on the same few rows X many times over. Its weights
// never leave
//   W = a W0 + b D + X^T Y          (W0: as loaded, D: the constant drift)
// and a step only asks for rows of Z = X W. So Z is kept, one line per row, and a step of W by x^T dz for some rows x
// is a step of Z by (X x^T) dz: rows x batch x outputs products instead of 2 x inputs x batch x outputs. W itself is
// made once, at the end. The result is that of ordinary steps but for rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/floats.h"
#include "model/kernels/dense_kernels.h"
#include "model/layer.h"

namespace muster {

class FixedRows {
 public:
  // Whether this is clearly less work than ordinary steps over `samples` samples in all, and fits a fair memory.
  [[nodiscard]] static bool pays(const DenseShape& shape, std::uint32_t rows, std::uint64_t samples);

  // Where the caller writes the rows, stride() floats apart; what lies between must stay as it is (zero). Allocates
  // when there are more rows than ever before. `max_batch`: rows of a step at most.
  [[nodiscard]] float* prepare(const DenseShape& shape, std::uint32_t rows, std::uint32_t max_batch);
  [[nodiscard]] std::size_t stride() const { return padded(shape_.in); }

  // From the packed weights and drift (null: none), which must stay as they are until end().
  void begin(const float* weights, const float* drift);
  [[nodiscard]] bool active() const { return active_; }

  // out.data = Z + bias for these rows, then ReLU if `out` has one.
  void forward(std::span<const std::uint32_t> rows, const float* bias, const Activation& out) const;
  // The step of the weights (not of the bias) by out.gradient. Precondition: pass.fused.
  void backward(std::span<const std::uint32_t> rows, const Activation& out, const Pass& pass);

  // Writes the weights.
  void end(float* weights, const float* drift);

 private:
  DenseShape shape_;
  std::uint32_t rows_ = 0;
  bool active_ = false;
  double weights_share_ = 1;  // a
  double drift_share_ = 0;    // b
  Floats x_;                  // [rows][stride]
  Floats panels_;             // x as a packed matrix of `rows` inputs
  Floats scratch_;            // to transpose its panels
  Floats inner_;              // x x^T: [rows][padded rows]
  Floats picked_;             // its lines for a batch
  Floats z_;                  // packed, of `rows` inputs
  Floats drift_z_;            // x drift, likewise
  Floats y_;                  // [rows][padded outputs]
  Floats lines_;              // likewise, between a product and its packed form
};

}  // namespace muster
