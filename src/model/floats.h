// Floats: a block of zeroed floats on a cache line's boundary, as the kernels like them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "model/layer.h"

namespace muster {

class Floats {
 public:
  Floats() = default;
  explicit Floats(std::size_t count) : count_(padded(count)) {
    data_.reset(static_cast<float*>(::operator new(std::max<std::size_t>(count_, kPad) * sizeof(float), kAlignment)));
    clear();
  }
  [[nodiscard]] float* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  void clear() { std::memset(data_.get(), 0, count_ * sizeof(float)); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<float, Free> data_;
  std::size_t count_ = 0;
};

}  // namespace muster
