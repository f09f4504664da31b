// Network: what is trained — layers, shapes, and one flat vector of parameters with named ranges. Immutable and shared
// by all workers; execution is in executor.h.
//
// The flat vector is what travels, is averaged and is saved. Its order, tensor after tensor: dense [in][out], then
// bias; convolution [kernel height][kernel width][in channels][out channels], then bias; normalisation scale, shift;
// LSTM [in][4 * hidden], [hidden][4 * hidden], bias (gates i, f, g, o); GRU [in][3 * hidden], [hidden][3 * hidden],
// bias (gates r, z, n), recurrent bias of n; embedding [ids][dimension]; fusion as in layers/fusion.h. Running
// statistics of batch normalisation come last, after every trained parameter: they are averaged with the model, never
// stepped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "data/samples.h"
#include "model/layer_face.h"
#include "model/layer_list.h"

namespace muster {

// The [model] section of a recipe. Every network adapts to the data's shape and number of classes.
struct ModelOptions {
  std::string name = "softmax";           // see model_catalogue()
  std::vector<std::uint32_t> hidden{};    // mlp: default [128]; cnn: dense layers before the classifier, default none
  std::vector<std::uint32_t> channels{};  // cnn: default [6, 16]
  std::uint32_t kernel = 5;               // cnn
  std::optional<std::uint32_t> blocks{};  // resnet: residual blocks per stage
  std::vector<std::uint32_t> widths{};    // resnet: channels of the stages, default [16, 32, 64]
  std::string norm{};                     // resnet, audio-cnn: batch | group; default batch
  std::string shortcut{};                 // resnet: padded (option A) | projected; default padded
  std::uint32_t units = 100;              // lstm
  LayerChoice layers = 2;                 // lstm: how many; layers: the list
  std::string init = "torch";             // torch | glorot | uniform
  std::string path{};                     // external: the safetensors file of the first model
};

// A contiguous part of the flat vector.
struct ParameterRange {
  std::size_t offset = 0;
  std::size_t size = 0;
  bool operator==(const ParameterRange&) const = default;
};

struct ParameterTensor {
  std::string name;                  // e.g. "conv1.weight"
  std::vector<std::uint32_t> shape;  // in the order described above
  ParameterRange range;
  bool trained = true;      // false: running statistics
  bool normalises = false;  // scale, shift or statistics of a normalisation layer
  bool operator==(const ParameterTensor&) const = default;
};

// One layer of a network. Layers exist only while a network is built and compiled; nothing virtual runs in a step.
class Layer;

class Network {
 public:
  Network(Shape input, std::uint32_t classes, std::vector<std::unique_ptr<Layer>> layers, std::string init,
          std::vector<LayerFace> faces = {});
  // One whose layers only its clients know: tensors that tile the flat vector, which begins as `initial`.
  Network(Shape input, std::uint32_t classes, std::vector<ParameterTensor> tensors, std::vector<float> initial);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] Shape input() const { return input_; }
  [[nodiscard]] std::uint32_t classes() const { return classes_; }
  // Without layers: it can be sent, merged and saved here, but not run. Its named ranges are empty, its work is 0.
  [[nodiscard]] bool external() const { return layers_.empty(); }
  // 1 output with sigmoid cross-entropy (lstm on two classes), else one per class with softmax cross-entropy.
  [[nodiscard]] std::uint32_t outputs() const { return outputs_; }

  // Trained parameters: what the papers count.
  [[nodiscard]] std::size_t parameters() const { return parameters_; }
  // Length of the flat vector: parameters() plus running statistics.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<const ParameterTensor> tensors() const { return tensors_; }

  // Named ranges. Last layer: weight and bias of the output layer; classifier: the dense layers at the end;
  // features: the rest.
  [[nodiscard]] ParameterRange last_layer() const;
  [[nodiscard]] ParameterRange classifier() const;
  [[nodiscard]] ParameterRange features() const;
  // Those of the fusion; empty where there is none.
  [[nodiscard]] ParameterRange fusion() const { return fusion_; }
  [[nodiscard]] bool fuses() const { return fusion_.size > 0; }

  // Multiply-adds of one sample's forward pass in dense, convolution and recurrent products.
  [[nodiscard]] std::uint64_t forward_macs() const;
  // The part of them before the fusion, which a frozen copy repeats in training; 0 where there is none.
  [[nodiscard]] std::uint64_t fused_macs() const;

  // What it computes, layer by layer as a recipe would write it, the classifier included.
  [[nodiscard]] std::span<const LayerFace> description() const { return faces_; }

  // Fills the flat vector (size() floats) by the network's initialisation rule; statistics get mean 0, variance 1. An
  // external one always begins as its file has it.
  void initialise(std::span<float> flat, Stream& stream) const;

  [[nodiscard]] std::span<const std::unique_ptr<Layer>> layers() const { return layers_; }

 private:
  Shape input_;
  std::uint32_t classes_ = 0;
  std::uint32_t outputs_ = 0;
  std::size_t parameters_ = 0;
  std::size_t size_ = 0;
  ParameterRange fusion_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<LayerFace> faces_;
  std::vector<ParameterTensor> tensors_;
  std::string init_;
  std::vector<float> initial_;  // of an external one
};

// Builds the network that the options name; with a fusion, its variant that joins the features of two extractors (see
// fusion_split.h). Errors name the key, the value and what is accepted, e.g. an image too small for the kernel, or a
// recurrent network on data that is not a sequence. Reads the file of an external one, whatever the data are.
[[nodiscard]] Result<std::shared_ptr<const Network>> make_network(const ModelOptions& options, Shape input,
                                                                  std::uint32_t classes,
                                                                  std::optional<Fusion> fusion = {});

// What can be said of the options before there is data: the words of a list, whether there is one, and whether a fusion
// finds something to join.
[[nodiscard]] Status check_model(const ModelOptions& options, std::optional<Fusion> fusion = {});

// A table of the layers with the shapes between them and their parameters; of an external one its tensors.
[[nodiscard]] std::string describe_network(const Network& network);

struct ModelEntry {
  std::string name;
  std::string summary;
  std::vector<std::string> keys;
};
[[nodiscard]] std::vector<ModelEntry> model_catalogue();
// The options name a model whose layers only its clients know.
[[nodiscard]] bool is_external(const ModelOptions& options);

}  // namespace muster
