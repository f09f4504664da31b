#include "train/spare_cores.h"

#include <algorithm>

#include "base/check.h"

namespace muster {

void SpareCores::begin() {
  const std::lock_guard lock(mutex_);
  ++running_;
}

void SpareCores::end() {
  const std::lock_guard lock(mutex_);
  MUSTER_CHECK(running_ > 0, "nobody has begun");
  --running_;
}

std::uint32_t SpareCores::borrow(std::uint32_t most) {
  const std::lock_guard lock(mutex_);
  if (running_ == 0 || running_ + lent_ >= cores_) return 0;
  const std::uint32_t share = (cores_ - 1) / running_;  // rounded up: (cores - running + running - 1) / running
  const std::uint32_t lent = std::min({most, share, cores_ - running_ - lent_});
  lent_ += lent;
  return lent;
}

void SpareCores::give_back(std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  MUSTER_CHECK(count <= lent_, "{} given back of {}", count, lent_);
  lent_ -= count;
}

}  // namespace muster
