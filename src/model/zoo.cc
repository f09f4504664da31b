// The networks that recipes can name, built from layers to fit the data's shape. Parameter counts follow the papers.
#include <fmt/format.h>

#include "model/layer.h"
#include "model/layers/dense.h"
#include "model/layers/lstm.h"
#include "model/network.h"
#include "model/zoo_spatial.h"

namespace muster {
namespace {

// Far above what trains on one core; below it no size can overflow.
constexpr std::size_t kMaxParameters = std::size_t{1} << 30;

using Layers = std::vector<std::unique_ptr<Layer>>;

// Appends hidden layers with ReLU and the linear output layer, named dense1, dense2, ...
void add_classifier(Layers& layers, Shape input, std::span<const std::uint32_t> hidden, std::uint32_t outputs) {
  int number = 0;
  for (const std::uint32_t width : hidden) {
    layers.push_back(make_dense(fmt::format("dense{}", ++number), input, width, true));
    input = layers.back()->output();
  }
  layers.push_back(make_dense(fmt::format("dense{}", ++number), input, outputs, false));
}

Status check_hidden(std::span<const std::uint32_t> hidden) {
  constexpr std::size_t kMaxLayers = 64;
  constexpr std::uint32_t kMaxUnits = 65536;
  if (hidden.size() > kMaxLayers) {
    return usage_error("model.hidden: {} layers, want at most {}", hidden.size(), kMaxLayers);
  }
  for (const std::uint32_t units : hidden) {
    if (units < 1 || units > kMaxUnits) return usage_error("model.hidden: {}, want 1 to {}", units, kMaxUnits);
  }
  return {};
}

Result<Layers> make_softmax(const ModelOptions&, Shape input, std::uint32_t classes) {
  Layers layers;
  add_classifier(layers, input, {}, classes);
  return layers;
}

Result<Layers> make_mlp(const ModelOptions& options, Shape input, std::uint32_t classes) {
  MUSTER_TRY(check_hidden(options.hidden));
  std::vector<std::uint32_t> hidden = options.hidden;
  if (hidden.empty()) hidden = {128};
  Layers layers;
  add_classifier(layers, input, hidden, classes);
  return layers;
}

// Words as frozen vectors, a stack of LSTMs, 30 linear units, the outputs: one with the logistic function for two
// classes.
Result<Layers> make_lstm_classifier(const ModelOptions& options, Shape input, std::uint32_t classes) {
  constexpr std::uint32_t kHead = 30;
  if (input.height != 1 || input.width < 2) {
    return usage_error("model.name: \"lstm\" wants sequences (1 x words x dimension), the data is {}x{}x{}",
                       input.height, input.width, input.channels);
  }
  if (options.units < 1 || options.units > 4096) return usage_error("model.units: {}, want 1 to 4096", options.units);
  if (options.layers < 1 || options.layers > 16) return usage_error("model.layers: {}, want 1 to 16", options.layers);
  Layers layers;
  for (std::uint32_t i = 1; i <= options.layers; ++i) {
    layers.push_back(make_lstm(fmt::format("lstm{}", i), input, options.units, i < options.layers));
    input = layers.back()->output();
  }
  layers.push_back(make_dense("dense1", input, kHead, false));
  layers.push_back(make_dense("dense2", layers.back()->output(), classes == 2 ? 1 : classes, false));
  return layers;
}

template <Result<Features> (*make_features)(const ModelOptions&, Shape)>
Result<Layers> make_convolutional(const ModelOptions& options, Shape input, std::uint32_t classes) {
  MUSTER_TRY(check_hidden(options.hidden));
  MUSTER_ASSIGN(Features features, make_features(options, input));
  add_classifier(features.layers, features.layers.back()->output(), features.hidden, classes);
  return std::move(features.layers);
}

using Maker = Result<Layers> (*)(const ModelOptions&, Shape, std::uint32_t);

struct Entry {
  ModelEntry face;
  Maker make;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list = {
      {{"softmax", "multinomial logistic regression: one dense layer", {"init"}}, make_softmax},
      {{"mlp", "dense layers with ReLU between them", {"hidden", "init"}}, make_mlp},
      {{"cnn", "convolutions with ReLU and max-pooling, dense layers", {"channels", "kernel", "hidden", "init"}},
       make_convolutional<make_cnn_features>},
      {{"lenet5", "two 5 x 5 convolutions of 64 channels, three dense layers", {"init"}},
       make_convolutional<make_lenet5_features>},
      {{"femnist-cnn", "two 5 x 5 convolutions with padding, 2048 dense units", {"init"}},
       make_convolutional<make_femnist_features>},
      {{"resnet", "residual blocks in stages", {"blocks", "widths", "norm", "shortcut", "init"}},
       make_convolutional<make_resnet_features>},
      {{"audio-cnn", "M5: one-dimensional convolutions on waveforms", {"norm", "init"}},
       make_convolutional<make_audio_features>},
      {{"lstm", "a stack of LSTM layers over word vectors, two dense layers", {"units", "layers", "init"}},
       make_lstm_classifier},
  };
  return list;
}

}  // namespace

Result<std::shared_ptr<const Network>> make_network(const ModelOptions& options, Shape input, std::uint32_t classes) {
  if (classes < 2) return usage_error("model: {} classes in the data, want >= 2", classes);
  if (input.size() == 0) return usage_error("model: the data's samples are empty");
  if (options.init != "torch" && options.init != "glorot" && options.init != "uniform") {
    return usage_error("model.init: \"{}\", want torch, glorot or uniform", options.init);
  }
  std::string known;
  for (const Entry& entry : entries()) {
    if (entry.face.name == options.name) {
      MUSTER_ASSIGN(Layers layers, entry.make(options, input, classes));
      auto network = std::make_shared<const Network>(input, classes, std::move(layers), options.init);
      if (network->size() > kMaxParameters) {
        return usage_error("model: {} with {} parameters, want at most {}", options.name, network->size(),
                           kMaxParameters);
      }
      return network;
    }
    known += (known.empty() ? "" : ", ") + entry.face.name;
  }
  return usage_error("model.name: \"{}\", want one of {}", options.name, known);
}

std::vector<ModelEntry> model_catalogue() {
  std::vector<ModelEntry> faces;
  for (const Entry& entry : entries()) faces.push_back(entry.face);
  return faces;
}

}  // namespace muster
