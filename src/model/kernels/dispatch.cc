#include "model/kernels/dispatch.h"

#include "base/isa.h"
#include "model/kernels/activation_kernels.h"
#include "model/kernels/conv_kernels.h"
#include "model/kernels/dense_kernels.h"
#include "model/kernels/discrepancy_kernels.h"
#include "model/kernels/elementwise.h"
#include "model/kernels/gru_kernels.h"
#include "model/kernels/lanes_kernels.h"
#include "model/kernels/loss.h"
#include "model/kernels/lstm_kernels.h"
#include "model/kernels/pair_kernels.h"
#include "model/kernels/peak.h"
#include "model/kernels/plane_kernels.h"
#include "model/kernels/winograd_kernels.h"

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

MUSTER_DISPATCH_KERNELS(ActivationKernels, activation_kernels)
MUSTER_DISPATCH_KERNELS(DenseKernels, dense_kernels)
MUSTER_DISPATCH_KERNELS(DiscrepancyKernels, discrepancy_kernels)
MUSTER_DISPATCH_KERNELS(ElementwiseKernels, elementwise_kernels)
MUSTER_DISPATCH_KERNELS(ConvKernels, conv_kernels)
MUSTER_DISPATCH_KERNELS(GruKernels, gru_kernels)
MUSTER_DISPATCH_KERNELS(LanesKernels, lanes_kernels)
MUSTER_DISPATCH_KERNELS(LossKernels, loss_kernels)
MUSTER_DISPATCH_KERNELS(LstmKernels, lstm_kernels)
MUSTER_DISPATCH_KERNELS(PairKernels, pair_kernels)
MUSTER_DISPATCH_KERNELS(PeakKernels, peak_kernels)
MUSTER_DISPATCH_KERNELS(PlaneKernels, plane_kernels)
MUSTER_DISPATCH_KERNELS(WinogradKernels, winograd_kernels)

}  // namespace muster
