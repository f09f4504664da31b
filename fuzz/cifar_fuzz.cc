#include "check_samples.h"
#include "data/readers/cifar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  for (const CifarKind kind : {CifarKind::kCifar10, CifarKind::kCifar100}) {
    if (const auto samples = parse_cifar({data, size}, kind)) check_samples(*samples);
  }
  return 0;
}
