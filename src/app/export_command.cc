// `muster export`: the weights of a run for other tools.
#include <fmt/format.h>

#include <memory>

#include "app/commands.h"
#include "recipe/recipe.h"
#include "record/run_folder.h"
#include "record/weights_file.h"

namespace muster {
namespace {

struct ExportArguments {
  std::string run;
  std::string out = "runs";
  std::string file;
};

Status export_run(const ExportArguments& arguments) {
  const bool npz = arguments.file.ends_with(".npz");
  if (!npz && !arguments.file.ends_with(".safetensors")) {
    return usage_error("--to {}: want a file name that ends in .safetensors or .npz", arguments.file);
  }
  MUSTER_ASSIGN(const RunFolder folder, RunFolder::open(arguments.out, arguments.run));
  MUSTER_ASSIGN(const Recipe recipe, load_recipe((folder.path() / "recipe.toml").string()));
  MUSTER_TRY(check_recipe(recipe));
  MUSTER_ASSIGN(const auto data, make_federated_data(recipe.data, recipe.data_seed.value_or(recipe.seed)));
  MUSTER_ASSIGN(const auto network, make_network(recipe.model, data->shape(), data->classes()));
  MUSTER_ASSIGN(const std::vector<float> flat, read_safetensors(folder.path() / "model.safetensors", *network));
  if (npz) {
    MUSTER_TRY(write_npz(arguments.file, *network, flat));
  } else {
    MUSTER_TRY(write_safetensors(arguments.file, *network, flat, {{"run", folder.id()}, {"recipe", recipe.name}}));
  }
  fmt::print("{}\n", arguments.file);
  return {};
}

}  // namespace

void add_export_command(Command program) {
  auto arguments = std::make_shared<ExportArguments>();
  Command command = program.add_command("export", "Write the weights of a run as safetensors or npz");
  command.add_option("run", arguments->run, "The run's folder, or its id under --out").required();
  command.add_option("--to", arguments->file, "File to write, ending in .safetensors or .npz").required();
  command.add_option("--out", arguments->out, "Folder that holds the runs").show_default();
  command.set_footer("Example:\n  muster export runs/fedavg-s1-20260101-120000 --to fedavg.npz");
  command.set_action([arguments] { return export_run(*arguments); });
}

}  // namespace muster
