// The numbers of fields are those of onnx.proto, which also names them.
#include "record/onnx_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <type_traits>

namespace muster {
namespace {

constexpr std::int64_t kFileVersion = 7;  // IR version: the one that came with operator set 13 (ONNX 1.8)
constexpr std::int64_t kOperators = 13;

ProtobufMessage value_info(std::string_view name, OnnxType type, const OnnxShape& shape) {
  ProtobufMessage dimensions;  // TensorShapeProto
  ProtobufMessage rows;
  rows.bytes(2, "N");  // dim_param
  dimensions.message(1, rows);
  for (const std::int64_t extent : shape) {
    ProtobufMessage dimension;
    dimension.integer(1, extent);  // dim_value
    dimensions.message(1, dimension);
  }
  ProtobufMessage tensor;  // TypeProto.Tensor
  tensor.integer(1, static_cast<std::int64_t>(type));
  tensor.message(2, dimensions);
  ProtobufMessage type_of;  // TypeProto
  type_of.message(1, tensor);
  ProtobufMessage info;  // ValueInfoProto
  info.bytes(1, name);
  info.message(2, type_of);
  return info;
}

ProtobufMessage attribute_message(std::string_view name, const OnnxAttribute& attribute) {
  ProtobufMessage message;  // AttributeProto; field 20 is the type
  message.bytes(1, name);
  std::visit(
      [&message](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, float>) {
          message.float32(2, value);
          message.integer(20, 1);  // FLOAT
        } else if constexpr (std::is_same_v<Value, std::int64_t>) {
          message.integer(3, value);
          message.integer(20, 2);  // INT
        } else {
          for (const std::int64_t entry : value) message.integer(8, entry);
          message.integer(20, 7);  // INTS
        }
      },
      attribute);
  return message;
}

template <typename T>
std::string_view raw_bytes(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

void OnnxGraph::input(std::string_view name, OnnxType type, const OnnxShape& shape) {
  graph_.message(11, value_info(name, type, shape));
}

void OnnxGraph::output(std::string_view name, OnnxType type, const OnnxShape& shape) {
  graph_.message(12, value_info(name, type, shape));
}

std::string OnnxGraph::constant(std::string name, OnnxType type, const OnnxShape& shape, std::string_view raw) {
  ProtobufMessage tensor;  // TensorProto
  for (const std::int64_t extent : shape) tensor.integer(1, extent);
  tensor.integer(2, static_cast<std::int64_t>(type));
  tensor.bytes(8, name);
  tensor.bytes(9, raw);
  graph_.message(5, tensor);
  return name;
}

std::string OnnxGraph::floats(std::string name, const OnnxShape& shape, std::span<const float> values) {
  return constant(std::move(name), OnnxType::kFloat, shape, raw_bytes(values));
}

// A dot, which no name of a node's result has, keeps names of constants apart from those.
std::string OnnxGraph::scalar(float value) {
  std::string name = fmt::format("number.{}", value);
  if (!unnamed_.insert(name).second) return name;
  return constant(std::move(name), OnnxType::kFloat, {}, raw_bytes(std::span<const float>(&value, 1)));
}

std::string OnnxGraph::integers(const std::vector<std::int64_t>& values) {
  std::string name = fmt::format("integers.{}", fmt::join(values, "."));
  if (!unnamed_.insert(name).second) return name;
  return constant(std::move(name), OnnxType::kInteger, {static_cast<std::int64_t>(values.size())},
                  raw_bytes(std::span<const std::int64_t>(values)));
}

std::string OnnxGraph::node(std::string_view op, std::span<const std::string> inputs, const OnnxAttributes& attributes,
                            std::string result) {
  ++nodes_;
  if (result.empty()) result = fmt::format("{}_{}", op, nodes_);
  ProtobufMessage node;  // NodeProto
  for (const std::string& input : inputs) node.bytes(1, input);
  node.bytes(2, result);
  node.bytes(3, result);  // the node's own name
  node.bytes(4, op);
  for (const auto& [name, attribute] : attributes) node.message(5, attribute_message(name, attribute));
  graph_.message(1, node);
  return result;
}

std::string OnnxGraph::write(const OnnxProducer& producer, const std::map<std::string, std::string>& metadata) const {
  ProtobufMessage graph = graph_;
  graph.bytes(2, producer.name);
  ProtobufMessage operators;  // OperatorSetIdProto of the operators without a domain
  operators.bytes(1, "");
  operators.integer(2, kOperators);
  ProtobufMessage model;  // ModelProto
  model.integer(1, kFileVersion);
  model.bytes(2, producer.name);
  model.bytes(3, producer.version);
  model.message(7, graph);
  model.message(8, operators);
  for (const auto& [key, value] : metadata) {
    ProtobufMessage entry;  // StringStringEntryProto
    entry.bytes(1, key);
    entry.bytes(2, value);
    model.message(14, entry);
  }
  return model.wire();
}

}  // namespace muster
