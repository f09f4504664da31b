#include "model/kernels/dispatch.h"

#include "model/kernels/elementwise.h"
#include "model/kernels/isa.h"

#if defined(__x86_64__)
#define MUSTER_DISPATCH_KERNELS(Table, getter) \
  const Table& getter() {                      \
    switch (current_isa()) {                   \
      case Isa::kAvx512:                       \
        return avx512::getter();               \
      case Isa::kAvx2:                         \
        return avx2::getter();                 \
      case Isa::kBaseline:                     \
        break;                                 \
    }                                          \
    return baseline::getter();                 \
  }
#else
#define MUSTER_DISPATCH_KERNELS(Table, getter) \
  const Table& getter() {                      \
    return baseline::getter();                 \
  }
#endif

namespace muster {

MUSTER_DISPATCH_KERNELS(ElementwiseKernels, elementwise_kernels)

}  // namespace muster
