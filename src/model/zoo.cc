// The networks that recipes can name, written as lists of layers to fit the data's shape, and the one way from a list
// to a network. Parameter counts follow the papers.
#include <fmt/format.h>

#include "base/finite.h"
#include "model/fusion_split.h"
#include "model/layer.h"
#include "model/lowering.h"
#include "model/model_defaults.h"
#include "model/network.h"
#include "model/resolve.h"
#include "model/tensor_file.h"
#include "model/zoo_spatial.h"

namespace muster {
namespace {

constexpr char kExternal[] = "external";
constexpr std::uint64_t kMostExternal = std::uint64_t{1} << 30;  // as of networks whose layers are known

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

Result<LayerList> write_softmax(const ModelOptions&, Shape) {
  return LayerList{};
}

Result<LayerList> write_mlp(const ModelOptions& options, Shape) {
  LayerList list;
  add_hidden(list, options.hidden);
  return list;
}

// Words as frozen vectors, a stack of LSTMs, 30 linear units.
Result<LayerList> write_lstm(const ModelOptions& options, Shape input) {
  if (input.height != 1 || input.width < 2) {
    return usage_error("model.name: \"lstm\" wants sequences (1 x words x dimension), the data is {}x{}x{}",
                       input.height, input.width, input.channels);
  }
  const std::uint32_t depth = options.layers.depth;
  if (options.units < 1 || options.units > 4096) return usage_error("model.units: {}, want 1 to 4096", options.units);
  if (depth < 1 || depth > 16) return usage_error("model.layers: {}, want 1 to 16", depth);
  LayerList list;
  for (std::uint32_t i = 1; i <= depth; ++i) {
    list.push_back({fmt::format("lstm {}{}", options.units, i < depth ? " sequence" : "")});
  }
  list.push_back({"dense 30"});
  return list;
}

Result<LayerList> as_written(const ModelOptions& options, Shape) {
  return options.layers.list;
}

// Only its clients know its layers.
Result<LayerList> write_nothing(const ModelOptions&, Shape) {
  return usage_error("model.name: \"{}\" has no layers here", kExternal);
}

using Writer = Result<LayerList> (*)(const ModelOptions&, Shape);

struct Entry {
  ModelEntry face;
  Writer write;
  // Two classes have one output with the logistic function.
  bool single_output = false;
  // What its keys are where they are not set. `write` sees it.
  ModelOptions defaults{};
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list = {
      {{"softmax", "multinomial logistic regression: one dense layer", {"init"}}, write_softmax},
      {{"mlp", "dense layers with ReLU between them", {"hidden", "init"}}, write_mlp, false, {.hidden = {128}}},
      {{"cnn", "convolutions with ReLU and max-pooling, dense layers", {"channels", "kernel", "hidden", "init"}},
       write_cnn,
       false,
       {.channels = {6, 16}}},
      {{"lenet5", "two 5 x 5 convolutions of 64 channels, three dense layers", {"init"}}, write_lenet5},
      {{"femnist-cnn", "two 5 x 5 convolutions with padding, 2048 dense units", {"init"}}, write_femnist},
      {{"resnet", "residual blocks in stages", {"blocks", "widths", "norm", "shortcut", "init"}},
       write_resnet,
       false,
       {.blocks = 3, .widths = {16, 32, 64}, .norm = "batch", .shortcut = "padded"}},
      {{"audio-cnn", "M5: one-dimensional convolutions on waveforms", {"norm", "init"}},
       write_audio,
       false,
       {.norm = "batch"}},
      {{"lstm", "a stack of LSTM layers over word vectors, two dense layers", {"units", "layers", "init"}},
       write_lstm,
       true},
      {{"layers",
        "one's own: the layers that model.layers lists, and a dense layer to the classes",
        {"layers", "init"}},
       as_written},
      {{kExternal,
        "the clients' own, which they alone can train and score: any tensors, as model.path has them",
        {"path"}},
       write_nothing},
  };
  return list;
}

Result<const Entry*> find_entry(const ModelOptions& options) {
  std::string known;
  for (const Entry& entry : entries()) {
    if (entry.face.name == options.name) return &entry;
    known += (known.empty() ? "" : ", ") + entry.face.name;
  }
  return usage_error("model.name: \"{}\", want one of {}", options.name, known);
}

}  // namespace

ModelOptions with_defaults(ModelOptions options) {
  const auto entry = find_entry(options);
  if (!entry) return options;
  const ModelOptions& own = (*entry)->defaults;
  if (options.hidden.empty()) options.hidden = own.hidden;
  if (options.channels.empty()) options.channels = own.channels;
  if (!options.blocks) options.blocks = own.blocks;
  if (options.widths.empty()) options.widths = own.widths;
  if (options.norm.empty()) options.norm = own.norm;
  if (options.shortcut.empty()) options.shortcut = own.shortcut;
  return options;
}

bool is_external(const ModelOptions& options) {
  return options.name == kExternal;
}

Status check_model(const ModelOptions& options, std::optional<Fusion> fusion) {
  MUSTER_ASSIGN(const Entry* entry, find_entry(options));
  if (is_external(options) && options.path.empty()) {
    return usage_error("model.path: missing; model.name = \"{}\" wants the first model as a safetensors file",
                       kExternal);
  }
  if (is_external(options) && fusion) {
    return usage_error("local.objective: \"fusion\" joins layers, which only the clients of model.name = \"{}\" know",
                       kExternal);
  }
  if (is_external(options)) return {};
  const LayerChoice& layers = options.layers;
  std::vector<LayerSpec> specs;
  if (entry->write == as_written) {
    if (layers.list.empty()) {
      return usage_error("model.layers: want a list of one layer or more, such as [\"dense 64\", \"relu\"]");
    }
    MUSTER_ASSIGN(specs, parse_layers(layers.list, "model.layers"));
  }
  if (fusion && (entry->write == as_written || entry->write == write_softmax)) {
    MUSTER_TRY(insert_fusion(specs, *fusion, options.name));
  }
  if (entry->write == as_written) return {};
  if (!layers.list.empty()) {
    return usage_error("model.layers: a list, which belongs to model.name = \"layers\"; with \"{}\" want a number",
                       options.name);
  }
  return check_hidden(options.hidden);
}

namespace {

Result<std::shared_ptr<const Network>> read_external(const ModelOptions& options, Shape input, std::uint32_t classes) {
  MUSTER_TRY(check_model(options));
  auto file = read_tensor_file(options.path, kMostExternal);
  if (!file) return std::move(file).error().within("model.path");
  if (file->values.empty()) return failure("model.path: {}: holds no values", options.path);
  for (const ParameterTensor& tensor : file->tensors) {
    if (!all_finite(std::span(file->values).subspan(tensor.range.offset, tensor.range.size))) {
      return failure("model.path: {}: tensor '{}' has a value that is not finite", options.path, tensor.name);
    }
  }
  return std::make_shared<const Network>(input, classes, std::move(file->tensors), std::move(file->values));
}

}  // namespace

Result<std::shared_ptr<const Network>> make_network(const ModelOptions& options, Shape input, std::uint32_t classes,
                                                    std::optional<Fusion> fusion) {
  if (is_external(options)) return read_external(options, input, classes);
  if (classes < 2) return usage_error("model: {} classes in the data, want >= 2", classes);
  if (input.size() == 0) return usage_error("model: the data's samples are empty");
  if (options.init != "torch" && options.init != "glorot" && options.init != "uniform") {
    return usage_error("model.init: \"{}\", want torch, glorot or uniform", options.init);
  }
  MUSTER_TRY(check_model(options));
  MUSTER_ASSIGN(const Entry* entry, find_entry(options));
  MUSTER_ASSIGN(const LayerList list, entry->write(with_defaults(options), input));
  const std::string place =
      entry->write == as_written ? "model.layers" : fmt::format("model.name = \"{}\": layers", options.name);
  MUSTER_ASSIGN(std::vector<LayerSpec> specs, parse_layers(list, place));
  const std::uint32_t outputs = entry->single_output && classes == 2 ? 1 : classes;
  if (input.tokens > 0 && (specs.empty() || specs.front().kind != LayerKind::kEmbedding)) {
    return usage_error(
        "model.name: \"{}\" on texts that are cut into tokens; want \"layers\", the first an embedding, e.g. "
        "model.layers = "
        "[\"embedding 8\", \"lstm 64\"]",
        options.name);
  }
  if (fusion) MUSTER_TRY(insert_fusion(specs, *fusion, options.name));
  MUSTER_ASSIGN(std::vector<LayerFace> faces, resolve_layers(specs, input, outputs));
  auto layers = lower_layers(faces);
  return std::make_shared<const Network>(input, classes, std::move(layers), options.init, std::move(faces));
}

std::vector<ModelEntry> model_catalogue() {
  std::vector<ModelEntry> faces;
  for (const Entry& entry : entries()) faces.push_back(entry.face);
  return faces;
}

}  // namespace muster
