// OnnxGraph: a graph of ONNX operators (operator set 13), put together node by node and written as a model file. Knows
// what the format is, not what a network is.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "record/protobuf_message.h"

namespace muster {

enum class OnnxType : std::int64_t { kFloat = 1, kInteger = 7 };  // TensorProto.DataType: float32, int64

using OnnxShape = std::vector<std::int64_t>;
using OnnxAttribute = std::variant<std::int64_t, float, std::vector<std::int64_t>>;
using OnnxAttributes = std::vector<std::pair<std::string, OnnxAttribute>>;

struct OnnxProducer {
  std::string name;
  std::string version;
};

class OnnxGraph {
 public:
  // An input or an output with any number of rows; `shape` is that of a row.
  void input(std::string_view name, OnnxType type, const OnnxShape& shape);
  void output(std::string_view name, OnnxType type, const OnnxShape& shape);

  // Constants; each returns its name. Equal constants without a name of their own are stored once.
  std::string floats(std::string name, const OnnxShape& shape, std::span<const float> values);
  std::string scalar(float value);
  std::string integers(const std::vector<std::int64_t>& values);

  // Adds a node and returns the name of its first result, which is `result` or, if that is empty, made of the operator
  // and a number. Further results are left out.
  std::string node(std::string_view op, std::span<const std::string> inputs, const OnnxAttributes& attributes = {},
                   std::string result = {});

  // The bytes of a file. `metadata` is for the reader of the file; no operator sees it.
  [[nodiscard]] std::string write(const OnnxProducer& producer,
                                  const std::map<std::string, std::string>& metadata) const;

 private:
  std::string constant(std::string name, OnnxType type, const OnnxShape& shape, std::string_view raw);

  ProtobufMessage graph_;
  std::set<std::string> unnamed_;
  std::size_t nodes_ = 0;
};

}  // namespace muster
