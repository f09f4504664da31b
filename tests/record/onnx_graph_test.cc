#include "record/onnx_graph.h"

#include <cstring>

#include "record/protobuf_fields.h"

namespace muster {
namespace {

using ::testing::ElementsAre;

// Numbers of fields below are those of onnx.proto.
std::string only(std::string_view message, std::uint64_t field) {
  const std::vector<std::string> all = protobuf_all(message, field);
  EXPECT_EQ(all.size(), 1u) << "field " << field;
  return all.empty() ? std::string() : all.front();
}

std::string graph_of(const OnnxGraph& graph) {
  return only(graph.write({"me", "1.2"}, {}), 7);
}

TEST(OnnxGraph, ModelSaysWhoWroteItAndForWhichOperators) {
  const std::string model = OnnxGraph().write({"me", "1.2"}, {{"a", "1"}, {"b", "{}"}});
  EXPECT_THAT(protobuf_integers(model, 1), ElementsAre(7));
  EXPECT_EQ(only(model, 2), "me");
  EXPECT_EQ(only(model, 3), "1.2");
  EXPECT_THAT(protobuf_integers(only(model, 8), 2), ElementsAre(13));
  const std::vector<std::string> metadata = protobuf_all(model, 14);
  ASSERT_EQ(metadata.size(), 2u);
  EXPECT_EQ(only(metadata[1], 1), "b");
  EXPECT_EQ(only(metadata[1], 2), "{}");
}

TEST(OnnxGraph, ConstantsComeBack) {
  OnnxGraph graph;
  const std::vector<float> values{1.5f, -2, 0, 3, 4, 5};
  EXPECT_EQ(graph.floats("w", {2, 3}, values), "w");
  const std::string shape = graph.integers({-1, 4});
  const std::string number = graph.scalar(0.5f);
  EXPECT_NE(shape, number);
  const std::vector<std::string> tensors = protobuf_all(graph_of(graph), 5);
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_THAT(protobuf_integers(tensors[0], 1), ElementsAre(2, 3));
  EXPECT_THAT(protobuf_integers(tensors[0], 2), ElementsAre(1));
  EXPECT_EQ(only(tensors[0], 8), "w");
  const std::string raw = only(tensors[0], 9);
  ASSERT_EQ(raw.size(), values.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(raw.data(), values.data(), raw.size()), 0);
  EXPECT_THAT(protobuf_integers(tensors[1], 1), ElementsAre(2));
  EXPECT_THAT(protobuf_integers(tensors[1], 2), ElementsAre(7));
  EXPECT_EQ(only(tensors[1], 9), std::string(8, '\xff') + std::string("\x04\0\0\0\0\0\0\0", 8));
  EXPECT_THAT(protobuf_integers(tensors[2], 1), ElementsAre());  // no axes
}

TEST(OnnxGraph, EqualConstantsAreStoredOnce) {
  OnnxGraph graph;
  EXPECT_EQ(graph.integers({1, 2}), graph.integers({1, 2}));
  EXPECT_NE(graph.integers({1, 2}), graph.integers({12}));
  EXPECT_EQ(graph.scalar(1), graph.scalar(1));
  EXPECT_NE(graph.scalar(1), graph.scalar(1.0000001f));
  EXPECT_EQ(protobuf_all(graph_of(graph), 5).size(), 4u);
}

TEST(OnnxGraph, NodesHaveInputsAttributesAndAResultOfTheirOwn) {
  OnnxGraph graph;
  const std::vector<std::string> inputs{"x", "w"};
  const std::string first = graph.node("Conv", inputs, {{"pads", OnnxShape{1, 0}}, {"group", 2}, {"epsilon", 0.5f}});
  const std::string second = graph.node("Conv", inputs);
  EXPECT_NE(first, second);
  EXPECT_EQ(graph.node("Gemm", inputs, {}, "logits"), "logits");
  const std::vector<std::string> nodes = protobuf_all(graph_of(graph), 1);
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(protobuf_all(nodes[0], 1), inputs);
  EXPECT_THAT(protobuf_all(nodes[0], 2), ElementsAre(first));
  EXPECT_EQ(only(nodes[0], 4), "Conv");
  EXPECT_THAT(protobuf_all(nodes[2], 2), ElementsAre("logits"));
  const std::vector<std::string> attributes = protobuf_all(nodes[0], 5);
  ASSERT_EQ(attributes.size(), 3u);
  EXPECT_EQ(only(attributes[0], 1), "pads");
  EXPECT_THAT(protobuf_integers(attributes[0], 8), ElementsAre(1, 0));
  EXPECT_THAT(protobuf_integers(attributes[0], 20), ElementsAre(7));
  EXPECT_THAT(protobuf_integers(attributes[1], 3), ElementsAre(2));
  EXPECT_THAT(protobuf_integers(attributes[1], 20), ElementsAre(2));
  EXPECT_EQ(only(attributes[2], 2), std::string("\0\0\0\x3f", 4));
  EXPECT_THAT(protobuf_integers(attributes[2], 20), ElementsAre(1));
}

TEST(OnnxGraph, InputsAndOutputsTakeAnyNumberOfRows) {
  OnnxGraph graph;
  graph.input("in", OnnxType::kInteger, {4, 5});
  graph.output("out", OnnxType::kFloat, {3});
  const std::string info = only(graph_of(graph), 11);
  EXPECT_EQ(only(info, 1), "in");
  const std::string tensor = only(only(info, 2), 1);
  EXPECT_THAT(protobuf_integers(tensor, 1), ElementsAre(7));
  const std::vector<std::string> dimensions = protobuf_all(only(tensor, 2), 1);
  ASSERT_EQ(dimensions.size(), 3u);
  EXPECT_EQ(only(dimensions[0], 2), "N");
  EXPECT_THAT(protobuf_integers(dimensions[2], 1), ElementsAre(5));
  EXPECT_EQ(only(only(graph_of(graph), 12), 1), "out");
}

}  // namespace
}  // namespace muster
