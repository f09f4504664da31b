#include <cmath>

#include "base/check.h"
#include "data/readers/glove.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  static const std::unordered_set<std::string> wanted{"a", "b", "the", "cat"};
  if (const auto embedding = parse_glove({reinterpret_cast<const char*>(data), size}, wanted)) {
    const WordVectors& vectors = embedding->vectors;
    MUSTER_CHECK(vectors.rows.size() == (embedding->ids.size() + 1) * vectors.dimension, "{} numbers for {} words",
                 vectors.rows.size(), embedding->ids.size());
    for (const float value : vectors.rows) MUSTER_CHECK(std::isfinite(value), "{}", value);
  }
  return 0;
}
