// Lists of layers: what they may say, how they are fitted to data, and what a network tells of itself.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "model/layer_spec.h"
#include "model/own_network.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

std::string misspelt(const std::string& words) {
  const auto specs = parse_layers({{"relu"}, {words}}, "model.layers");
  return specs.ok() ? "" : specs.error().message;
}

TEST(LayerListTest, EveryLayerOfTheCatalogueIsUnderstood) {
  const std::vector<std::pair<std::string, LayerKind>> lines = {
      {"dense 64", LayerKind::kDense},
      {"conv 32 3x5 stride 2 pad same no-bias as stem", LayerKind::kConv},
      {"max-pool 3 stride 2", LayerKind::kMaxPool},
      {"mean-pool 2x1", LayerKind::kMeanPool},
      {"global-mean", LayerKind::kGlobalMean},
      {"relu", LayerKind::kRelu},
      {"tanh", LayerKind::kTanh},
      {"gelu", LayerKind::kGelu},
      {"batch-norm", LayerKind::kBatchNorm},
      {"group-norm 8", LayerKind::kGroupNorm},
      {"layer-norm", LayerKind::kLayerNorm},
      {"dropout 0.3", LayerKind::kDropout},
      {"embedding 80 8", LayerKind::kEmbedding},
      {"lstm 256 sequence", LayerKind::kLstm},
      {"gru 256", LayerKind::kGru},
      {"residual padded", LayerKind::kResidual}};
  EXPECT_EQ(lines.size(), layer_catalogue().size());
  for (const auto& [words, kind] : lines) {
    LayerItem item{words};
    if (kind == LayerKind::kResidual) item.inside = {{"relu"}};
    const auto specs = parse_layers({item}, "model.layers");
    ASSERT_TRUE(specs.ok()) << specs.error().message;
    EXPECT_EQ(specs->front().kind, kind) << words;
  }
  const LayerSpec conv = parse_layers({{lines[1].first}}, "")->front();
  EXPECT_EQ(conv.width, 32u);
  EXPECT_EQ(conv.kernel, (Extent{3, 5}));
  EXPECT_EQ(conv.stride, (Extent{2, 2}));
  EXPECT_TRUE(conv.same);
  EXPECT_FALSE(conv.bias);
  EXPECT_EQ(conv.name, "stem");
}

TEST(LayerListTest, EveryLayerIsDocumented) {
  std::ifstream file(std::string(MUSTER_SOURCE_DIR) + "/docs/models.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  for (const LayerUsage& layer : layer_catalogue()) {
    std::string words = layer.usage;  // as a table of Markdown has it
    for (std::size_t at = 0; (at = words.find('|', at)) != std::string::npos; at += 2) words.insert(at, "\\");
    EXPECT_THAT(page, HasSubstr(words));
    EXPECT_FALSE(layer.summary.empty());
  }
}

TEST(LayerListTest, ErrorsNameTheLayerAndWhatIsAccepted) {
  EXPECT_THAT(misspelt("max-pol 2"), HasSubstr("model.layers[1]: \"max-pol 2\": unknown layer 'max-pol'"));
  EXPECT_THAT(misspelt("max-pol 2"), HasSubstr("did you mean 'max-pool'"));
  EXPECT_THAT(misspelt(""), HasSubstr("model.layers[1]"));
  EXPECT_THAT(misspelt("conv 32"), HasSubstr("want conv CHANNELS KERNEL [stride S]"));
  EXPECT_THAT(misspelt("conv 0 3"), HasSubstr("channels 0, want an integer from 1 to 4096"));
  EXPECT_THAT(misspelt("conv 8 3x"), HasSubstr("kernel 3x, want a size such as 3 or 1x3"));
  EXPECT_THAT(misspelt("conv 8 3 pad 3"), HasSubstr("pad 3, want an integer from 0 to 2"));
  EXPECT_THAT(misspelt("conv 8 3 stride 0"), HasSubstr("stride 0"));
  EXPECT_THAT(misspelt("dense -1"), HasSubstr("units -1, want an integer from 1 to 65536"));
  EXPECT_THAT(misspelt("dense 4294967297"), HasSubstr("units 4294967297"));
  EXPECT_THAT(misspelt("dense 64 relu"), HasSubstr("want dense UNITS"));
  EXPECT_THAT(misspelt("dropout 1"), HasSubstr("probability 1, want a number >= 0 and < 1"));
  EXPECT_THAT(misspelt("dropout nan"), HasSubstr("probability nan"));
  EXPECT_THAT(misspelt("dropout"), HasSubstr("want dropout PROBABILITY"));
  EXPECT_THAT(misspelt("max-pool 16x16"), HasSubstr("256 pixels, want at most 255"));
  EXPECT_THAT(misspelt("dense 4 as a/b"), HasSubstr("name a/b"));
  EXPECT_THAT(misspelt("residual"), HasSubstr("want a list with the layers inside"));
  EXPECT_THAT(misspelt("relu\nrelu"), HasSubstr("unknown layer 'relu relu'"));
  EXPECT_THAT(misspelt(std::string(5000, 'x')), HasSubstr("at most 120 characters"));
  EXPECT_THAT(refusal({{"relu", {{"relu"}}}}, {4, 4, 1}), HasSubstr("only a residual has them"));
  LayerItem deep{"relu"};
  for (int i = 0; i < 5; ++i) deep = {"residual", {deep}};
  EXPECT_THAT(refusal({deep}, {4, 4, 1}), HasSubstr("[0][1][1][1][1]: residuals nest at most 4 deep"));
}

