// `muster export`: the weights of a run, or its network with them, for other tools.
#include <fmt/format.h>

#include <memory>

#include "app/commands.h"
#include "base/file.h"
#include "data/shown_text.h"
#include "engine/saved_run.h"
#include "record/json_text.h"
#include "record/onnx_network.h"
#include "record/torch_layout.h"
#include "record/weights_file.h"

namespace muster {
namespace {

struct ExportArguments {
  std::string run;
  std::string out = "runs";
  std::string file;
  std::optional<std::uint32_t> group;
  std::string client;
  bool all = false;
  std::string layout = "muster";
  bool layout_given = false;
};

Result<std::vector<ModelChoice>> chosen_models(const SavedRun& run, const ExportArguments& arguments) {
  if (arguments.all + arguments.group.has_value() + !arguments.client.empty() > 1) {
    return usage_error("--group, --client and --all: want one of them");
  }
  if (arguments.all) return run.models();
  if (run.models().size() > 1 && !arguments.group && arguments.client.empty()) {
    const Error error = run.reported().error();
    return Error{error.code, error.message + ", or --all"};
  }
  const Result<ModelChoice> choice = arguments.group             ? run.of_group(*arguments.group)
                                     : !arguments.client.empty() ? run.of_client(arguments.client)
                                                                 : run.reported();
  if (!choice) return choice.error();
  return std::vector<ModelChoice>{*choice};
}

// With --all: model.npz -> model-group-2.npz.
std::filesystem::path file_of(const ExportArguments& arguments, const ModelChoice& choice, bool several) {
  const std::filesystem::path file(arguments.file);
  if (!several) return file;
  std::string name = describe(choice);
  std::ranges::replace(name, ' ', '-');
  std::filesystem::path numbered = file;
  return numbered.replace_filename(fmt::format("{}-{}{}", file.stem().string(), name, file.extension().string()));
}

std::map<std::string, std::string> description_of(const SavedRun& run, const ModelChoice& choice) {
  return {{"preparation", to_json(run.preparation())},
          {"run", shown_text(run.folder().id())},
          {"recipe", shown_text(run.recipe().name)},
          {"model", describe(choice)}};
}

Status write_onnx(SavedRun& run, const ModelChoice& choice, const std::string& version,
                  const std::filesystem::path& file) {
  MUSTER_ASSIGN(const std::vector<float> weights, run.weights(choice));
  std::map<std::string, std::string> about = description_of(run, choice);
  about["classes"] = json_text(nlohmann::json(run.preparation().classes));
  if (!run.preparation().columns.empty()) {
    about["features"] = json_text(nlohmann::json(feature_names(run.preparation())));
  }
  MUSTER_ASSIGN(const std::string bytes, to_onnx(*run.network(), weights, {"muster", version}, about));
  return write_output(file, bytes);
}

Status write_weights(SavedRun& run, const ModelChoice& choice, bool torch_layout, const std::filesystem::path& file) {
  MUSTER_ASSIGN(std::vector<float> weights, run.weights(choice));
  std::vector<ParameterTensor> tensors(run.network()->tensors().begin(), run.network()->tensors().end());
  std::map<std::string, std::string> about = description_of(run, choice);
  if (run.network()->external()) about["layout"] = kOwnLayout;
  if (torch_layout) {
    TorchNetwork torch = to_torch(*run.network(), weights);
    MUSTER_TRY(check_torch_names(torch));
    tensors = std::move(torch.tensors);
    weights = std::move(torch.flat);
    about["network"] = std::move(torch.layers);
    about["layout"] = "as torch.nn has it; pixels flattened as channels, height, width";
  }
  if (file.extension() != ".npz") return write_safetensors(file, tensors, weights, about);
  std::map<std::string, std::string> members;
  for (const char* name : {"preparation", "network"}) {
    if (about.contains(name)) members[std::string(name) + ".json"] = std::move(about[name]);
  }
  return write_npz(file, tensors, weights, members);
}

Status check(const ExportArguments& arguments) {
  const std::string& file = arguments.file;
  const bool onnx = file.ends_with(".onnx");
  if (!onnx && !file.ends_with(".npz") && !file.ends_with(".safetensors")) {
    return usage_error("--to {}: want a file name that ends in .safetensors, .npz or .onnx", file);
  }
  if (arguments.layout != "muster" && arguments.layout != "torch") {
    return usage_error("--layout {}: want muster or torch", arguments.layout);
  }
  if (onnx && arguments.layout_given) {
    return usage_error("--layout {} has no effect on {}: ONNX has a layout of its own", arguments.layout, file);
  }
  return {};
}

Status export_run(const ExportArguments& arguments, const std::string& version) {
  MUSTER_TRY(check(arguments));
  MUSTER_ASSIGN(SavedRun run, SavedRun::open(arguments.out, arguments.run));
  if (run.network()->external() && (arguments.layout == "torch" || arguments.file.ends_with(".onnx"))) {
    return usage_error(
        "{}: only the clients of model.name = \"{}\" know its layers; want --layout muster and .safetensors or .npz",
        arguments.layout == "torch" ? "--layout torch" : "--to " + arguments.file, run.recipe().model.name);
  }
  MUSTER_ASSIGN(const std::vector<ModelChoice> models, chosen_models(run, arguments));
  for (const ModelChoice& choice : models) {
    const std::filesystem::path file = file_of(arguments, choice, arguments.all && models.size() > 1);
    MUSTER_TRY(file.extension() == ".onnx" ? write_onnx(run, choice, version, file)
                                           : write_weights(run, choice, arguments.layout == "torch", file));
    fmt::print("{}\n", file.string());
  }
  return {};
}

}  // namespace

void add_export_command(Command program, const std::string& version) {
  auto arguments = std::make_shared<ExportArguments>();
  Command command =
      program.add_command("export", "Write the weights of a run as safetensors or npz, or its network as ONNX");
  command.add_option("run", arguments->run, "The run's folder, or its id under --out").required();
  command.add_option("--to", arguments->file, "File to write, ending in .safetensors, .npz or .onnx").required();
  command.add_option("--group", arguments->group, "The model of this group");
  command.add_option("--client", arguments->client, "The model that answers for this client, by name or number");
  const Option layout =
      command
          .add_option("--layout", arguments->layout,
                      "Order of axes, and names: muster, or torch as torch.nn has them; not for .onnx")
          .show_default();
  command.add_flag("--all", arguments->all, "Every model, in files numbered after --to");
  command.add_option("--out", arguments->out, "Folder that holds the runs").show_default();
  command.set_footer(
      "Examples:\n"
      "  muster export runs/fedavg-s1-20260101-120000 --to fedavg.npz\n"
      "  muster export fedgroup-s1-20260101-120000 --group 2 --to two.safetensors\n"
      "  muster export runs/fedavg-s1-20260101-120000 --to fedavg.onnx");
  command.set_action([arguments, layout, version] {
    arguments->layout_given = layout.given();
    return export_run(*arguments, version);
  });
}

}  // namespace muster
