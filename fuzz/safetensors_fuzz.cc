#include "base/check.h"
#include "model/tensor_file.h"
#include "record/weights_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  static const std::vector<ParameterTensor> tensors{
      {.name = "a", .shape = {2, 3}, .range = {0, 6}, .trained = true},
      {.name = "b", .shape = {3}, .range = {6, 3}, .trained = true},
  };
  if (const auto file = parse_tensor_file({data, size})) {
    std::size_t next = 0;
    for (const ParameterTensor& tensor : file->tensors) {
      MUSTER_CHECK(tensor.range.offset == next, "{} at {}, want {}", tensor.name, tensor.range.offset, next);
      next += tensor.range.size;
    }
    MUSTER_CHECK(next == file->values.size(), "{} of {} values", next, file->values.size());
  }
  if (const auto flat = parse_safetensors({data, size}, tensors)) {
    MUSTER_CHECK(flat->size() == 9, "{} values", flat->size());
  }
  return 0;
}
