// ONNX files as others see them: ONNX's own checker, and OpenCV, which runs them. What OpenCV 4.6 cannot read as it
// stands is changed for it, by rules of ONNX that change no result; the names of the tests say so.
#include "record/onnx_network.h"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "python_with.h"
#include "record/exported_networks.h"
#include "record/protobuf_fields.h"
#include "record/weights_file.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using Json = nlohmann::json;

bool has_recurrent(std::span<const LayerFace> faces) {
  return std::ranges::any_of(faces, [](const LayerFace& face) {
    return face.spec.kind == LayerKind::kLstm || face.spec.kind == LayerKind::kGru;
  });
}

enum class Kinds { kAll, kPlain, kRecurrent };

struct OwnResult {
  std::vector<float> logits;
  std::uint32_t outputs = 0;
  std::uint32_t classes = 0;
};

// Writes NAME.onnx and NAME-rows.npz of every case with such layers; what Muster itself computes for the rows.
std::map<std::string, OwnResult> write_cases(const ScratchFolder& folder, Kinds kinds) {
  std::map<std::string, OwnResult> ours;
  for (const ExportedCase& one : exported_cases()) {
    const auto network = make_network(one.options, one.input, one.classes, one.fusion);
    EXPECT_TRUE(network.ok()) << one.name << ": " << network.error().message;
    if (!network.ok()) continue;
    if (kinds != Kinds::kAll && has_recurrent((*network)->description()) != (kinds == Kinds::kRecurrent)) continue;
    const std::vector<float> flat = random_weights(**network);
    const std::vector<float> rows = random_rows(one.input);
    const auto bytes = to_onnx(**network, flat, {"muster", "0"}, {{"classes", R"(["a","b"])"}});
    EXPECT_TRUE(bytes.ok()) << one.name;
    if (!bytes.ok()) continue;
    folder.write(std::string(one.name) + ".onnx", *bytes);
    const std::vector<ParameterTensor> shape{
        {"rows", {kExportedRows, one.input.height, one.input.width, one.input.channels}, {0, rows.size()}}};
    EXPECT_TRUE(write_npz(folder / (std::string(one.name) + "-rows.npz"), shape, rows).ok());
    ours[one.name] = {own_logits(*network, flat, rows), (*network)->outputs(), one.classes};
  }
  return ours;
}

// Runs `script` in the folder with the names of the cases; what it left in results.json.
Json results_of(const ScratchFolder& folder, const std::string& python, const std::string& script,
                const std::map<std::string, OwnResult>& cases) {
  folder.write("page.py", python_of_the_page(1));
  folder.write("all.py", script);
  std::string command = fmt::format("cd '{}' && OMP_NUM_THREADS=1 {} all.py", folder.path().string(), python);
  for (const auto& [name, result] : cases) command += " " + name;
  EXPECT_EQ(std::system(command.c_str()), 0);
  return Json::parse(slurp(folder / "results.json"), nullptr, false);
}

std::vector<double> probabilities_of(const OwnResult& ours, std::size_t row) {
  const float* logits = ours.logits.data() + row * ours.outputs;
  if (ours.outputs == 1) return {1 / (1 + std::exp(logits[0])), 1 / (1 + std::exp(-logits[0]))};
  double sum = 0;
  for (std::uint32_t c = 0; c < ours.classes; ++c) sum += std::exp(logits[c]);
  std::vector<double> result;
  for (std::uint32_t c = 0; c < ours.classes; ++c) result.push_back(std::exp(logits[c]) / sum);
  return result;
}

void expect_equal(const std::map<std::string, OwnResult>& ours, const Json& theirs) {
  ASSERT_TRUE(theirs.is_object());
  for (const auto& [name, own] : ours) {
    ASSERT_TRUE(theirs.contains(name)) << name;
    const Json& logits = theirs[name]["logits"];
    const Json& probabilities = theirs[name]["probabilities"];
    ASSERT_EQ(logits.size(), kExportedRows) << name;
    ASSERT_EQ(probabilities.size(), kExportedRows) << name;
    for (std::size_t row = 0; row < kExportedRows; ++row) {
      ASSERT_EQ(logits[row].size(), own.outputs) << name;
      ASSERT_EQ(probabilities[row].size(), own.classes) << name;
      for (std::uint32_t i = 0; i < own.outputs; ++i) {
        const double wanted = own.logits[row * own.outputs + i];
        EXPECT_NEAR(logits[row][i].get<double>(), wanted, 1e-4 * std::max(1.0, std::abs(wanted))) << name << " " << row;
      }
      for (std::uint32_t c = 0; c < own.classes; ++c) {
        EXPECT_NEAR(probabilities[row][c].get<double>(), probabilities_of(own, row)[c], 1e-4) << name << " " << row;
      }
    }
  }
}