TEST(LayerListTest, ErrorsSayWhatDoesNotFitTheData) {
  const Shape image{28, 28, 1};
  EXPECT_EQ(refusal({{"conv 8 5"}, {"max-pool 8"}, {"relu"}, {"max-pool 4"}}, image),
            "model.layers[3]: max-pool 4 on 3 x 3 pixels; the window must fit");
  EXPECT_EQ(refusal({{"conv 8 29"}}, image), "model.layers[0]: conv 8 29 on 28 x 28 pixels; the kernel must fit");
  EXPECT_EQ(refusal({{"conv 8 3"}, {"group-norm 3"}}, image),
            "model.layers[1]: group-norm 3 on 8 channels; the groups must be equal");
  EXPECT_THAT(refusal({{"conv 8 59 pad same"}}, image), HasSubstr("pads with more pixels than there are"));
  EXPECT_THAT(refusal({{"layer-norm"}}, image), HasSubstr("on 1 channel"));
  EXPECT_THAT(refusal({{"lstm 8"}}, image), HasSubstr("on 28 x 28 pixels; want a sequence"));
  EXPECT_THAT(refusal({{"relu"}, {"embedding 9 3"}}, {1, 5, 1}), HasSubstr("can only be the first layer"));
  EXPECT_THAT(refusal({{"embedding 9 3"}}, {1, 5, 2}), HasSubstr("the samples are 1 x 5 x 2"));
  EXPECT_THAT(refusal({{"embedding 3"}}, {1, 5, 1}), HasSubstr("want a VOCABULARY too"));
  EXPECT_THAT(refusal({{"embedding 9 3"}}, {1, 5, 1, 10}), HasSubstr("on data with 10 tokens"));
  EXPECT_THAT(refusal({{"dense 3"}}, {1, 5, 1, 10}), HasSubstr("the first an embedding"));
  EXPECT_THAT(
      refusal({{"residual padded", {{"conv 8 3 pad same"}}}, {"residual padded", {{"conv 4 3 pad same"}}}}, image),
      HasSubstr("model.layers[1]: residual padded from 28 x 28 x 8 to 28 x 28 x 4"));
  EXPECT_THAT(refusal({{"residual", {{"conv 8 4"}}}}, image), HasSubstr("no stride of the shortcut gives that size"));
  EXPECT_THAT(refusal({{"residual", {{"relu"}, {"max-pool 40"}}}}, image),
              HasSubstr("model.layers[0][2]: max-pool 40"));
  EXPECT_THAT(refusal({{"dense 65536"}, {"dense 65536"}}, image),
              HasSubstr("4346478592 parameters, want at most 1073741824"));
  EXPECT_THAT(refusal({{"conv 4096 1"}}, {512, 512, 1}), HasSubstr("values of a sample"));
  EXPECT_THAT(refusal({{"dense 4 as dense2"}, {"dense 4"}, {"relu"}}, image),
              HasSubstr("second layer called \"dense2\""));
  EXPECT_THAT(refusal({{"relu as r"}}, image), HasSubstr("has no parameters"));
}

TEST(LayerListTest, TheKeyHoldsANumberForLstmAndAListForLayers) {
  EXPECT_THAT(refusal({}, {1, 1, 4}), HasSubstr("model.layers: want a list"));
  const auto lstm = make_network({.name = "lstm", .layers = LayerList{{"relu"}}}, {1, 5, 4}, 2);
  ASSERT_FALSE(lstm.ok());
  EXPECT_THAT(lstm.error().message, HasSubstr("model.layers: a list, which belongs to model.name = \"layers\""));
}

TEST(LayerListTest, OneNumberIsALengthOnSequences) {
  const auto network =
      own_network({{"conv 8 5 pad same"}, {"relu"}, {"max-pool 4"}, {"mean-pool 3 stride 2"}}, {1, 40, 2});
  const auto faces = network->description();
  EXPECT_EQ(faces[0].spec.kernel, (Extent{1, 5}));
  EXPECT_EQ(faces[0].output, (Shape{1, 40, 8}));
  EXPECT_EQ(faces[2].output, (Shape{1, 10, 8}));
  EXPECT_EQ(faces[3].output, (Shape{1, 4, 8}));
}

