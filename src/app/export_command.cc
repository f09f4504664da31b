// `muster export`: the weights of a run for other tools.
#include <fmt/format.h>

#include <memory>

#include "app/commands.h"
#include "engine/saved_run.h"
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

Status write_model(SavedRun& run, const ModelChoice& choice, bool torch_layout, const std::filesystem::path& file) {
  MUSTER_ASSIGN(std::vector<float> weights, run.weights(choice));
  std::vector<ParameterTensor> tensors(run.network()->tensors().begin(), run.network()->tensors().end());
  std::map<std::string, std::string> about{{"preparation", to_json(run.preparation())}};
  if (torch_layout) {
    TorchNetwork torch = to_torch(*run.network(), weights);
    tensors = std::move(torch.tensors);
    weights = std::move(torch.flat);
    about["network"] = std::move(torch.layers);
    about["layout"] = "as torch.nn has it; pixels flattened as channels, height, width";
  }
  if (file.extension() == ".npz") {
    std::map<std::string, std::string> members;
    for (const char* name : {"preparation", "network"}) {
      if (about.contains(name)) members[std::string(name) + ".json"] = std::move(about[name]);
    }
    return write_npz(file, tensors, weights, members);
  }
  about["run"] = run.folder().id();
  about["recipe"] = run.recipe().name;
  about["model"] = describe(choice);
  return write_safetensors(file, tensors, weights, about);
}

Status export_run(const ExportArguments& arguments) {
  if (!arguments.file.ends_with(".npz") && !arguments.file.ends_with(".safetensors")) {
    return usage_error("--to {}: want a file name that ends in .safetensors or .npz", arguments.file);
  }
  if (arguments.layout != "muster" && arguments.layout != "torch") {
    return usage_error("--layout {}: want muster or torch", arguments.layout);
  }
  MUSTER_ASSIGN(SavedRun run, SavedRun::open(arguments.out, arguments.run));
  MUSTER_ASSIGN(const std::vector<ModelChoice> models, chosen_models(run, arguments));
  for (const ModelChoice& choice : models) {
    const std::filesystem::path file = file_of(arguments, choice, arguments.all && models.size() > 1);
    MUSTER_TRY(write_model(run, choice, arguments.layout == "torch", file));
    fmt::print("{}\n", file.string());
  }
  return {};
}

}  // namespace

void add_export_command(Command program) {
  auto arguments = std::make_shared<ExportArguments>();
  Command command = program.add_command("export", "Write the weights of a run as safetensors or npz");
  command.add_option("run", arguments->run, "The run's folder, or its id under --out").required();
  command.add_option("--to", arguments->file, "File to write, ending in .safetensors or .npz").required();
  command.add_option("--group", arguments->group, "The model of this group");
  command.add_option("--client", arguments->client, "The model that answers for this client, by name or number");
  command.add_option("--layout", arguments->layout, "Order of axes, and names: muster, or torch as torch.nn has them")
      .show_default();
  command.add_flag("--all", arguments->all, "Every model, in files numbered after --to");
  command.add_option("--out", arguments->out, "Folder that holds the runs").show_default();
  command.set_footer(
      "Examples:\n"
      "  muster export runs/fedavg-s1-20260101-120000 --to fedavg.npz\n"
      "  muster export fedgroup-s1-20260101-120000 --group 2 --to two.safetensors");
  command.set_action([arguments] { return export_run(*arguments); });
}

}  // namespace muster