TEST(OnnxNetwork, OnnxsOwnCheckerAndShapeInferenceAcceptEveryNetwork) {
  const std::string python = python_with("onnx");
  if (python.empty()) GTEST_SKIP() << "ONNX's Python package is not installed (Debian: python3-onnx)";
  const ScratchFolder folder;
  const auto ours = write_cases(folder, Kinds::kAll);
  ASSERT_EQ(ours.size(), exported_cases().size());
  // Shapes are inferred without those that the file states, and compared.
  const Json results = results_of(folder, python, R"(
import json, onnx, sys
from onnx.shape_inference import infer_shapes
def shape(value): return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
results = {}
for name in sys.argv[1:]:
    model = onnx.load(name + ".onnx")
    onnx.checker.check_model(model, full_check=True)
    stated = {o.name: shape(o) for o in model.graph.output}
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 5
    for output in model.graph.output: output.type.tensor_type.ClearField("shape")
    inferred = {o.name: shape(o) for o in infer_shapes(model, strict_mode=True, data_prop=True).graph.output}
    results[name] = {"stated": stated, "inferred": inferred, "producer": model.producer_name,
                     "metadata": {p.key: p.value for p in model.metadata_props}}
json.dump(results, open("results.json", "w"))
)",
                                  ours);
  ASSERT_TRUE(results.is_object());
  for (const auto& [name, own] : ours) {
    const Json& result = results[name];
    EXPECT_EQ(result["stated"]["logits"], Json({"N", own.outputs})) << name;
    EXPECT_EQ(result["stated"]["probabilities"], Json({"N", own.classes})) << name;
    EXPECT_EQ(result["inferred"]["logits"], Json({kExportedRows, own.outputs})) << name;
    EXPECT_EQ(result["inferred"]["probabilities"], Json({kExportedRows, own.classes})) << name;
    EXPECT_EQ(result["producer"], "muster");
    EXPECT_EQ(result["metadata"]["classes"], R"(["a","b"])");
  }
}

TEST(OnnxNetwork, OpenCvComputesTheSameLogitsOfNetworksWithoutRecurrentLayers) {
  const std::string python = python_with("cv2, onnx, numpy");
  if (python.empty()) GTEST_SKIP() << "OpenCV or ONNX is not installed (Debian: python3-opencv python3-onnx)";
  const ScratchFolder folder;
  const auto ours = write_cases(folder, Kinds::kPlain);
  EXPECT_TRUE(ours.contains("softmax") && ours.contains("resnet") && ours.contains("layers"));
  const Json theirs = results_of(folder, python, R"(
import json, numpy, page, sys
results = {}
for name in sys.argv[1:]:
    rows = numpy.moveaxis(numpy.load(name + "-rows.npz")["rows"], -1, 1)
    if rows.shape[2:] == (1, 1): rows = rows[:, :, 0, 0]
    logits, probabilities = page.run(name + ".onnx", numpy.ascontiguousarray(rows))
    assert page.classes(name + ".onnx") == ["a", "b"]
    results[name] = {"logits": logits.tolist(), "probabilities": probabilities.tolist()}
json.dump(results, open("results.json", "w"))
)",
                                 ours);
  expect_equal(ours, theirs);
}