TEST(LayerListTest, NamesAndOrderOfTensors) {
  const auto network = own_network({{"conv 4 3 pad same as stem"},
                                    {"batch-norm"},
                                    {"relu"},
                                    {"residual", {{"conv 6 3 stride 2 pad same"}, {"group-norm 2"}}},
                                    {"layer-norm"},
                                    {"dense 5"},
                                    {"tanh"}},
                                   {8, 8, 3});
  std::vector<std::string> names;
  for (const ParameterTensor& tensor : network->tensors()) names.push_back(tensor.name);
  EXPECT_THAT(
      names, ::testing::ElementsAre("stem.weight", "stem.bias", "stem.scale", "stem.shift", "residual1.shortcut.weight",
                                    "residual1.shortcut.scale", "residual1.shortcut.shift", "residual1.conv1.weight",
                                    "residual1.conv1.bias", "residual1.conv1.scale", "residual1.conv1.shift",
                                    "norm1.scale", "norm1.shift", "dense1.weight", "dense1.bias", "dense2.weight",
                                    "dense2.bias", "stem.mean", "stem.variance"));
}

// Whatever the layers, the faces account for every tensor and parameter.
std::size_t add_tensors(std::span<const LayerFace> faces, std::vector<std::string>& names) {
  std::size_t parameters = 0;
  for (const LayerFace& face : faces) {
    parameters += face.parameters;
    names.insert(names.end(), face.tensors.begin(), face.tensors.end());
    add_tensors(face.projection, names);
    add_tensors(face.inside, names);
  }
  return parameters;
}

TEST(LayerListTest, DescriptionsAccountForEveryTensor) {
  struct Case {
    ModelOptions options;
    Shape shape;
  };
  const std::vector<Case> cases = {
      {{.name = "softmax"}, {4, 4, 1}},
      {{.name = "mlp"}, {4, 4, 1}},
      {{.name = "cnn", .hidden = {9}}, {28, 28, 1}},
      {{.name = "femnist-cnn"}, {8, 8, 1}},
      {{.name = "resnet", .shortcut = "projected"}, {16, 16, 3}},
      {{.name = "resnet", .norm = "group"}, {28, 28, 1}},
      {{.name = "audio-cnn"}, {1, 8000, 1}},
      {{.name = "lstm"}, {1, 5, 4}},
      {{.name = "layers", .layers = LayerList{{"embedding 9 4"}, {"gru 5 sequence"}, {"batch-norm"}, {"gru 3"}}},
       {1, 6, 1}}};
  for (const Case& tested : cases) {
    SCOPED_TRACE(tested.options.name);
    const auto network = *make_network(tested.options, tested.shape, 4);
    std::vector<std::string> described, named;
    EXPECT_EQ(add_tensors(network->description(), described), network->parameters());
    for (const ParameterTensor& tensor : network->tensors()) named.push_back(tensor.name);
    EXPECT_THAT(described, ::testing::UnorderedElementsAreArray(named));
    EXPECT_EQ(network->description().back().output.size(), network->outputs());
  }
}

TEST(LayerListTest, TheTableShowsShapesAndParameters) {
  const auto network = own_network({{"conv 32 5 pad same"},
                                    {"relu"},
                                    {"max-pool 2"},
                                    {"residual", {{"conv 64 1"}}},
                                    {"global-mean"},
                                    {"dense 1000"},
                                    {"relu"}},
                                   {28, 28, 1}, 10);
  EXPECT_EQ(describe_network(*network),
            "layer               output        parameters\n"
            "data                28 x 28 x 1\n"
            "conv 32 5 pad same  28 x 28 x 32         832\n"
            "relu                28 x 28 x 32\n"
            "max-pool 2          14 x 14 x 32\n"
            "residual            14 x 14 x 64       2,112\n"
            "  conv 64 1         14 x 14 x 64       2,112\n"
            "global-mean         64\n"
            "dense 1000          1000              65,000\n"
            "relu                1000\n"
            "dense 10            10                10,010\n"
            "total                                 80,066\n");
}

TEST(LayerListTest, TheClassifierIsTheDenseEnd) {
  const auto network = own_network(
      {{"dense 9"}, {"batch-norm"}, {"dense 8"}, {"relu"}, {"dropout 0.1"}, {"dense 7"}, {"gelu"}}, {1, 1, 5}, 4);
  EXPECT_EQ(network->classifier().size, (9u + 1) * 8 + (8 + 1) * 7 + (7 + 1) * 4);
  EXPECT_EQ(network->features().size, 54u + 18);
}

}  // namespace
}  // namespace muster
