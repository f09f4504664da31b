#include "base/catalogue_version.h"

#include <atomic>

namespace muster {
namespace {

std::atomic<std::uint64_t> version{0};

}  // namespace

std::uint64_t catalogue_version() {
  return version.load(std::memory_order_acquire);
}

void note_added_choice() {
  version.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace muster