// OpenCV 4.6 wants a fixed number of rows for recurrent layers and the first state of a GRU, which is zero where none
// is given, and cannot look up embeddings, which is done outside.
TEST(OnnxNetwork, OpenCvComputesTheSameLogitsOfRecurrentLayersWithFixedRowsStatedZerosAndEmbeddedInput) {
  const std::string python = python_with("cv2, onnx, numpy");
  if (python.empty()) GTEST_SKIP() << "OpenCV or ONNX is not installed (Debian: python3-opencv python3-onnx)";
  const ScratchFolder folder;
  const auto ours = write_cases(folder, Kinds::kRecurrent);
  EXPECT_TRUE(ours.contains("lstm") && ours.contains("gru") && ours.contains("text"));
  const Json theirs = results_of(folder, python, R"(
import json, numpy, onnx, page, sys
from onnx import numpy_helper
results = {}
for name in sys.argv[1:]:
    rows = numpy.moveaxis(numpy.load(name + "-rows.npz")["rows"], -1, 1)
    model = onnx.load(name + ".onnx")
    graph = model.graph
    constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    if graph.node[0].op_type == "Gather":
        lookup, order, shape = graph.node[:3]
        assert lookup.input[1] == "input" and graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.INT64
        rows = constants[lookup.input[0]][rows[:, 0, 0].astype(int)]
        assert (order.op_type, order.input[0]) == ("Transpose", lookup.output[0])
        rows = rows.transpose(order.attribute[0].ints)
        assert (shape.op_type, shape.input[0]) == ("Reshape", order.output[0])
        rows = rows.reshape(constants[shape.input[1]])
        graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info(shape.output[0], onnx.TensorProto.FLOAT, rows.shape))
        del graph.node[:3]
    graph.input[0].type.tensor_type.shape.dim[0].dim_value = len(rows)
    for node in graph.node:
        if node.op_type == "GRU":
            units = constants[node.input[2]].shape[2]
            graph.initializer.append(numpy_helper.from_array(numpy.zeros((1, len(rows), units), "f"), node.name + ".h"))
            node.input.extend(["", node.name + ".h"])
    onnx.save(model, "changed.onnx")
    logits, probabilities = page.run("changed.onnx", numpy.ascontiguousarray(rows))
    results[name] = {"logits": logits.tolist(), "probabilities": probabilities.tolist()}
json.dump(results, open("results.json", "w"))
)",
                                 ours);
  expect_equal(ours, theirs);
}

// Fields below by the numbers of onnx.proto.
std::string graph_of(const ExportedCase& one) {
  const auto network = make_network(one.options, one.input, one.classes, one.fusion);
  const auto bytes = to_onnx(**network, random_weights(**network), {"muster", "0"}, {});
  return protobuf_all(*bytes, 7).front();
}

TEST(OnnxNetwork, EveryNameIsDefinedOnceAndBeforeItIsUsed) {
  for (const ExportedCase& one : exported_cases()) {
    const std::string graph = graph_of(one);
    std::set<std::string> defined{""};  // an input that is left out
    const auto define = [&](const std::string& name) {
      EXPECT_TRUE(name.empty() || defined.insert(name).second) << one.name << ": " << name << " twice";
    };
    for (const std::string& input : protobuf_all(graph, 11)) define(protobuf_all(input, 1).front());
    for (const std::string& tensor : protobuf_all(graph, 5)) define(protobuf_all(tensor, 8).front());
    for (const std::string& node : protobuf_all(graph, 1)) {
      for (const std::string& input : protobuf_all(node, 1)) EXPECT_TRUE(defined.contains(input)) << one.name << input;
      for (const std::string& output : protobuf_all(node, 2)) define(output);
    }
    EXPECT_TRUE(defined.contains("logits") && defined.contains("probabilities")) << one.name;
  }
}

// OpenCV always computes a GRU so, whatever the file says; other readers do as it says.
TEST(OnnxNetwork, AGruAppliesItsResetGateAfterTheProduct) {
  const auto one = std::ranges::find(exported_cases(), std::string("gru"), &ExportedCase::name);
  ASSERT_NE(one, exported_cases().end());
  std::map<std::string, std::int64_t> found;
  for (const std::string& node : protobuf_all(graph_of(*one), 1)) {
    if (protobuf_all(node, 4).front() != "GRU") continue;
    for (const std::string& attribute : protobuf_all(node, 5)) {
      found[protobuf_all(attribute, 1).front()] = protobuf_integers(attribute, 3).front();
    }
  }
  EXPECT_THAT(found, testing::ElementsAre(testing::Pair("hidden_size", 4), testing::Pair("linear_before_reset", 1)));
}

TEST(OnnxNetwork, TwoTensorsOfOneNameAreRefused) {
  const ModelOptions options{.name = "layers",
                             .layers = LayerList{{"residual as a", {{"dense 4 as b"}}}, {"dense 4 as a_b"}}};
  const auto network = make_network(options, {1, 1, 4}, 2);
  ASSERT_TRUE(network.ok()) << network.error().message;
  const auto bytes = to_onnx(**network, random_weights(**network), {"muster", "0"}, {});
  ASSERT_FALSE(bytes.ok());
  EXPECT_THAT(bytes.error().message, testing::HasSubstr("a_b.weight"));
}

TEST(OnnxNetwork, AFileThatNoReaderCouldReadIsRefused) {
  EXPECT_TRUE(check_onnx_size((std::size_t{1} << 31) - 1).ok());
  const Status status = check_onnx_size(std::size_t{1} << 31);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "a file of 2147483648 bytes is too large for ONNX, which ends at 2147483647; export as .safetensors");
}

}  // namespace
}  // namespace muster
