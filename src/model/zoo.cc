// The networks that recipes can name, built from layers to fit the data's shape. Parameter counts follow the papers.
#include <fmt/format.h>

#include "model/layer.h"
#include "model/layers/dense.h"
#include "model/layers/lstm.h"
#include "model/network.h"

namespace muster {
namespace {

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

Result<Layers> make_softmax(const ModelOptions&, Shape input, std::uint32_t classes) {
  Layers layers;
  add_classifier(layers, input, {}, classes);
  return layers;
}

Result<Layers> make_mlp(const ModelOptions& options, Shape input, std::uint32_t classes) {
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

using Maker = Result<Layers> (*)(const ModelOptions&, Shape, std::uint32_t);

struct Entry {
  ModelEntry face;
  Maker make;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list = {
      {{"softmax", "multinomial logistic regression: one dense layer", {"init"}}, make_softmax},
      {{"mlp", "dense layers with ReLU between them", {"hidden", "init"}}, make_mlp},
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
      return std::shared_ptr<const Network>(std::make_shared<Network>(input, classes, std::move(layers), options.init));
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
